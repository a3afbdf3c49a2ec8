package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// A report, a letter with its figures, and a note in another queue.
func TestJobsThatFollowReceiveTheResultAndAreAddedOnce(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "q"}, {Name: "other"}}})
		p.HandleRaw("report", func(ctx context.Context, _ *queue.Job) error {
			return workers.SetResult(ctx, []byte(`{"lines":9007199254740993,"top":{"country":"DE"},"days":["a","b"]}`))
		}, workers.Kind{})
		ran := make(chan *queue.Job, 10)
		for _, kind := range []string{"letter", "note", "last"} {
			p.HandleRaw(kind, func(ctx context.Context, job *queue.Job) error {
				ran <- job
				return workers.SetResult(ctx, []byte("done"))
			}, workers.Kind{})
		}
		f.add("report", queue.Options{Then: []queue.NewJob{
			{Args: queue.Raw("letter", []byte(`{"text":"{{.result.lines}} lines, most of {{.result.top.country}}, by {{.job.kind}}","n":7,"data":"{{.result}}","days":["{{.result.days}}"]}`)),
				Options: queue.Options{Then: []queue.NewJob{{Args: queue.Raw("last", []byte(`"{{.result}}"`))}}}},
			{Args: queue.Raw("note", []byte(`{}`)), Options: queue.Options{Queue: "other", Priority: queue.High}},
		}})
		f.run(p)
		got := map[string]*queue.Job{}
		for range 3 {
			job := await(f, ran, "job that follows")
			got[job.Kind] = job
		}
		var letter struct {
			Text string
			N    int
			Data struct{ Lines json.Number }
			Days [][]string
		}
		f.must(json.Unmarshal(got["letter"].Args, &letter))
		if letter.Text != "9007199254740993 lines, most of DE, by report" || letter.N != 7 ||
			letter.Data.Lines != "9007199254740993" || len(letter.Days) != 1 || len(letter.Days[0]) != 2 {
			f.Errorf("the letter is %s", got["letter"].Args)
		}
		if string(got["last"].Args) != `"done"` {
			f.Errorf("the last is %s", got["last"].Args)
		}
		if note := got["note"]; note.Queue != "other" || note.Priority != queue.High {
			f.Errorf("the note is in %s, %s", note.Queue, note.Priority)
		}
	})
}

func TestJobThatFollowsAndIsADuplicateIsLogged(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		key := queue.Options{Delay: time.Hour, Unique: queue.Unique{Key: "only one"}}
		owner := f.add("k", key)
		id := f.add("k", queue.Options{Retain: time.Hour, Then: []queue.NewJob{{Args: queue.Raw("k", []byte("{}")), Options: key}}})
		f.run(p)
		ended, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if ended.Outcome != queue.Succeeded || !strings.Contains(ended.Reason, "is held by job "+owner) {
			f.Errorf("got %s: %s", ended.Outcome, ended.Reason)
		}
		for !strings.Contains(f.kept.String(), "a job that follows another one was not added") {
			f.must(f.ctx.Err())
			runtime.Gosched()
		}
		if log := f.kept.String(); !strings.Contains(log, "job="+id) || !strings.Contains(log, owner) {
			f.Errorf("logged %s", log)
		}
	})
}

func TestJobWhoseFollowersCannotBeEnqueuedIsDead(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		id := f.add("k", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("letter", []byte(`{"text":"{{.result.lines}}"}`))}}})
		f.run(p)
		ended, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if ended.State != queue.Dead || !strings.Contains(ended.Reason, "it succeeded") || !strings.Contains(ended.Reason, `letter: text: {{.result.lines}}`) {
			f.Errorf("got %s: %s", ended.State, ended.Reason)
		}
	})
}

