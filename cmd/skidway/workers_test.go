package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

// workers reads "workers list".
func (d *fixture) workers() (list []workerJSON) {
	d.Helper()
	var object struct{ Workers []workerJSON }
	if err := json.Unmarshal([]byte(d.must("workers", "list", "-o", "json").stdout), &object); err != nil {
		d.Fatal(err)
	}
	return object.Workers
}

func TestWorkersListShowsWhatEachRuns(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	if o := d.must("workers", "list"); !strings.Contains(o.stderr, "no worker is running") {
		t.Errorf("%q", o.stderr)
	}
	d.pool("mailer", 3)
	id := d.add("slow", queue.Options{})
	<-d.started
	list := d.workers()
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	w := list[0]
	if w.State != "running" || w.PID != os.Getpid() || w.Concurrency != 3 || w.Held != 1 || w.Lease <= 0 || len(w.Running) != 1 || w.Running[0].ID != id || w.Running[0].Seconds < 0 {
		t.Errorf("%+v", w)
	}
	table := d.must("workers", "list", "mail", "-o", "table").stdout
	hasLine(t, table, "mailer", "running", "pid ")
	hasLine(t, table, "jobs    1 of 3 at once")
	hasLine(t, table, id, "slow")
	hasLine(t, d.must("workers", "list", "-o", "csv").stdout, "mailer", ",running,", ",mail")
	d.must("jobs", "cancel", id)
}

func TestWorkersAreToldByName(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("a", 1)
	d.pool("b", 1)
	for range 2 { // both serve the queue
		d.add("slow", queue.Options{})
		<-d.started
	}
	var name string
	for _, w := range d.workers() {
		if strings.HasPrefix(w.Name, "a") {
			name = w.Name
		}
	}
	d.ends(d.run("workers", "quiet", "nobody"), cli.ExitFailed, "there is no worker nobody: there are a", "b")
	if o := d.must("workers", "quiet", name); o.one(t) != name+" was told to take no more jobs" {
		t.Errorf("%q", o.stdout)
	}
	o := d.must("workers", "stop", "--all")
	if strings.Count(o.stdout, "was told to stop") != 2 {
		t.Errorf("%q", o.stdout)
	}
}

// A queue of a newer release, or an invalid name, hides no workers of other queues.
func TestQueueThatCannotBeReadHidesNoWorkers(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("mailer", 1)
	db := redistest.Open(t, d.url)
	if err := errors.Join(
		db.SAdd(t.Context(), "skidway:{queues}", "newer", "no name!").Err(),
		db.HSet(t.Context(), "skidway:{newer:0}:meta", "format", 99).Err(),
	); err != nil {
		t.Fatal(err)
	}
	hasLine(t, d.must("queues", "show", "mail", "-o", "table").stdout, "mail", "0")
	o := d.must("workers", "list")
	hasLine(t, o.stdout, "mailer", ",running,")
	hasLine(t, o.stderr, "queue newer has format")
	if got := d.must("cron", "list"); got.stdout == "" {
		t.Errorf("%+v", got)
	}
	d.must("workers", "stop", "--all")
}
