package workerstest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/workerstest"
)

// succeed handles all kinds given, and does nothing.
func succeed(w *workerstest.Worker, kinds ...string) {
	for _, kind := range kinds {
		w.Pool.HandleRaw(kind, returns(nil), workers.Kind{})
	}
}

func TestDrainRunsJobsInTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	succeed(w, "first", "second", "urgent", "due")
	enqueue(t, w, queue.Raw("first", nil), queue.Options{})
	enqueue(t, w, queue.Raw("second", nil), queue.Options{})
	enqueue(t, w, queue.Raw("due", nil), queue.Options{Delay: time.Minute})
	enqueue(t, w, queue.Raw("urgent", nil), queue.Options{Priority: queue.High})
	w.Advance(time.Minute)
	wantOutcomes(t, w.Drain(), "urgent: succeeded", "due: succeeded", "first: succeeded", "second: succeeded")
	wantOutcomes(t, w.Drain())
}

func TestDrainRunsWhatHandlersAdd(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	succeed(w, "email.send")
	w.Pool.HandleRaw("order.place", func(ctx context.Context, _ *queue.Job) error {
		_, err := w.Client.Enqueue(ctx, sendEmail{"ann@example.com"}, &queue.Options{Queue: "mail"})
		return err
	}, workers.Kind{})
	enqueue(t, w, queue.Raw("order.place", nil), queue.Options{})
	wantOutcomes(t, w.Drain(), "order.place: succeeded", "email.send: succeeded")
}

func TestDelayedJobWaitsForTheClock(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		options func() queue.Options
	}{
		{"delay", func() queue.Options { return queue.Options{Delay: time.Hour} }},
		{"time", func() queue.Options { return queue.Options{At: time.Now().Add(time.Hour)} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := workerstest.New(t, nil)
			succeed(w, "email.send")
			enqueue(t, w, sendEmail{}, c.options())
			wantOutcomes(t, w.Drain())
			w.Advance(30 * time.Minute)
			wantOutcomes(t, w.Drain())
			if delayed := w.Jobs(queue.Delayed); len(delayed) != 1 || delayed[0].Due.Sub(w.Now()) > 30*time.Minute {
				t.Errorf("delayed are %v", delayed)
			}
			w.Advance(30 * time.Minute)
			if waiting := w.Jobs(queue.Waiting); len(waiting) != 1 {
				t.Errorf("waiting are %v", waiting)
			}
			wantOutcomes(t, w.Drain(), "email.send: succeeded")
		})
	}
}

func TestFailingJobIsRetriedUntilItIsDead(t *testing.T) {
	t.Parallel()
	var exhausted []string
	w := workerstest.New(t, &workerstest.Config{Pool: workers.Config{
		MaxAttempts: 3,
		Backoff:     func(job *queue.Job, _ error) time.Duration { return time.Duration(job.Attempts+1) * time.Hour },
		Hooks: workers.Hooks{Exhausted: func(_ context.Context, job *queue.Job, err error) {
			exhausted = append(exhausted, fmt.Sprint(job.Kind, " ", err))
		}},
	}})
	w.Pool.HandleRaw("email.send", returns(errAway), workers.Kind{})
	enqueue(t, w, sendEmail{}, queue.Options{})
	var all []workerstest.Outcome
	for ran := w.Drain(); len(ran) > 0; ran = w.Drain() {
		all = append(all, ran...)
		w.Advance(ran[0].Wait)
	}
	wantOutcomes(t, all, "email.send: retry in 1h0m0s: "+errAway.Error(), "email.send: retry in 2h0m0s: "+errAway.Error(), "email.send: dead: "+errAway.Error())
	if dead := w.Jobs(queue.Dead); len(dead) != 1 || len(dead[0].Errors) != 3 {
		t.Errorf("dead are %+v", dead)
	}
	if !slices.Equal(exhausted, []string{"email.send " + errAway.Error()}) {
		t.Errorf("the hook got %q", exhausted)
	}
}

func TestSettingsOfThePoolApply(t *testing.T) {
	t.Parallel()
	var order []string
	around := func(name string) workers.Middleware {
		return func(next workers.Handler) workers.Handler {
			return func(ctx context.Context, job *queue.Job) error {
				order = append(order, name)
				return next(ctx, job)
			}
		}
	}
	w := workerstest.New(t, &workerstest.Config{Pool: workers.Config{
		Middleware: []workers.Middleware{around("outer"), around("inner")},
		IsFailure:  func(err error) bool { return !errors.Is(err, errAway) },
		Hooks: workers.Hooks{
			Started: func(*queue.Job) { order = append(order, "started") },
			Ended:   func(_ *queue.Job, report workers.Report) { order = append(order, fmt.Sprint("ended ", report.Err)) },
		},
	}})
	w.Pool.HandleRaw("email.send", returns(errAway), workers.Kind{})
	enqueue(t, w, sendEmail{}, queue.Options{})
	if o := only(t, w.Drain()); o.Disposition != queue.AttemptSnoozed {
		t.Errorf("got %s, want no attempt used", o)
	}
	if want := []string{"started", "outer", "inner", "ended " + errAway.Error()}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
}

func TestKindWithoutHandlerIsRetried(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	enqueue(t, w, sendEmail{}, queue.Options{})
	if o := only(t, w.Drain()); o.Disposition != queue.AttemptRetry || !strings.Contains(o.Reason, "no handler") {
		t.Errorf("got %s", o)
	}
}

