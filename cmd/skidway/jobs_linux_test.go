package main

import (
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func TestBulkChangesAskWithTheCount(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 2 {
		d.addDead("email.send", "connection refused", queue.Options{})
	}
	d.addDead("email.send", "no such user", queue.Options{})
	d.ends(d.run("jobs", "retry", "--queue", "mail", "--error", "refused"), cli.ExitUsage, "Retry 2 dead jobs of queue mail that match?", "--yes")
	asked := onTerminal(t, "jobs", "retry", "--queue", "mail", "--error", "refused", "--redis", d.url)
	asked.shows("Retry 2 dead jobs of queue mail that match? [y/N] ")
	asked.types("yes\n")
	if shown, code := asked.ends(); code != cli.ExitDone || !strings.Contains(shown, "2 dead jobs will run again") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if got := d.must("jobs", "delete", "--queue", "mail", "--state", "dead", "--yes").one(t); got != "1 dead job deleted" {
		t.Errorf("%q", got)
	}
	if got := d.must("jobs", "cancel", "--queue", "mail", "--state", "waiting", "--kind", "email.send", "-y").one(t); got != "2 waiting jobs cancelled" {
		t.Errorf("%q", got)
	}
	d.add("a", queue.Options{Delay: time.Hour})
	if got := d.must("jobs", "run-now", "--queue", "mail", "-y").one(t); got != "1 delayed job will run now" {
		t.Errorf("%q", got)
	}
}
