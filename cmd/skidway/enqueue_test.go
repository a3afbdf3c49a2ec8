package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// pool runs jobs of queue mail in the test's process until the test ends. Kind
// "fine" succeeds, "bad" is dead at once, "late" fails and is tried again, "slow" runs
// until its context ends.
func (d *fixture) pool(name string, concurrency int) {
	d.Helper()
	db := redistest.Open(d, d.url)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		d.Fatal(err)
	}
	pool := workers.NewPool(client, &workers.Config{
		Name: name, Queues: []workers.Queue{{Name: "mail"}}, Concurrency: concurrency, Drain: time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
	pool.HandleRaw("fine", func(ctx context.Context, _ *queue.Job) error { return workers.SetResult(ctx, []byte(`{"sent":1}`)) }, workers.Kind{})
	pool.HandleRaw("bad", func(context.Context, *queue.Job) error { return workers.Dead(errors.New("no such user")) }, workers.Kind{})
	pool.HandleRaw("late", func(context.Context, *queue.Job) error { return errors.New("not yet") }, workers.Kind{})
	pool.HandleRaw("slow", func(ctx context.Context, job *queue.Job) error {
		d.started <- job.ID
		<-ctx.Done()
		return context.Cause(ctx)
	}, workers.Kind{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	d.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			d.Error(err)
		}
	})
}

// one returns the only line that a command printed.
func (o outcome) one(t testing.TB) string {
	t.Helper()
	if strings.Count(o.stdout, "\n") != 1 {
		t.Fatalf("want one line: %q", o.stdout)
	}
	return strings.TrimSpace(o.stdout)
}

func TestEnqueuePrintsTheIDOfAJobWithItsOptions(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	o := d.must("enqueue", "mail", "greet", `{"to":"a"}`, "--priority", "high", "--in", "1h", "--unique", "k", "--unique-for", "2h",
		"--max-attempts", "3", "--timeout", "30s", "--retain", "24h", "--header", "tenant=x=y")
	job, err := d.client.Get(t.Context(), o.one(t))
	if err != nil {
		t.Fatal(err)
	}
	if job.State != queue.Delayed || job.Kind != "greet" || string(job.Args) != `{"to":"a"}` || job.Priority != queue.High ||
		job.MaxAttempts != 3 || job.Timeout != 30*time.Second || job.Retain != 24*time.Hour || job.Headers["tenant"] != "x=y" ||
		job.Unique != (queue.Unique{Key: "k", Scope: queue.ForDuration, For: 2 * time.Hour}) {
		t.Errorf("%+v", job)
	}
	hasLine(t, o.stderr, "no worker serves queue mail")
	d.ends(d.run("enqueue", "mail", "greet", "--unique", "k"), cli.ExitFailed, `"k"`, job.ID)
}

