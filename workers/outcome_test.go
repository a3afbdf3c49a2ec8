package workers_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

type greeting struct{ Name string }

func (greeting) Kind() string { return "greet" }

type numbers []int

func (numbers) Kind() string { return "k" }

var errBroken = errors.New("broken")

// outcomeCases are what handlers may do and what becomes of a job then.
var outcomeCases = map[string]struct {
	handler workers.Handler
	options queue.Options
	want    func(job *queue.Job) bool
	report  queue.Disposition
}{
	"nil is success": {
		handler: func(ctx context.Context, _ *queue.Job) error { return workers.SetResult(ctx, []byte("fine")) },
		want: func(j *queue.Job) bool {
			return j.State == queue.Finished && j.Outcome == queue.Succeeded && string(j.Result) == "fine"
		},
		report: queue.AttemptSucceeded,
	},
	"an error is retried later": {
		handler: func(context.Context, *queue.Job) error { return errBroken },
		want: func(j *queue.Job) bool {
			return j.State == queue.Delayed && j.Attempts == 1 && len(j.Errors) == 1 && j.Errors[0].Error == "broken" &&
				time.Until(j.Due) > 30*time.Minute && time.Until(j.Due) <= time.Hour
		},
		report: queue.AttemptRetry,
	},
	"RetryAfter sets the wait": {
		handler: func(context.Context, *queue.Job) error { return workers.RetryAfter(2*time.Hour, errBroken) },
		want: func(j *queue.Job) bool {
			return j.State == queue.Delayed && j.Attempts == 1 && time.Until(j.Due) > 90*time.Minute
		},
		report: queue.AttemptRetry,
	},
	"Snooze uses no attempt": {
		handler: func(context.Context, *queue.Job) error { return workers.Snooze(2 * time.Hour) },
		want: func(j *queue.Job) bool {
			return j.State == queue.Delayed && j.Attempts == 0 && time.Until(j.Due) > 90*time.Minute
		},
		report: queue.AttemptSnoozed,
	},
	"Snooze may be wrapped": {
		handler: func(context.Context, *queue.Job) error {
			return fmt.Errorf("not yet: %w", workers.Snooze(2*time.Hour))
		},
		want:   func(j *queue.Job) bool { return j.State == queue.Delayed && j.Attempts == 0 },
		report: queue.AttemptSnoozed,
	},
	"Discard ends it": {
		handler: func(context.Context, *queue.Job) error { return workers.Discard("nothing to do") },
		want: func(j *queue.Job) bool {
			return j.State == queue.Finished && j.Outcome == queue.Discarded && j.Reason == "nothing to do"
		},
		report: queue.AttemptDiscarded,
	},
	"Dead buries it": {
		handler: func(context.Context, *queue.Job) error { return workers.Dead(errBroken) },
		want:    func(j *queue.Job) bool { return j.State == queue.Dead && j.Reason == "broken" && j.Attempts == 1 },
		report:  queue.AttemptDead,
	},
	"an error that is no failure uses no attempt": {
		handler: func(context.Context, *queue.Job) error { return errBusy },
		options: queue.Options{MaxAttempts: 1},
		want:    func(j *queue.Job) bool { return j.State == queue.Delayed && j.Attempts == 0 },
		report:  queue.AttemptSnoozed,
	},
	"the last attempt that fails is the end": {
		handler: func(context.Context, *queue.Job) error { return errBroken },
		options: queue.Options{MaxAttempts: 1},
		want:    func(j *queue.Job) bool { return j.State == queue.Dead && j.Reason == "broken" },
		report:  queue.AttemptDead,
	},
	"a panic is an error with its stack": {
		handler: func(context.Context, *queue.Job) error { panic("oh no") },
		want: func(j *queue.Job) bool {
			return j.State == queue.Delayed && j.Errors[0].Error == "panic: oh no" && strings.Contains(j.Errors[0].Stack, "outcome_test.go")
		},
		report: queue.AttemptRetry,
	},
	"a handler that ends its goroutine has failed": {
		handler: func(context.Context, *queue.Job) error { runtime.Goexit(); return nil },
		want: func(j *queue.Job) bool {
			return j.State == queue.Delayed && strings.Contains(j.Errors[0].Error, "Goexit")
		},
		report: queue.AttemptRetry,
	},
	"args that are no JSON for the type bury it": {
		handler: workers.Typed(func(context.Context, *workers.Job[numbers]) error { return nil }),
		want:    func(j *queue.Job) bool { return j.State == queue.Dead && strings.Contains(j.Reason, "args of k") },
		report:  queue.AttemptDead,
	},
	"a deadline that has passed buries it unstarted": {
		handler: func(context.Context, *queue.Job) error { panic("it was started") },
		options: queue.Options{Deadline: time.Now().Add(-time.Minute)},
		want:    func(j *queue.Job) bool { return j.State == queue.Dead && strings.Contains(j.Reason, "deadline") },
		report:  queue.AttemptDead,
	},
}

