package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func TestPurgeAsksAtATerminalAndWantsYesElsewhere(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.add("a", queue.Options{})
	}
	d.add("b", queue.Options{Delay: time.Hour})
	d.ends(d.run("queues", "purge", "mail"), cli.ExitUsage, "Delete 3 waiting jobs of queue mail?", "--yes")

	asked := onTerminal(t, "queues", "purge", "mail", "--redis", d.url)
	asked.shows("Delete 3 waiting jobs of queue mail? [y/N] ")
	asked.types("n\n")
	if shown, code := asked.ends(); code != cli.ExitFailed || !strings.Contains(shown, "nothing was changed") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if got := d.kinds(queue.Waiting); got != "a a a" {
		t.Errorf("waiting are %q", got)
	}
	asked = onTerminal(t, "queues", "purge", "mail", "--redis", d.url)
	asked.shows("[y/N] ")
	asked.types("y\n")
	if shown, code := asked.ends(); code != cli.ExitDone || !strings.Contains(shown, "3 waiting jobs deleted") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if o := d.must("queues", "purge", "mail", "--state", "delayed", "--yes"); o.one(t) != "1 delayed job deleted" {
		t.Errorf("%q", o.stdout)
	}
	if o := d.must("queues", "purge", "mail"); o.one(t) != "0 waiting jobs deleted" { // without a question
		t.Errorf("%q", o.stdout)
	}
}

func TestWatchDrawsInPlaceAndGivesTheCursorBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		if _, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: name}); err != nil {
			t.Fatal(err)
		}
	}
	x := onTerminal(t, "queues", "watch", "--every", "100ms", "--redis", d.url)
	x.shows("Ctrl-C ends this")
	x.shows("the terminal is too small")
	first := len(x.text())
	d.must("enqueue", "a", "a")
	for late := time.After(waitLimit); len(x.text()) < 2*first; {
		select {
		case <-x.more:
		case <-late:
			t.Fatal("it draws once only")
		}
	}
	if err := x.cmd.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	shown, code := x.ends()
	if code != cli.ExitDone || !strings.HasSuffix(shown, "\x1b[?25h") || !strings.HasPrefix(shown, "\x1b[?25l") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	screen := strings.Split(shown, "\x1b[H")[1]
	lines := strings.Split(strings.TrimRight(regexp.MustCompile("\x1b\\[[0-9?]*[A-Za-z]").ReplaceAllString(screen, ""), "\r\n"), "\r\n")
	if len(lines) >= 24 {
		t.Errorf("%d lines on a terminal of 24", len(lines))
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}
