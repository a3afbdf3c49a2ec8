package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

// runBatch runs "enqueue mail --batch -" on a text.
func (d *fixture) runBatch(text string, args ...string) outcome {
	d.Helper()
	c := command(d, d.TempDir(), append([]string{"enqueue", "mail", "--batch", "-", "--redis", d.url}, args...)...)
	c.Stdin = strings.NewReader(text)
	return finish(d, c)
}

// kinds returns the kinds of the jobs in a state, in order.
func (d *fixture) kinds(state queue.State) string {
	d.Helper()
	page, err := d.queue().List(d.Context(), state, &queue.ListOptions{Limit: 1000})
	if err != nil {
		d.Fatal(err)
	}
	var kinds []string
	for _, job := range page.Jobs {
		kinds = append(kinds, job.Kind)
	}
	return strings.Join(kinds, " ")
}

func TestBatchKeepsTheOrderOfItsLines(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var text strings.Builder
	const lines = 30_000 // some blocks
	for n := range lines {
		fmt.Fprintf(&text, "{\"kind\":\"a\",\"args\":{\"n\":%d,\"pad\":%q}}\n", n, strings.Repeat("x", n%50))
	}
	o := d.runBatch(strings.TrimSuffix(text.String(), "\n"), "--ids")
	if o.code != cli.ExitDone || strings.Count(o.stdout, "\n") != lines {
		t.Fatalf("exit code %d, %d ids: %s", o.code, strings.Count(o.stdout, "\n"), o.stderr)
	}
	hasLine(t, o.stderr, "enqueued=30000 duplicates=0 bad=0 lines=30000 seconds=")
	n := 0
	for list := (queue.ListOptions{Limit: 1000}); ; {
		page, err := d.queue().List(t.Context(), queue.Waiting, &list)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			if !strings.HasPrefix(string(job.Args), fmt.Sprintf(`{"n":%d,`, n)) {
				t.Fatalf("job %d has args %s", n, job.Args)
			}
			n++
		}
		if list.Cursor = page.Next; list.Cursor == "" {
			break
		}
	}
	if n != lines {
		t.Errorf("%d jobs wait", n)
	}
}

func TestBatchLineHasOptionsByTheNamesOfFlags(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, line := range []string{
		`{"kind":"a","args":{"max-x":1},"priority":"high","in":"1h","unique":"k-1","unique-for":"2h","max-attempts":3,"timeout":"30s","retain":"24h","headers":{"a-b":"c"}}`,
		`{"kind":"a","args":{"max-x":1},"priority":"high","in":"1h","unique":"k_1","unique_for":"2h","max_attempts":3,"timeout":"30s","retain":"24h","headers":{"a-b":"c"}}`,
	} {
		o := d.runBatch(line+"\n", "--ids")
		if o.code != cli.ExitDone {
			t.Fatal(o.stderr)
		}
		job, err := d.client.Get(t.Context(), o.one(t))
		if err != nil {
			t.Fatal(err)
		}
		if job.State != queue.Delayed || string(job.Args) != `{"max-x":1}` || job.Priority != queue.High || job.MaxAttempts != 3 ||
			job.Timeout != 30*time.Second || job.Retain != 24*time.Hour || job.Unique.For != 2*time.Hour || job.Headers["a-b"] != "c" {
			t.Errorf("%+v", job)
		}
	}
}

func TestFollowersInABatchHaveOptionsByTheNamesOfFlags(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	o := d.runBatch(`{"kind":"a","then":[{"kind":"b"}, {"kind":"c","args":{"x-y":1},"max-attempts":3,"then":[{"kind":"d","unique":"k-1","unique-for":"1h"}]}]}`, "--ids")
	if o.code != cli.ExitDone {
		t.Fatal(o.stderr)
	}
	job, err := d.client.Get(t.Context(), o.one(t))
	if err != nil || len(job.Then) != 2 {
		t.Fatalf("%+v, %v", job, err)
	}
	second := job.Then[1]
	args, _ := queue.MarshalArgs(second.Args)
	if second.Options.MaxAttempts != 3 || string(args) != `{"x-y":1}` || second.Options.Then[0].Options.Unique.For != time.Hour {
		t.Errorf("%+v", second)
	}
}

func TestBadLineEndsABatchAfterTheLinesBeforeIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":       {`{"kind":"x",`, "byte"},
		"no object":     {`["x"]`, "want a JSON object"},
		"unknown field": {`{"kind":"x","prio":"high"}`, `unknown field "prio"`},
		"no kind":       {`{"args":{}}`, "kind"},
		"bad kind":      {`{"kind":"no kind"}`, "no kind"},
		"bad span":      {`{"kind":"x","in":"soon"}`, `"soon"`},
		"more behind":   {`{"kind":"x"} {"kind":"y"}`, "after top-level value"},
		"another queue": {`{"kind":"x","queue":"sms"}`, `"sms"`},
		"below zero":    {`{"kind":"x","in":"-1h"}`, "below zero"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			text := "{\"kind\":\"a\"}\n\n{\"kind\":\"b\"}\n" + c.line + "\n{\"kind\":\"c\"}\n"
			d.ends(d.runBatch(text), cli.ExitFailed, "standard input: line 4: ", c.want, "no job after line 3 was added")
			if got := d.kinds(queue.Waiting); got != "a b" {
				t.Errorf("the queue has %q", got)
			}
			o := d.runBatch(text, "--skip-bad")
			d.ends(o, cli.ExitFailed, "standard input: line 4: ", c.want)
			hasLine(t, o.stderr, "enqueued=3 duplicates=0 bad=1 lines=5")
			if got := d.kinds(queue.Waiting); got != "a b a b c" {
				t.Errorf("the queue has %q", got)
			}
		})
	}
}

