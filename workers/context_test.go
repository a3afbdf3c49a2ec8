package workers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// waiter returns a handler that blocks until its context has ended, and channels that
// receive its start and the cause of the end, which it returns.
func waiter() (handler workers.Handler, begun <-chan *queue.Job, causes <-chan error) {
	begins, ends := make(chan *queue.Job, 100), make(chan error, 100)
	return func(ctx context.Context, job *queue.Job) error {
		begins <- job
		<-ctx.Done()
		ends <- context.Cause(ctx)
		return context.Cause(ctx)
	}, begins, ends
}

func TestTimeoutsAreTheJobsElseTheKindsElseThePools(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		const short, long = 50 * time.Millisecond, time.Hour
		for name, c := range map[string]struct{ pool, kind, job time.Duration }{
			"the job's":  {long, long, short},
			"the kind's": {long, short, 0},
			"the pool's": {short, 0, 0},
		} {
			hooks, reports := ended()
			p := f.pool(workers.Config{Timeout: c.pool, Hooks: hooks})
			handler, _, causes := waiter()
			p.HandleRaw("k", handler, workers.Kind{Timeout: c.kind})
			id := f.add("k", queue.Options{Timeout: c.job})
			stop := f.run(p)
			if cause := await(f, causes, "end"); !errors.Is(cause, workers.ErrTimeout) {
				f.Errorf("%s: the cause is %v", name, cause)
			}
			await(f, reports, "report")
			stop()
			if job := f.get(id); job.Attempts != 1 || job.State != queue.Delayed {
				f.Errorf("%s: the job is %+v", name, job)
			}
			f.must(f.client.Delete(f.ctx, id))
		}
	})
}

func TestDeadlineEndsTheAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	p := f.pool(workers.Config{})
	handler, begun, causes := waiter()
	deadlines := make(chan time.Time, 1)
	p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
		deadline, _ := ctx.Deadline()
		deadlines <- deadline
		return handler(ctx, job)
	}, workers.Kind{})
	f.run(p)
	var job *queue.Job
	for left := 500 * time.Millisecond; job == nil; left *= 3 { // on a busy machine it may pass before the start
		id := f.add("k", queue.Options{Deadline: time.Now().Add(left)})
		ended := make(chan error, 1)
		go func() {
			_, err := f.client.Wait(f.ctx, id) // until it is dead, or has begun and ended
			ended <- err
		}()
		select {
		case job = <-begun:
		case err := <-ended:
			f.must(err)
			if len(begun) > 0 {
				job = <-begun
			}
		}
	}
	if deadline := await(f, deadlines, "deadline"); !deadline.Equal(job.LocalTime(job.Deadline)) {
		t.Errorf("the context's deadline is %s, the job's %s", deadline, job.Deadline)
	}
	if cause := await(f, causes, "end"); !errors.Is(cause, workers.ErrTimeout) {
		t.Errorf("the cause is %v", cause)
	}
}

// Without its signal a cancellation is found by a beat, nine seconds apart. A busy machine may need a
// part of the bound; BenchmarkCancel tells what is aimed at, a tenth of a second.
func TestCancelReachesARunningJobLongBeforeTheNextBeat(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		took := cancelRunning(f, 5)
		if slices.Sort(took); took[2] > 3*time.Second {
			f.Errorf("it took %v", took)
		}
	})
}

// cancelRunning cancels running jobs, one after the other, and returns for each the time until its
// handler knew.
func cancelRunning(f *fixture, jobs int) (took []time.Duration) {
	f.Helper()
	p := f.pool(workers.Config{Lease: time.Minute})
	handler, begun, causes := waiter()
	p.HandleRaw("k", handler, workers.Kind{})
	f.run(p)
	other, err := queue.NewClient(handle.New(f.db), nil)
	f.must(err)
	for range jobs {
		id := f.add("k", queue.Options{Retain: time.Hour})
		await(f, begun, "start")
		began := time.Now()
		if state, err := other.Cancel(f.ctx, id); state != queue.Active || err != nil {
			f.Fatalf("it was %s, %v", state, err)
		}
		if cause := await(f, causes, "end"); !errors.Is(cause, workers.ErrCancelled) {
			f.Errorf("the cause is %v", cause)
		}
		took = append(took, time.Since(began))
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.Outcome != queue.Cancelled {
			f.Errorf("it ended as %+v", job)
		}
	}
	return took
}

func TestCancelledJobThatWaitsForASlotIsNotStarted(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 2})
		handler, begun, _ := waiter()
		p.HandleRaw("wait", handler, workers.Kind{})
		p.HandleRaw("quick", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		p.HandleRaw("never", func(context.Context, *queue.Job) error { f.Error("it was started"); return nil }, workers.Kind{})
		var first []string
		for range 100 {
			f.add("quick", queue.Options{})
		}
		for range 2 {
			first = append(first, f.add("wait", queue.Options{}))
		}
		wanted := f.add("never", queue.Options{Retain: time.Hour})
		f.run(p)
		for range first {
			await(f, begun, "start")
		}
		_, err := f.client.Cancel(f.ctx, wanted)
		f.must(err)
		for _, id := range first {
			_, err := f.client.Cancel(f.ctx, id)
			f.must(err)
		}
		job, err := f.client.Wait(f.ctx, wanted)
		f.must(err)
		if job.Outcome != queue.Cancelled {
			f.Errorf("it ended as %+v", job)
		}
	})
}

