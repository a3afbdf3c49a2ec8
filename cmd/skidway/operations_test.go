package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// An operationJSON is an operation as -o json prints it.
type operationJSON struct {
	ID, Do, Status, By string
	Changed, Count     int
}

// operations returns the operations of the list.
func (d *fixture) operations() (all []operationJSON) {
	d.Helper()
	if err := json.Unmarshal([]byte(d.must("operations", "list", "-o", "json").stdout), &all); err != nil {
		d.Fatal(err)
	}
	return all
}

// operation returns the only operation.
func (d *fixture) operation() operationJSON {
	d.Helper()
	all := d.operations()
	if len(all) > 1 {
		d.Fatalf("%+v", all)
	}
	return append(all, operationJSON{})[0]
}

func TestKilledOperationIsShownAsInterruptedAndContinued(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const jobs = 120
	for range jobs {
		d.add("a", queue.Options{Delay: time.Hour})
	}
	p := processtest.Start(t, command(t, t.TempDir(), "jobs", "cancel", "--queue", "mail", "--state", "delayed", "--match", `kind == "a"`, "--rate", "20", "--yes", "--redis", d.url))
	var op operationJSON
	for deadline := time.Now().Add(waitLimit); op.Changed == 0; op = d.operation() {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", op)
		}
	}
	if op.Status != "running" || op.Count != jobs || op.Do != "cancel" || !strings.Contains(op.By, "@") {
		t.Errorf("%+v", op)
	}
	d.ends(d.run("jobs", "cancel", "--queue", "mail", "--state", "delayed", "--yes"), cli.ExitFailed, op.ID+" of the queue is running")
	d.add("a", queue.Options{Delay: time.Hour}) // left alone
	p.Kill()
	d.ends(d.run("operations", "continue", op.ID), cli.ExitFailed, "is running")
	if err := d.client.DB().Redis().HSet(t.Context(), d.client.DB().Prefix()+":{mail:0}:operation", "until", 1).Err(); err != nil { // 15 s later
		t.Fatal(err)
	}
	shown := d.must("operations", "show", op.ID).stdout
	hasLine(t, shown, "status", "interrupted at ", "skidway operations continue "+op.ID)
	hasLine(t, shown, "match", `kind == "a"`)
	hasLine(t, d.must("operations", "stop", op.ID).stdout, op.ID, "stopped: ", " changed")
	if got := d.must("operations", "continue", op.ID).one(t); got != fmt.Sprint(jobs, " delayed jobs changed") {
		t.Errorf("%q", got)
	}
	if op := d.operation(); op.Status != "done" || op.Changed != jobs {
		t.Errorf("%+v", op)
	}
	if got := d.kinds(queue.Delayed); got != "a" {
		t.Errorf("delayed are %q", got)
	}
	d.ends(d.run("operations", "continue", op.ID), cli.ExitFailed, op.ID, "the operation is done")
}

func TestStoppedDeletionGoesOnInAFullRedis(t *testing.T) {
	t.Parallel()
	d := newFixtureAt(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	for range 3 {
		d.add("a", queue.Options{Delay: time.Hour})
		d.add("b", queue.Options{Delay: 2 * time.Hour})
	}
	stopped := func(verb, match string) (id string) {
		p := processtest.Start(t, command(t, t.TempDir(), "jobs", verb, "--queue", "mail", "--state", "delayed", "--match", match, "--rate", "1", "--yes", "--redis", d.url))
		for deadline := time.Now().Add(waitLimit); id == ""; {
			if time.Now().After(deadline) {
				t.Fatal("no operation runs")
			}
			for _, op := range d.operations() {
				if op.Status == "running" {
					id = op.ID
				}
			}
		}
		d.must("operations", "stop", id)
		p.ExitCode()
		return id
	}
	deletion, other := stopped("delete", `kind == "a"`), stopped("run-now", `kind == "b"`)
	if err := d.client.DB().Redis().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	o := d.must("operations", "continue", deletion)
	hasLine(t, o.stderr, "the audit has no entry")
	if got := o.one(t); got != "3 delayed jobs changed" {
		t.Errorf("%q", got)
	}
	d.ends(d.run("operations", "continue", other), cli.ExitFailed, "maxmemory")
}

func TestInterruptStopsAnOperation(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 100 {
		d.add("a", queue.Options{Delay: time.Hour})
	}
	p := processtest.Start(t, command(t, t.TempDir(), "jobs", "run-now", "--queue", "mail", "--rate", "10", "--yes", "--redis", d.url))
	for deadline := time.Now().Add(waitLimit); d.operation().Changed == 0; {
		if time.Now().After(deadline) {
			t.Fatal("it changes nothing")
		}
	}
	p.Signal(os.Interrupt)
	line := p.Await("was stopped with", "skidway operations continue")
	if code := p.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit code %d: %s", code, line)
	}
	if op := d.operation(); op.Status != "stopped" || op.Changed == 100 {
		t.Errorf("%+v", op)
	}
}

func TestPriorityOfJobsIsChanged(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	one := d.add("a", queue.Options{})
	d.add("b", queue.Options{})
	if got := d.must("jobs", "priority", one, "--to", "high").one(t); got != one+" has priority high" {
		t.Errorf("%q", got)
	}
	if got := d.must("jobs", "priority", "--queue", "mail", "--state", "waiting", "--match", `kind == "b"`, "--to", "low", "--yes").one(t); got != "1 waiting job changed" {
		t.Errorf("%q", got)
	}
	d.ends(d.run("jobs", "priority", "--queue", "mail", "--state", "waiting", "--to", "low"), cli.ExitUsage, "Give priority low to 2 waiting jobs of queue mail?")
	d.ends(d.run("jobs", "priority", one), cli.ExitUsage, `"to" not set`)
	d.ends(d.run("jobs", "retry", one, "--rate", "5"), cli.ExitUsage, "--rate goes with --queue")
	d.ends(d.run("jobs", "retry", "--queue", "mail", "--match", `kind == "a") || (kind != ""`), cli.ExitUsage, "filter, character")
	d.ends(d.run("operations", "show", "nonsense"), cli.ExitUsage, "is no id of an operation")
}
