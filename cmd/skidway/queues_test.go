package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestQueuesListShowsEveryQueue(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	if o := d.must("queues", "list"); !strings.Contains(o.stderr, "no queue yet") {
		t.Errorf("%q", o.stderr)
	}
	d.add("a", queue.Options{Priority: queue.High})
	d.add("a", queue.Options{})
	d.add("a", queue.Options{Delay: time.Hour})
	d.must("enqueue", "sms", "a")
	o := d.must("queues", "list", "-o", "csv")
	hasLine(t, o.stdout, "queue,high,normal,low,delayed,active,dead")
	hasLine(t, o.stdout, "mail,1,1,0,1,0,0,0,0,false,")
	hasLine(t, o.stdout, "sms,0,1,0,0,")
	hasLine(t, d.must("queues", "list", "-o", "table").stdout, "mail: no worker serves it")
	var list struct{ Queues []queueStatusJSON }
	if err := json.Unmarshal([]byte(d.must("queues", "list", "-o", "json").stdout), &list); err != nil || len(list.Queues) != 2 || list.Queues[0].High != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestShowExplainsWhyAQueueDoesNotDrain(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("fine", queue.Options{Delay: time.Hour})
	show := func(want ...string) {
		t.Helper()
		hasLine(t, d.must("queues", "show", "mail", "-o", "table").stdout, want...)
	}
	show("All waiting jobs are delayed", "due in 5")
	d.add("slow", queue.Options{})
	show("No worker serves it", "'skidway worker --queue mail --config FILE'")
	checkCommand(t, "worker --queue mail --config FILE")
	d.must("queues", "pause", "mail")
	show("It is paused", "skidway queues resume mail")
	d.must("queues", "resume", "mail")
	d.pool("w", 1)
	id := <-d.started
	d.add("fine", queue.Options{})
	show("All slots of its workers (1) are held")
	show("The longest runs for", id, "slow")
	d.must("workers", "quiet", "--all")
	d.must("jobs", "cancel", id)
}

func TestPauseAndResumePrintWhatTheyDid(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	if o := d.must("queues", "pause", "mail"); o.one(t) != "mail paused, with 0 jobs still running" {
		t.Errorf("%q", o.stdout)
	}
	if depth, err := d.queue().Depth(t.Context()); !depth.Paused || err != nil {
		t.Errorf("%+v, %v", depth, err)
	}
	o := d.run("queues", "resume", "nail", "mail")
	d.ends(o, cli.ExitFailed, "there is no queue nail, only mail")
	d.ends(o, cli.ExitFailed, "1 of 2 queues failed")
	if o.one(t) != "mail resumed, with 1 job waiting" {
		t.Errorf("%q", o.stdout)
	}
}

func TestWatchHasRatesThroughAServer(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	s := d.serve([]string{"view:*"})
	w := follow(t, command(t, t.TempDir(), "queues", "watch", "--every", "100ms", "-o", "json", "--server", s.url, "--token", "@"+write(t, t.TempDir(), "token", s.token)))
	rate, rows := 0.0, 0
	for ; rate == 0; d.add("a", queue.Options{}) {
		var row struct {
			Rate *float64 `json:"in_per_second"`
		}
		if err := json.Unmarshal([]byte(w.line()), &row); err != nil {
			t.Fatal(err)
		}
		if rows++; (row.Rate == nil) != (rows == 1) {
			t.Fatalf("the rate of reading %d is %v", rows, row.Rate)
		}
		if row.Rate != nil {
			rate = *row.Rate
		}
	}
	w.kill()
}

func TestWatchWritesLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	c := command(t, t.TempDir(), "queues", "watch", "mail", "--every", "100ms", "--redis", d.url)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for strings.Count(string(text), "\n") < 3 {
		block := make([]byte, 1024)
		n, err := out.Read(block)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, block[:n]...)
	}
	if err := c.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	if strings.Count(string(text), "time,queue,waiting") != 1 {
		t.Errorf("%s", text)
	}
	if _, first, _ := strings.Cut(string(text), "\n"); !strings.HasSuffix(strings.Split(first, "\n")[0], ",,,") {
		t.Errorf("the first reading has rates: %s", text)
	}
	hasLine(t, string(text), ",mail,1,0,0,0,0,", ",0.0,0.0,0.0")
}