func TestBatchCountsDuplicatesAndNamesTheirOwners(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	o := d.runBatch(strings.Repeat("{\"kind\":\"a\",\"unique\":\"k\"}\n", 3), "--ids")
	ids := strings.Fields(o.stdout)
	if o.code != cli.ExitDone || len(ids) != 3 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("exit code %d, ids %q", o.code, ids)
	}
	hasLine(t, o.stderr, "enqueued=1 duplicates=2 bad=0 lines=3")
}

func TestStoppedBatchReportsTheAddedLines(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	c := command(t, t.TempDir(), "enqueue", "mail", "--batch", "-", "--ids", "--redis", d.url)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	c.Stderr = &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(in, "{\"kind\":\"a\"}\n{\"kind\":\"b\"}\n"); err != nil {
		t.Fatal(err)
	}
	// Lines are sent as soon as they are read.
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	hasLine(t, output.String(), "enqueued=2 ")
	hasLine(t, output.String(), "no job after line 2 was added")
}

func TestBatchNamesAMissingFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.ends(d.run("enqueue", "mail", "--batch", "missing.ndjson"), cli.ExitFailed, "missing.ndjson")
	if o := d.runBatch(""); o.code != cli.ExitDone {
		t.Errorf("empty: %s", o.stderr)
	}
}

// Delayed jobs with options take several calls. After a call with a lost reply nothing may be
// added: to go on behind it would add jobs twice.
func TestBatchThatLosesAReplyEndsThere(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	proxy := redistest.StartProxy(t, d.url)
	var text strings.Builder
	for range 150 {
		text.WriteString("{\"kind\":\"a\",\"in\":\"1h\",\"max_attempts\":3}\n")
	}
	unknown := 0
	d.must("enqueue", "mail", "a") // there must be a queue to purge
	for n := 1; ; n++ {            // whichever command it is
		d.must("queues", "purge", "mail", "--state", "delayed", "--yes")
		sent := proxy.Commands()
		proxy.DropReply(n)
		c := command(t, t.TempDir(), "enqueue", "mail", "--batch", "-", "--redis", proxy.URL)
		c.Stdin = strings.NewReader(text.String())
		o := finish(t, c)
		if proxy.Commands()-sent < n {
			break // it sends no such command
		}
		_, output, found := strings.Cut(o.stderr, "standard input: lines ")
		if !found {
			continue // it was tried again
		}
		unknown++
		var first, last int
		if _, err := fmt.Sscanf(output, "%d to %d: they may be in the queue or not", &first, &last); err != nil {
			t.Fatalf("%v: %s", err, o.stderr)
		}
		if got := len(strings.Fields(d.kinds(queue.Delayed))); got != last {
			t.Errorf("%d jobs are in: %s", got, o.stderr)
		}
	}
	if unknown < 2 {
		t.Errorf("%d replies to scripts got lost", unknown)
	}
}

// A server may allow smaller jobs than the command does. It adds the other jobs of a group.
func TestBatchWithARefusedJobGoesOnBehindTheAddedOnes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := d.workerFixture("worker: {max_payload: 64KiB}\nqueues: [{name: other}]\n", "--serve", "127.0.0.1:0")
	s := d.server(w.worker, []string{"view:*", "enqueue:mail"})
	token := "@" + write(t, t.TempDir(), "token", s.token)
	large := `{"kind":"large","args":"` + strings.Repeat("x", 65<<10) + "\"}\n"
	small := func(kind string) string { return `{"kind":"` + kind + "\"}\n" }
	for name, c := range map[string]struct{ text, lines, next, kinds string }{
		"one":      {small("a") + large + small("b") + small("c"), "lines 2 to 2: ", "5", "a b c"},
		"some":     {large + large + small("a") + large + "\n" + small("b"), "lines 1 to 2, 4 to 4: ", "7", "a b"},
		"the last": {small("a") + small("b") + large + large, "lines 3 to 4: ", "3", "a b"},
	} {
		d.must("enqueue", "mail", "x") // there must be a queue to purge
		d.must("queues", "purge", "mail", "--state", "waiting", "--yes")
		file := write(t, t.TempDir(), "jobs.ndjson", c.text)
		o := inProcess(t, []string{"enqueue", "mail", "--batch", file, "--server", s.url, "--token", token})
		d.ends(o, cli.ExitFailed, c.lines, "go on there, with: tail -n +"+c.next+" ")
		if added := strings.Contains(o.stderr, "the jobs up to line "); added != (name != "the last") {
			t.Errorf("%s: %s", name, o.stderr)
		}
		if got := d.kinds(queue.Waiting); got != c.kinds {
			t.Errorf("%s: the queue has %q", name, got)
		}
	}
}