// The answer to the first adding of a job to the queue "other" is lost when the job has run.
func TestForwardedJobWithAUniqueKeyIsAddedOnce(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		ran, again := make(chan *queue.Job, 10), make(chan bool, 10)
		var lost atomic.Bool
		lose := func(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
			results := next(ctx, jobs)
			if jobs[0].Options.Queue == "other" {
				if !lost.Swap(true) {
					if job := await(f, ran, "forwarded job"); string(job.Args) != `"got {{.result}}"` {
						f.Errorf("its args are %s", job.Args)
					}
					results[0] = queue.Result{Err: &skidway.OutcomeUnknownError{Op: "enqueue", Err: errBroken}}
				}
				again <- true
			}
			return results
		}
		var err error
		f.poolClient, err = queue.NewClient(handle.New(f.db), &queue.Config{Middleware: []queue.Middleware{lose}})
		f.must(err)
		p := f.pool(workers.Config{
			Queues:  []workers.Queue{{Name: "q"}, {Name: "other"}},
			Backoff: func(*queue.Job, error) time.Duration { return 0 },
		})
		p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
			if job.Queue == "other" {
				ran <- job
			}
			return workers.SetResult(ctx, []byte("{{.result}}"))
		}, workers.Kind{})
		last := queue.Options{Queue: "other", Unique: queue.Unique{Key: "only one"}}
		f.add("k", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("k", []byte(`"got {{.result}}"`)), Options: last}}})
		f.run(p)
		await(f, again, "first adding")
		await(f, again, "second adding")
		other, err := f.client.Queue("other")
		f.must(err)
		for depth := (queue.Depth{Waiting: 1}); depth.Waiting+depth.Active > 0; {
			depth, err = other.Depth(f.ctx)
			f.must(err)
		}
		f.awaitDepth(0, 0)
		if n := len(ran); n > 0 {
			f.Errorf("it ran %d times more", n)
		}
	})
}

func TestForwardedJobThatIsADuplicateIsReported(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "q"}, {Name: "other"}}})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		held := queue.Options{Queue: "other", Delay: time.Hour, Unique: queue.Unique{Key: "only one"}}
		owner := f.add("k", held)
		f.add("k", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("k", []byte("{}")), Options: held}}})
		f.run(p)
		other, err := f.client.Queue("other")
		f.must(err)
		for total := (queue.Counts{}); total.Duplicates == 0; {
			total, _, err = other.Counters(f.ctx, 0)
			f.must(err)
		}
		for !strings.Contains(f.kept.String(), "is held by job "+owner) {
			f.must(f.ctx.Err())
			runtime.Gosched()
		}
	})
}

func TestJobsThatFollowHaveTheHeadersOfATrace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	written := make(chan int, 100)
	p := f.pool(workers.Config{Concurrency: 1, Hooks: workers.Hooks{
		Written: func(name string, outcomes []queue.Completion, began time.Time, err error) {
			if name != "q" || err != nil || time.Since(began) > time.Minute {
				t.Errorf("outcomes of %s were written since %s with the error %v", name, began, err)
			}
			written <- len(outcomes)
		},
	}})
	ran := make(chan *queue.Job, 10)
	p.HandleRaw("first", func(ctx context.Context, job *queue.Job) error {
		if job.Headers["set"] != "" {
			return workers.SetThenHeaders(ctx, map[string]string{"traceparent": "set"})
		}
		return nil
	}, workers.Kind{})
	p.HandleRaw("next", func(_ context.Context, job *queue.Job) error {
		ran <- job
		return nil
	}, workers.Kind{})
	before := map[string]string{"traceparent": "before", "tracestate": "of before", "due": "2026-11-30T08:00:00Z", "flow": "1", "tenant": "7"}
	many := map[string]string{} // as many as fit together with one more
	for i := range 63 {
		many[fmt.Sprint("h", i)] = "v"
	}
	full := maps.Clone(many)
	full["traceparent"] = "set"
	for _, c := range []struct {
		set       string
		own, want map[string]string
	}{
		{"", nil, map[string]string{"traceparent": "before", "tracestate": "of before", "due": before["due"], "flow": "1"}},
		{"1", map[string]string{"a": "b"}, map[string]string{"traceparent": "set", "due": before["due"], "flow": "1", "a": "b"}},
		{"1", map[string]string{"traceparent": "own", "due": "never", "flow": "2"}, map[string]string{"traceparent": "own", "due": "never", "flow": "2"}},
		{"", map[string]string{"traceparent": "own"}, map[string]string{"traceparent": "own", "due": before["due"], "flow": "1"}},
		{"", many, many}, {"1", many, full},
	} {
		headers := maps.Clone(before)
		headers["set"] = c.set
		f.add("first", queue.Options{Headers: headers, Then: []queue.NewJob{{Args: queue.Raw("next", []byte("{}")), Options: queue.Options{Headers: c.own}}}})
		if c.set == "" && c.own == nil {
			f.run(p)
		}
		if job := await(f, ran, "job that follows"); !maps.Equal(job.Headers, c.want) {
			t.Errorf("set %q, own %v: the headers are %v, want %v", c.set, c.own, job.Headers, c.want)
		}
	}
	for n := 0; n < 12; {
		n += await(f, written, "written outcomes")
	}
	if workers.SetThenHeaders(t.Context(), nil) == nil {
		t.Error("another context than a handler's is no error")
	}
}
