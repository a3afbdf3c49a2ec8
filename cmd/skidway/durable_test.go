package main

import (
	"strings"
	"syscall"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
)

// replicated returns a fixture whose Redis has a replica.
func replicated(t *testing.T) (*fixture, *redistest.Server) {
	t.Helper()
	url := redistest.Start(t).URL(0)
	db := redistest.Open(t, url)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{TB: t, url: url, client: client}, redistest.StartReplicas(t, db)[0]
}

func TestDurableIsRefusedWhereTheServerConfirmsNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, more := range []string{"--in=1h", "--wait"} {
		d.ends(d.run("enqueue", "mail", "greet", "--durable", more), cli.ExitFailed,
			"durable changes need appendonly yes with Redis 7.2 or newer, or a connected replica", "no job was added; without --durable it would be")
	}
	o := d.runBatch("{\"kind\":\"greet\"}\n", "--durable")
	d.ends(o, cli.ExitFailed, "no job was added; begin again")
	batch := []string{"enqueue", "mail", "--batch", write(t, t.TempDir(), "my jobs", "{\"kind\":\"greet\"}\n"), "--durable", "--skip-bad"}
	d.ends(d.run(append(batch, "--prefix", "shop")...), cli.ExitFailed,
		"begin again, with: tail -n +1 '", "my jobs' | skidway enqueue mail --batch - --durable --prefix=shop --redis="+cli.ShellWord(d.url)+" --skip-bad")
	o = inProcess(t, append(batch, "--redis", strings.Replace(d.url, "://", "://default:@", 1)))
	if d.ends(o, cli.ExitFailed, "--batch - --durable --skip-bad, and the same --redis"); strings.Contains(o.stderr, "default") {
		t.Error(o.stderr)
	}
	if kinds := d.kinds(queue.Waiting) + d.kinds(queue.Delayed); kinds != "" {
		t.Errorf("jobs were added: %s", kinds)
	}
}

func TestDurableJobsAreConfirmedByAReplica(t *testing.T) {
	t.Parallel()
	d, _ := replicated(t)
	d.must("enqueue", "mail", "greet", "--durable", "--in", "1h").one(t)
	for _, o := range []outcome{
		d.runBatch("{\"kind\":\"a\"}\n{\"kind\":\"b\"}\n", "--durable"), d.runBatch("{\"kind\":\"a\",\"durable\":true}\n{\"kind\":\"b\"}\n"),
	} {
		d.ends(o, cli.ExitDone, "enqueued=2 duplicates=0 bad=0 lines=2")
	}
}

func TestUnconfirmedJobIsPrintedAndFails(t *testing.T) {
	t.Parallel()
	d, replica := replicated(t)
	if err := syscall.Kill(replica.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	o := d.run("enqueue", "mail", "greet", "--durable")
	d.ends(o, cli.ExitFailed, "job "+o.one(t)+" was added, but it is not confirmed", "no replica had it within 5s: do not add it again")
	o = d.runBatch(strings.Repeat("{\"kind\":\"greet\"}\n", 3), "--durable", "--ids")
	d.ends(o, cli.ExitFailed, "up to line 3: jobs were added, but it is not confirmed", "no job after line 3 was added")
	hasLine(t, o.stderr, "enqueued=3 duplicates=0 bad=0 lines=3")
	if strings.Count(o.stdout, "\n") != 3 || d.kinds(queue.Waiting) != "greet greet greet greet" {
		t.Errorf("printed %q; waiting: %s", o.stdout, d.kinds(queue.Waiting))
	}
}