func TestHandlerThatIgnoresItsContextIsAbandoned(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		hooks, reports := ended()
		p := f.pool(workers.Config{
			Concurrency: 1, Timeout: 50 * time.Millisecond, Grace: 50 * time.Millisecond, Hooks: hooks,
			Backoff: func(*queue.Job, error) time.Duration { return time.Hour },
		})
		gate, returned := make(chan struct{}), make(chan struct{}, 10)
		p.HandleRaw("stuck", func(context.Context, *queue.Job) error { <-gate; returned <- struct{}{}; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{Timeout: time.Hour})
		id := f.add("stuck", queue.Options{})
		after := f.add("k", queue.Options{})
		stop := f.run(p)
		if report := await(f, reports, "report"); report.Disposition != queue.AttemptRetry || !errors.Is(report.Err, workers.ErrTimeout) {
			f.Errorf("reported %+v", report)
		}
		if job := await(f, seen, "the next job in its slot"); job.ID != after {
			f.Errorf("ran %s", job.ID)
		}
		stuck := func(want int) {
			f.Helper()
			for info := f.info(p); info == nil || info.Stuck != want; info = f.info(p) { // the description comes a little later
				f.must(f.ctx.Err())
			}
		}
		stuck(1)
		close(gate)
		await(f, returned, "end of the handler")
		stuck(0)
		stop()
		if job := f.get(id); job.State != queue.Delayed || job.Attempts != 1 {
			f.Errorf("its late answer changed the job: %+v", job)
		}
	})
}

func TestAbandonedHandlersCostNoSlotUntilTheyAreAsManyAsTheSlots(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	hooks, reports := ended()
	p := f.pool(workers.Config{Concurrency: 2, Timeout: 20 * time.Millisecond, Grace: 20 * time.Millisecond, Hooks: hooks, Drain: time.Second})
	gate := make(chan struct{})
	p.HandleRaw("stuck", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{Backoff: func(*queue.Job, error) time.Duration { return time.Hour }})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{Timeout: time.Hour})
	for range 4 {
		f.add("stuck", queue.Options{})
	}
	f.run(p)
	for range 4 {
		await(f, reports, "report")
	}
	id := f.add("k", queue.Options{})
	// All slots are used up twice: nothing runs until one comes back.
	select {
	case <-seen:
		t.Error("a fifth handler runs, with a concurrency of two")
	case <-time.After(100 * time.Millisecond):
	}
	gate <- struct{}{}
	if job := await(f, seen, "job"); job.ID != id {
		t.Errorf("ran %s", job.ID)
	}
	close(gate)
}

func TestResultOrProgressOutsideOfAHandlerIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"))
	if err := workers.SetResult(f.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("result: %v", err)
	}
	if err := workers.SetProgress(f.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("progress: %v", err)
	}
	workers.Logger(f.ctx).Debug("this goes to the default logger")
	p := f.pool(workers.Config{})
	errs := make(chan error, 1)
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		errs <- workers.SetResult(ctx, make([]byte, workers.MaxResult+1))
		return nil
	}, workers.Kind{})
	f.add("k", queue.Options{})
	f.run(p)
	if err := await(f, errs, "error"); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a long result: %v", err)
	}
}

func TestProgressAndLogsStayWithTheJob(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		halfway, gate := make(chan error), make(chan struct{})
		p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
			workers.Logger(ctx).With("step", 1).Info("began")
			halfway <- workers.SetProgress(ctx, []byte("50 %"))
			<-gate
			workers.Logger(ctx).Info("gave up")
			return workers.Dead(errBroken)
		}, workers.Kind{})
		id := f.add("k", queue.Options{})
		f.run(p)
		f.must(await(f, halfway, "progress"))
		if progress, err := f.client.Progress(f.ctx, id); string(progress) != "50 %" || err != nil {
			f.Errorf("progress %q, %v", progress, err)
		}
		close(gate)
		_, err := f.client.Wait(f.ctx, id)
		f.must(err)
		lines, err := f.client.Log(f.ctx, id)
		f.must(err)
		if len(lines) != 2 || !strings.Contains(lines[0], "msg=began step=1") || !strings.Contains(lines[1], `msg="gave up"`) {
			f.Errorf("the log is %q", lines)
		}
		if !strings.Contains(f.kept.String(), "queue=q job="+id+" kind=k ") {
			f.Error("the pool's log has none of it")
		}
	})
}

// The same job id in two Redises must not make a receiver drop a request.
func TestIdempotencyKeyDiffersInAnotherRedis(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	var id string
	for range 2 {
		f := newFixture(t, redistest.DB(t))
		p := f.pool(workers.Config{})
		got := make(chan string, 2)
		p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
			key, err := workers.IdempotencyKey(ctx)
			got <- key
			if err == nil && job.Attempts == 0 {
				err = workers.RetryAfter(time.Millisecond, errors.New("again"))
			}
			return err
		}, workers.Kind{})
		id = f.add("k", queue.Options{Delay: time.Millisecond})
		stop := f.run(p)
		first, second := await(f, got, "key"), await(f, got, "key of the second attempt")
		if first != second || !strings.HasPrefix(first, id+".") {
			t.Errorf("the keys of job %s are %q and %q", id, first, second)
		}
		keys[first] = true
		stop()
	}
	if len(keys) != 2 {
		t.Errorf("two jobs %s in two Redises have the keys %v", id, keys)
	}
	if key, err := workers.IdempotencyKey(t.Context()); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("outside of a handler: %q, %v", key, err)
	}
}
