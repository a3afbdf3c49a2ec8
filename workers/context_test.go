package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// waiter gives a handler that says when it has begun, waits for the end of its
// context and tells the cause, which it returns.
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
	everywhere(t, func(s *shop) {
		const short, long = 50 * time.Millisecond, time.Hour
		for name, c := range map[string]struct{ pool, kind, job time.Duration }{
			"the job's":  {long, long, short},
			"the kind's": {long, short, 0},
			"the pool's": {short, 0, 0},
		} {
			hooks, reports := ended()
			p := s.pool(workers.Config{Timeout: c.pool, Hooks: hooks})
			handler, _, causes := waiter()
			p.Handle("k", handler, workers.Kind{Timeout: c.kind})
			id := s.add("k", queue.Options{Timeout: c.job})
			stop := s.run(p)
			if cause := await(s, causes, "end"); !errors.Is(cause, workers.ErrTimeout) {
				s.Errorf("%s: the cause is %v", name, cause)
			}
			await(s, reports, "report")
			stop()
			if job := s.get(id); job.Attempts != 1 || job.State != queue.Delayed {
				s.Errorf("%s: the job is %+v", name, job)
			}
			s.must(s.client.Delete(s.ctx, id))
		}
	})
}

func TestDeadlineEndsTheAttempt(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	p := s.pool(workers.Config{})
	handler, begun, causes := waiter()
	deadlines := make(chan time.Time, 1)
	p.Handle("k", func(ctx context.Context, job *queue.Job) error {
		deadline, _ := ctx.Deadline()
		deadlines <- deadline
		return handler(ctx, job)
	}, workers.Kind{})
	s.run(p)
	s.add("k", queue.Options{Deadline: time.Now().Add(500 * time.Millisecond)})
	job := await(s, begun, "start")
	if deadline := await(s, deadlines, "deadline"); !deadline.Equal(job.LocalDeadline()) {
		t.Errorf("the context's deadline is %s, the job's %s", deadline, job.Deadline)
	}
	if cause := await(s, causes, "end"); !errors.Is(cause, workers.ErrTimeout) {
		t.Errorf("the cause is %v", cause)
	}
}

func TestCancelReachesARunningJobWithinATenthOfASecond(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{})
		handler, begun, causes := waiter()
		p.Handle("k", handler, workers.Kind{})
		s.run(p)
		other, err := queue.New(s.db, queue.Config{})
		s.must(err)
		var took []time.Duration
		for range 5 {
			id := s.add("k", queue.Options{Retain: time.Hour})
			await(s, begun, "start")
			began := time.Now()
			if state, err := other.Cancel(s.ctx, id); state != queue.Active || err != nil {
				s.Fatalf("it was %s, %v", state, err)
			}
			if cause := await(s, causes, "end"); !errors.Is(cause, workers.ErrCancelled) {
				s.Errorf("the cause is %v", cause)
			}
			took = append(took, time.Since(began))
			job, err := s.client.Wait(s.ctx, id)
			s.must(err)
			if job.Outcome != queue.Cancelled {
				s.Errorf("it ended as %+v", job)
			}
		}
		// The machine that runs this may be busy with other things.
		if slices.Sort(took); took[2] > 100*time.Millisecond {
			s.Errorf("it took %v", took)
		}
	})
}

func TestCancelledJobThatWaitsForASlotIsNotStarted(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 2})
		handler, begun, _ := waiter()
		p.Handle("wait", handler, workers.Kind{})
		p.Handle("quick", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		p.Handle("never", func(context.Context, *queue.Job) error { s.Error("it was started"); return nil }, workers.Kind{})
		var first []string
		for range 100 {
			s.add("quick", queue.Options{})
		}
		for range 2 {
			first = append(first, s.add("wait", queue.Options{}))
		}
		wanted := s.add("never", queue.Options{Retain: time.Hour})
		s.run(p)
		for range first {
			await(s, begun, "start")
		}
		_, err := s.client.Cancel(s.ctx, wanted)
		s.must(err)
		for _, id := range first {
			_, err := s.client.Cancel(s.ctx, id)
			s.must(err)
		}
		job, err := s.client.Wait(s.ctx, wanted)
		s.must(err)
		if job.Outcome != queue.Cancelled {
			s.Errorf("it ended as %+v", job)
		}
	})
}

func TestHandlerThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	everywhere(t, func(s *shop) {
		hooks, reports := ended()
		p := s.pool(workers.Config{
			Concurrency: 1, Timeout: 50 * time.Millisecond, Grace: 50 * time.Millisecond, Hooks: hooks,
			Backoff: func(*queue.Job, error) time.Duration { return time.Hour },
		})
		gate, returned := make(chan struct{}), make(chan struct{}, 10)
		p.Handle("deaf", func(context.Context, *queue.Job) error { <-gate; returned <- struct{}{}; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{Timeout: time.Hour})
		id := s.add("deaf", queue.Options{})
		after := s.add("k", queue.Options{})
		stop := s.run(p)
		if report := await(s, reports, "report"); report.As != queue.AsRetry || !errors.Is(report.Err, workers.ErrTimeout) {
			s.Errorf("reported %+v", report)
		}
		if job := await(s, seen, "the next job in its slot"); job.ID != after {
			s.Errorf("ran %s", job.ID)
		}
		for stuckOf(s) != 1 { // the description comes a little later
			s.must(s.ctx.Err())
		}
		close(gate)
		await(s, returned, "end of the handler")
		for stuckOf(s) != 0 {
			s.must(s.ctx.Err())
		}
		stop()
		if job := s.get(id); job.State != queue.Delayed || job.Attempts != 1 {
			s.Errorf("its late answer changed the job: %+v", job)
		}
	})
}

// stuckOf is what the queue's only worker says of itself.
func stuckOf(s *shop) int {
	all, err := s.queue.Workers(s.ctx)
	s.must(err)
	if len(all) != 1 {
		s.Fatalf("there are %d workers", len(all))
	}
	var about workers.About
	s.must(json.Unmarshal(all[0].About, &about))
	return about.Stuck
}

func TestHandlersLeftBehindCostNoSlotUntilTheyAreAsManyAsTheSlots(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	hooks, reports := ended()
	p := s.pool(workers.Config{Concurrency: 2, Timeout: 20 * time.Millisecond, Grace: 20 * time.Millisecond, Hooks: hooks, Drain: time.Second})
	gate := make(chan struct{})
	p.Handle("deaf", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{Backoff: func(*queue.Job, error) time.Duration { return time.Hour }})
	handler, seen := recorder()
	p.Handle("k", handler, workers.Kind{Timeout: time.Hour})
	for range 4 {
		s.add("deaf", queue.Options{})
	}
	s.run(p)
	for range 4 {
		await(s, reports, "report")
	}
	id := s.add("k", queue.Options{})
	// All slots are used up twice: nothing runs until one comes back.
	select {
	case <-seen:
		t.Error("a fifth handler runs, with a concurrency of two")
	case <-time.After(100 * time.Millisecond):
	}
	gate <- struct{}{}
	if job := await(s, seen, "job"); job.ID != id {
		t.Errorf("ran %s", job.ID)
	}
	close(gate)
}