func TestOperationsOnAnUnreachableRedisEndWithThree(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"enqueue mail a", "enqueue mail --batch -", "queues list", "queues watch", "jobs list mail", "jobs show mail:0:n1-0",
		"workers list", "workers stop --all", "doctor",
	} {
		o := skidway(t, "", append(strings.Fields(args), "--redis", unreachableURL)...)
		if o.code != cli.ExitUnreachable || strings.Contains(o.stderr, "verysecret") {
			t.Errorf("%s: exit code %d: %s", args, o.code, o.stderr)
		}
		hasLine(t, o.stderr, "127.0.0.1:1", "not reachable")
	}
}

// workers reads "workers list".
func (d *fixture) workers() (list []workerJSON) {
	d.Helper()
	var object struct{ Workers []workerJSON }
	if err := json.Unmarshal([]byte(d.must("workers", "list", "-o", "json").stdout), &object); err != nil {
		d.Fatal(err)
	}
	return object.Workers
}

func TestWorkersListShowsRunningJobs(t *testing.T) {
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

func TestWorkersAreSignalledByName(t *testing.T) {
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
	d.ends(d.run("workers", "quiet", "none"), cli.ExitFailed, "there is no worker none, only a", "b")
	if o := d.must("workers", "quiet", name); o.one(t) != name+" was told to take no more jobs" {
		t.Errorf("%q", o.stdout)
	}
	o := d.must("workers", "stop", "--all")
	if strings.Count(o.stdout, "was told to stop") != 2 {
		t.Errorf("%q", o.stdout)
	}
}

// A queue of a newer release, or an invalid name, hides no workers of other queues.
func TestUnreadableQueueHidesNoWorkers(t *testing.T) {
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

func TestQueuesDeleteAsksAndRefusesWhatIsInUse(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.must("enqueue", "mail", "a").one(t)
	d.ends(d.run("queues", "delete", "mail"), cli.ExitUsage, "Delete queue mail", "give --yes")
	d.ends(d.run("queues", "delete", "mail", "--yes"), cli.ExitFailed, "within the last three minutes")
	db := redistest.Open(t, d.url)
	if err := db.ZAdd(t.Context(), "skidway:{queues}:used", redis.Z{Score: 1, Member: "mail"}).Err(); err != nil {
		t.Fatal(err)
	}
	d.ends(d.run("queues", "delete", "mail", "--yes"), cli.ExitFailed, "queue mail is not deleted: it has jobs")
	d.must("jobs", "delete", id)
	if o := d.must("queues", "delete", "mail", "--yes"); o.stdout != "mail deleted\n" {
		t.Errorf("%q", o.stdout)
	}
	d.ends(d.run("queues", "delete", "mail", "--yes"), cli.ExitFailed, "there is no queue mail")
	if keys := db.Keys(t.Context(), "skidway:{mail*").Val(); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}

func TestRetentionIsShownAndSet(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	d.must("queues", "retention", "mail", "--dead-jobs", "10", "--dead-age", "720h", "--results-bytes", "20MiB", "--yes")
	d.must("queues", "retention", "mail", "--dead-jobs", "20", "--yes")
	want := queue.Retention{Dead: queue.RetentionLimit{Jobs: 20, Age: 720 * time.Hour}, Results: queue.RetentionLimit{Bytes: 20 << 20}}
	if kept, _, err := d.queue().Queue.Retention(t.Context()); err != nil || kept != want {
		t.Errorf("%+v, %v", kept, err)
	}
	if o := d.must("queues", "retention", "mail", "-o", "csv"); o.stdout != "kept,jobs,bytes,age_seconds\ndead,20,,2592000.000\nresults,,20971520,\n" {
		t.Errorf("%s", o.stdout)
	}
	d.must("queues", "retention", "mail", "--defaults", "--results-jobs", "5", "--yes")
	if kept, _, err := d.queue().Queue.Retention(t.Context()); err != nil || kept != (queue.Retention{Results: queue.RetentionLimit{Jobs: 5}}) {
		t.Errorf("%+v, %v", kept, err)
	}
	d.ends(d.run("queues", "retention", "mail", "--defaults"), cli.ExitUsage, "Set the limits of queue mail")
	if o := d.must("audit", "-o", "csv"); strings.Count(o.stdout, ",retention,mail,") != 6 || !strings.Contains(o.stdout, "--dead-jobs=20") {
		t.Errorf("%s", o.stdout)
	}
}