var errBusy = errors.New("busy")

func TestOutcomesAreWhatTheHandlerReturns(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		for name, c := range outcomeCases {
			hooks, reports := ended()
			p := f.pool(workers.Config{
				Concurrency: 1, Hooks: hooks,
				Backoff:   func(*queue.Job, error) time.Duration { return time.Hour },
				IsFailure: func(err error) bool { return !errors.Is(err, errBusy) },
			})
			p.HandleRaw("k", c.handler, workers.Kind{})
			options := c.options
			options.Retain = time.Hour
			id := f.add("k", options)
			stop := f.run(p)
			report := await(f, reports, "report")
			stop()
			if job := f.get(id); !c.want(job) || report.Disposition != c.report {
				f.Errorf("%s: reported %+v, and the job is %+v", name, report, job)
			}
		}
	})
}

func TestExhaustedIsCalledWhenTheLastAttemptHasFailed(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		type end struct {
			job *queue.Job
			err error
		}
		exhausted := make(chan end, 10)
		p := f.pool(workers.Config{Hooks: workers.Hooks{Exhausted: func(_ context.Context, job *queue.Job, err error) { exhausted <- end{job, err} }}})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return errBroken },
			workers.Kind{MaxAttempts: 3, Backoff: func(*queue.Job, error) time.Duration { return time.Millisecond }})
		id := f.add("k", queue.Options{})
		f.run(p)
		if got := await(f, exhausted, "hook"); got.job.ID != id || got.job.Attempts != 2 || !errors.Is(got.err, errBroken) {
			f.Errorf("the hook got %+v, %v", got.job, got.err)
		}
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.State != queue.Dead || job.Attempts != 3 || len(job.Errors) != 3 {
			f.Errorf("it ended as %+v", job)
		}
		// After a retry by a person the job has all its attempts again.
		f.must(f.client.Retry(f.ctx, id))
		if got := await(f, exhausted, "second hook"); got.job.Attempts != 5 {
			f.Errorf("after a retry by hand it was exhausted with %d attempts before", got.job.Attempts)
		}
	})
}

func TestUnknownKindIsRetriedThenDeadWithTheReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	hooks, reports := ended()
	p := f.pool(workers.Config{Hooks: hooks, IsFailure: func(error) bool { return false }})
	id := f.add("unheard-of", queue.Options{MaxAttempts: 1})
	f.run(p)
	var waits []time.Duration
	for range 9 {
		report := await(f, reports, "report")
		if report.Disposition != queue.AttemptRetry || !errors.Is(report.Err, workers.ErrUnknownKind) {
			f.Fatalf("reported %+v", report)
		}
		waits = append(waits, report.Wait)
		for f.client.Retry(f.ctx, id) != nil { // once it is delayed
			runtime.Gosched()
		}
	}
	if report := await(f, reports, "last report"); report.Disposition != queue.AttemptDead {
		f.Errorf("the tenth time: %+v", report)
	}
	job, err := f.client.Wait(f.ctx, id)
	f.must(err)
	if job.State != queue.Dead || !strings.Contains(job.Reason, "unheard-of") {
		f.Errorf("it ended as %+v", job)
	}
	if waits[0] != time.Second || !slices.IsSorted(waits) || waits[8] > 5*time.Minute {
		f.Errorf("waits: %v", waits)
	}
}

func TestTypedHandlersReceiveTheirArgsAndWaitReturnsResults(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		workers.Handle(p, func(ctx context.Context, job *workers.Job[greeting]) error {
			return workers.SetResult(ctx, []byte("hello "+job.Args.Name))
		})
		f.run(p)
		for _, retain := range []time.Duration{0, time.Hour} {
			// Wait must begin before the job ends: without Retain, nothing is left of it then. On a busy
			// machine it may begin late.
			var job *queue.Job
			for delay, err := time.Second, error(queue.ErrNoJob); errors.Is(err, queue.ErrNoJob) && delay < patience; delay *= 3 {
				id, refused := f.client.Enqueue(f.ctx, greeting{"Ada"}, &queue.Options{Queue: "q", Retain: retain, Delay: delay})
				f.must(refused)
				if job, err = f.client.Wait(f.ctx, id); !errors.Is(err, queue.ErrNoJob) || retain > 0 {
					f.must(err)
				}
			}
			if job == nil {
				f.Fatal("Wait finds no job, however early it begins")
			}
			if string(job.Result) != "hello Ada" || job.Outcome != queue.Succeeded {
				f.Errorf("the result is %q: %+v", job.Result, job)
			}
		}
	})
}