func TestHandedBackJobIsTheNext(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	calls := 0
	w.Pool.HandleRaw("email.send", func(ctx context.Context, job *queue.Job) error {
		if calls++; calls == 1 {
			workerstest.Interrupt(ctx, workers.ErrShutdown)
		}
		if job.Attempts != 0 {
			t.Errorf("%d attempts were used", job.Attempts)
		}
		return ctx.Err()
	}, workers.Kind{})
	succeed(w, "other")
	enqueue(t, w, sendEmail{}, queue.Options{})
	enqueue(t, w, queue.Raw("other", nil), queue.Options{})
	wantOutcomes(t, w.Drain(), "email.send: handed back", "email.send: succeeded", "other: succeeded")
}

func TestDeadlineUsesTheClock(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	var seen, ends time.Time
	w.Pool.HandleRaw("email.send", func(ctx context.Context, job *queue.Job) error {
		seen = job.Deadline
		ends, _ = ctx.Deadline()
		return workers.Snooze(time.Minute)
	}, workers.Kind{})
	deadline := time.Now().Add(10 * time.Minute).Truncate(time.Millisecond)
	enqueue(t, w, sendEmail{}, queue.Options{Deadline: deadline})
	w.Advance(9 * time.Minute)
	wantOutcomes(t, w.Drain(), "email.send: snoozed for 1m0s")
	if !seen.Equal(deadline) {
		t.Errorf("the job's deadline was %s, want %s", seen, deadline)
	}
	if left := time.Until(ends); left > time.Minute {
		t.Errorf("the handler had %s left, want a minute", left)
	}
	w.Advance(time.Minute)
	if o := only(t, w.Drain()); o.Disposition != queue.AttemptDead || !o.Job.Deadline.Equal(deadline) {
		t.Errorf("got %s with deadline %s", o, o.Job.Deadline)
	}
}

func TestUniqueKeyIsFreeWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	succeed(w, "email.send")
	once := queue.Options{Unique: queue.Unique{Key: "ann", Scope: queue.ForDuration, For: time.Hour}}
	enqueue(t, w, sendEmail{}, once)
	w.Drain()
	var duplicate *queue.DuplicateError
	if _, err := w.Client.Enqueue(t.Context(), sendEmail{}, &once); !errors.As(err, &duplicate) {
		t.Errorf("the second one: %v", err)
	}
	w.Advance(time.Hour)
	enqueue(t, w, sendEmail{}, once)
	wantOutcomes(t, w.Drain(), "email.send: succeeded")
	if n := len(w.Enqueued("email.send")); n != 2 {
		t.Errorf("%d were enqueued, want 2", n)
	}
}

func TestWaitReturnsTheResult(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	w.Pool.HandleRaw("email.send", func(ctx context.Context, _ *queue.Job) error {
		workers.SetResult(ctx, []byte("message 7"))
		return nil
	}, workers.Kind{})
	id := enqueue(t, w, sendEmail{}, queue.Options{Retain: time.Hour})
	w.Drain()
	job, err := w.Client.Wait(t.Context(), id)
	if err != nil || string(job.Result) != "message 7" {
		t.Errorf("got %+v, %v", job, err)
	}
	w.Advance(2 * time.Hour)
	if n := len(w.Jobs(queue.Finished)); n != 0 {
		t.Errorf("%d results are kept beyond their time", n)
	}
}

func TestPausedQueueIsNotFetchedFrom(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	succeed(w, "email.send")
	enqueue(t, w, sendEmail{}, queue.Options{})
	q, err := w.Client.ForPool("")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Pause(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, w.Drain())
	if err := q.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, w.Drain(), "email.send: succeeded")
}

func TestQueuesAreServedAsConfigured(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, &workerstest.Config{Pool: workers.Config{Queues: []workers.Queue{{Name: "mail"}, {Name: "tenant-*"}}}})
	for _, name := range []string{"tenant-b", "other", "mail", "tenant-a"} {
		succeed(w, name)
		enqueue(t, w, queue.Raw(name, nil), queue.Options{Queue: name})
	}
	wantOutcomes(t, w.Drain(), "mail: succeeded", "tenant-a: succeeded", "tenant-b: succeeded")
}

func TestMalformedEntryIsSkipped(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	succeed(w, "email.send")
	id := enqueue(t, w, queue.Raw("bad", nil), queue.Options{})
	for _, key := range w.DB.Redis().Keys(t.Context(), "*2:normal:fresh").Val() {
		if err := w.DB.Redis().Do(t.Context(), "XADD", key, "*", "what", "ever").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Client.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	enqueue(t, w, sendEmail{}, queue.Options{})
	wantOutcomes(t, w.Drain(), "email.send: succeeded")
}

func TestQueueThatMatchesTwiceIsServedOnce(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, &workerstest.Config{Pool: workers.Config{Queues: []workers.Queue{{Name: "mail"}, {Name: "*"}}}})
	enqueue(t, w, sendEmail{}, queue.Options{Queue: "mail"})
	if jobs := w.Jobs(queue.Waiting); len(jobs) != 1 {
		t.Errorf("%d jobs are listed, want the only one once", len(jobs))
	}
}