func TestEnqueueWarnsOfKindsThatNoWorkerKnows(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	start := func(pool, queues, state string, kinds []string) {
		t.Helper()
		info := &queue.PoolInfo{Queues: []string{queues}, State: state, Kinds: kinds}
		if _, err := d.client.Beat(t.Context(), queue.PoolBeat{Pool: pool, Length: time.Hour, Info: info}); err != nil {
			t.Fatal(err)
		}
	}
	start("one", "ma*", "running", []string{"greet"})
	const unknown = "no worker of queue mail has a handler for the kind gret: its jobs fail until one has"
	for _, args := range [][]string{{"enqueue", "mail", "gret"}, {"cron", "add", "s", "@daily", "mail", "gret"}} {
		hasLine(t, d.must(args...).stderr, unknown)
	}
	if o := d.must("enqueue", "mail", "greet"); o.stderr != "" {
		t.Errorf("a kind that the worker knows: %q", o.stderr)
	}
	file := filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(file, []byte(`{"kind":"greet"}`+"\n"+`{"kind":"gret"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hasLine(t, d.must("enqueue", "mail", "--batch", file).stderr, unknown)
	start("two", "ma*", "running", nil)
	if o := d.must("enqueue", "mail", "gret"); o.stderr != "" {
		t.Errorf("a worker that does not state its kinds: %q", o.stderr)
	}
	start("three", "news", "stopping", []string{"greet"})
	hasLine(t, d.must("enqueue", "news", "gret").stderr, "no worker serves queue news now: the job waits until one does")
}

func TestEnqueueReadsArgsFromStandardInput(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	c := command(t, t.TempDir(), "enqueue", "mail", "a", "-", "--redis", d.url)
	c.Stdin = strings.NewReader("[1,\n2]")
	job, err := d.client.Get(t.Context(), finish(t, c).one(t))
	if err != nil || string(job.Args) != "[1,\n2]" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestEnqueueWaitPrintsTheResult(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("w", 2)
	if o := d.must("enqueue", "mail", "fine", "--wait"); o.one(t) != `{"sent":1}` {
		t.Errorf("%q", o.stdout)
	}
	o := d.run("enqueue", "mail", "bad", "--wait")
	d.ends(o, cli.ExitFailed, "is dead: no such user")
	if o.stdout != "" {
		t.Errorf("%q", o.stdout)
	}
}

func TestEnqueueWaitReportsFailedAttemptsAndAPausedQueue(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("w", 2)
	p := start(t, t.TempDir(), "enqueue", "mail", "late", "--wait", "--redis", d.url)
	id := p.Await("job mail:")[len("job "):]
	p.Await("attempt 1 failed: not yet")
	p.Await("attempt 2 failed: not yet")
	d.must("queues", "pause", "mail")
	p.Await("queue mail is paused: 'skidway queues resume mail'")
	p.Signal(interrupt)
	output, code := p.End()
	d.ends(outcome{stderr: output, code: code}, cli.ExitFailed, "skidway: stopped waiting; job "+id+" stays in queue mail", "'skidway jobs show "+id+"'")
	if job, err := d.client.Get(t.Context(), id); err != nil || !job.Ended.IsZero() {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestWrongEnqueueEndsWithTwoAndAddsNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no queue":         {nil, "missing QUEUE"},
		"empty queue":      {[]string{"", "a"}, "missing QUEUE"},
		"no kind":          {[]string{"mail"}, "missing KIND"},
		"bad queue":        {[]string{"no queue", "a"}, "no queue"},
		"bad kind":         {[]string{"mail", "no kind"}, "no kind"},
		"no JSON":          {[]string{"mail", "a", `{"to":,}`}, `at byte 7, after "{\"to\":"`},
		"empty args":       {[]string{"mail", "a", " "}, "are empty"},
		"in and at":        {[]string{"mail", "a", "--in", "1h", "--at", "2026-11-30 08:00"}, "give one of them"},
		"bad time":         {[]string{"mail", "a", "--at", "tomorrow"}, "2026-11-30T08:00:00Z"},
		"unique for what":  {[]string{"mail", "a", "--unique-for", "1h"}, "--unique KEY"},
		"bad header":       {[]string{"mail", "a", "--header", "x"}, "NAME=VALUE"},
		"batch and kind":   {[]string{"mail", "a", "--batch", "-"}, "--batch goes with QUEUE only"},
		"batch and option": {[]string{"mail", "--in", "1h", "--batch", "-"}, "--in does not go with --batch"},
		"ids":              {[]string{"mail", "a", "--ids"}, "go with --batch"},
	} {
		o := d.run(append([]string{"enqueue"}, c.args...)...)
		if o.stdout != "" {
			t.Errorf("%s: %q", name, o.stdout)
		}
		d.ends(o, cli.ExitUsage, "skidway: ", c.want)
	}
	if names, err := d.client.Queues(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("queues are %v, %v", names, err)
	}
}

func TestJobsFollowAJobOfTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	file := write(t, t.TempDir(), "then.json", `[{"kind":"email.send","queue":"mail","args":{"to":"{{.result.owner}}","subject":"{{.result.lines}} lines","text":"x"}}]`)
	for name, then := range map[string]string{"given": `[{"kind":"a"},{"kind":"b","priority":"high","then":[{"kind":"c"}]}]`, "in a file": "@" + file} {
		job, err := d.client.Get(t.Context(), d.must("enqueue", "mail", "report", "--then", then).one(t))
		if err != nil || len(job.Then) == 0 {
			t.Errorf("%s: %+v, %v", name, job, err)
			continue
		}
		last := job.Then[len(job.Then)-1]
		if name == "given" && (len(job.Then) != 2 || last.Args.Kind() != "b" || last.Options.Priority != queue.High || len(last.Options.Then) != 1) {
			t.Errorf("%s: %+v", name, job.Then)
		}
		if name == "in a file" && last.Args.Kind() != "email.send" {
			t.Errorf("%s: %+v", name, job.Then)
		}
	}
}

func TestJobsThatCannotFollowAreWrongUsage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, c := range map[string]struct{ then, want string }{
		"no JSON":             {`[{]`, "--then: its jobs are not JSON"},
		"no list":             {`{"kind":"a"}`, "want a list of jobs"},
		"empty":               {` `, "--then"},
		"no kind":             {`[{}]`, "needs a kind"},
		"unknown option":      {`[{"kind":"a","nope":1}]`, "nope"},
		"wrong args":          {`[{"kind":"a"},{"kind":"http.request","args":{"url":"ftp://x"}}]`, "then[1]: "},
		"wrong args deeper":   {`[{"kind":"a","then":[{"kind":"exec.run"}]}]`, "then[0]: then[0]: "},
		"unknown field":       {`[{"kind":"exec.run","args":{"command":"{{.result}}","nope":1}}]`, "nope"},
		"wrong beside braces": {`[{"kind":"email.send","args":{"to":"no address","text":"{{.result}}"}}]`, "field to"},
	} {
		d.ends(d.run("enqueue", "mail", "report", "--then", c.then), cli.ExitUsage, c.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	d.ends(d.run("enqueue", "mail", "report", "--then", "@/no/such"), cli.ExitFailed, "/no/such")
}

func TestTemplateFieldsAreNotChecked(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, then := range map[string]string{
		"a text":            `[{"kind":"http.request","args":{"url":"{{.result.url}}"}}]`,
		"an object":         `[{"kind":"email.send","args":{"to":"a@example.com","text":"x","data":"{{.result}}"}}]`,
		"inside of a field": `[{"kind":"email.send","args":{"to":["a@example.com","{{.result.to}}"],"text":"x"}}]`,
	} {
		if o := d.run("enqueue", "mail", "report", "--then", then); o.code != cli.ExitDone {
			t.Errorf("%s: %s", name, o.stderr)
		}
	}
}