func TestFirstMiddlewareIsOutermost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"))
	steps := make(chan string, 10)
	around := func(name string) workers.Middleware {
		return func(next workers.Handler) workers.Handler {
			return func(ctx context.Context, job *queue.Job) error {
				steps <- name + " begins"
				err := next(ctx, job)
				steps <- name + " ends with " + err.Error()
				return workers.Discard("by " + name)
			}
		}
	}
	p := f.pool(workers.Config{Middleware: []workers.Middleware{around("a"), around("b")}})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { steps <- "handler"; return errBroken }, workers.Kind{})
	id := f.add("k", queue.Options{Retain: time.Hour})
	f.run(p)
	job, err := f.client.Wait(f.ctx, id)
	f.must(err)
	close(steps)
	var got []string
	for step := range steps {
		got = append(got, step)
	}
	want := []string{"a begins", "b begins", "handler", "b ends with broken", "a ends with discard: by b"}
	if !slices.Equal(got, want) || job.Reason != "by a" {
		t.Errorf("got %q, reason %q", got, job.Reason)
	}
}

func TestAttemptCallsTheHandlerAndWritesNothing(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	c, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := workers.NewPool(c, nil)
	type key struct{}
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		workers.SetResult(ctx, []byte("half"))
		<-ctx.Done()
		if ctx.Value(key{}) != "value" {
			t.Error("the caller's values are not in the handler's context")
		}
		return context.Cause(ctx)
	}, workers.Kind{})
	ctx, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	end(workers.ErrShutdown)
	job := &queue.Job{Kind: "k", Queue: "q"}
	ending, err := p.Attempt(ctx, job)
	if !errors.Is(err, workers.ErrShutdown) || ending.Disposition != queue.AttemptReturned || ending.Job != job || ending.Result != nil {
		t.Errorf("got %+v, %v; a job that has not succeeded has no result", ending, err)
	}
	p.HandleRaw("whole", func(ctx context.Context, _ *queue.Job) error { return workers.SetResult(ctx, []byte("all")) }, workers.Kind{})
	whole := &queue.Job{Kind: "whole", Queue: "q"}
	ending, err = p.Attempt(t.Context(), whole)
	if err != nil || ending.Disposition != queue.AttemptSucceeded || ending.Job != whole || string(ending.Result) != "all" {
		t.Errorf("got %+v, %v", ending, err)
	}
	if n := db.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("Redis has %d keys", n)
	}
}

func TestFailuresHaveTheirWorkerTimesAndTheLatestStacks(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error {
			if job.Attempts == 4 {
				return errBroken
			}
			panic("at attempt " + strings.Repeat("x", job.Attempts))
		}, workers.Kind{MaxAttempts: 6, Backoff: func(*queue.Job, error) time.Duration { return 0 }})
		id := f.add("k", queue.Options{})
		began := time.Now().Add(-time.Second)
		f.run(p)
		job := f.get(id)
		for ; job.State != queue.Dead; job = f.get(id) {
		}
		if len(job.Errors) != 6 || strings.Contains(job.Reason, "goroutine") || job.Errors[5].Error != "panic: at attempt xxxxx" {
			f.Fatalf("%d errors, the last: %+v", len(job.Errors), job.Errors[len(job.Errors)-1])
		}
		for i, failure := range job.Errors {
			if !strings.HasPrefix(failure.Worker, p.Name()+".") || failure.Started.Before(began) || failure.Started.After(time.Now().Add(time.Second)) || failure.Took < 0 || failure.Took > patience {
				f.Errorf("attempt %d: %+v", i+1, failure)
			}
			if hasStack := i == 3 || i == 5; hasStack != strings.Contains(failure.Stack, "outcome_test.go") || len(failure.Stack) > 4<<10+3 {
				f.Errorf("attempt %d has the stack %.200q", i+1, failure.Stack)
			}
		}
	})
}
