package workers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestEndsOfJobsAreWrittenOnceRedisIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, redistest.Open(t, server.URL(0)))
	p := s.pool(workers.Config{Concurrency: 4, Lease: 10 * time.Second})
	begun, gate, done := make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)
	p.Handle("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; done <- struct{}{}; return nil }, workers.Kind{})
	var ids []string
	for range 10 {
		ids = append(ids, s.add("k", queue.Options{Retain: time.Hour}))
	}
	s.run(p)
	for range 4 {
		await(s, begun, "start")
	}
	server.Kill()
	for range 4 {
		gate <- struct{}{}
		await(s, done, "end")
	}
	s.must(server.Restart())
	close(gate)
	for _, id := range ids {
		job, err := s.client.Wait(s.ctx, id)
		s.must(err)
		if job.Outcome != queue.Succeeded || job.Attempts != 0 {
			t.Errorf("it ended as %+v", job)
		}
	}
	if n := len(begun); n != 6 {
		t.Errorf("%d jobs were started after the outage, want 6", n)
	}
}

func TestStopWhileRedisIsAwayEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redistest.Open(t, server.URL(0)))
	p := s.pool(workers.Config{Drain: 50 * time.Millisecond})
	handler, begun, causes := waiter()
	p.Handle("k", handler, workers.Kind{})
	s.add("k", queue.Options{})
	stop := s.run(p)
	await(s, begun, "start")
	server.Kill()
	began := time.Now()
	stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if cause := await(s, causes, "end"); !errors.Is(cause, workers.ErrShutdown) && !errors.Is(cause, queue.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
}

func TestLostLeaseEndsWhatRunsAndThePoolGoesOnWithAnother(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{})
		begun, causes := make(chan *queue.Job), make(chan error, 1)
		p.Handle("k", func(ctx context.Context, job *queue.Job) error {
			begun <- job
			if job.Suspected > 0 {
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return workers.Dead(errBroken) // which nobody hears
		}, workers.Kind{})
		id := s.add("k", queue.Options{Retain: time.Hour})
		s.run(p)
		first := await(s, begun, "start")
		s.declareDead(first.Worker)
		if cause := await(s, causes, "end"); !errors.Is(cause, queue.ErrLeaseLost) {
			s.Errorf("the cause is %v", cause)
		}
		second := await(s, begun, "second start")
		if second.ID != id || second.Worker == first.Worker {
			s.Errorf("second: %+v", second)
		}
		job, err := s.client.Wait(s.ctx, id)
		s.must(err)
		if job.Outcome != queue.Succeeded || job.Attempts != 0 {
			s.Errorf("it ended as %+v", job)
		}
		counters, err := s.queue.Counters(s.ctx, 0)
		s.must(err)
		if c := counters.Total; c.Done != 1 || c.Dead != 0 || c.LostLeases != 1 {
			s.Errorf("the books say %+v", c)
		}
	})
}

// Each end of a job wakes the dispatcher, which then waits anew.
func TestBlockedConnectionsStayFewWhileJobsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Open(t, redistest.Start(t).URL(0)))
	p := s.pool(workers.Config{Concurrency: 50})
	begun, gate, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.Handle("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; done <- struct{}{}; return nil }, workers.Kind{})
	for range 45 {
		s.add("k", queue.Options{})
	}
	s.run(p)
	for range 45 {
		await(s, begun, "start")
	}
	for range 45 {
		gate <- struct{}{}
		await(s, done, "end")
		info, err := s.db.Info(s.ctx, "clients").Result()
		s.must(err)
		var blocked int
		_, rest, _ := strings.Cut(info, "blocked_clients:")
		if _, err := fmt.Sscan(rest, &blocked); err != nil || blocked > 8 {
			t.Fatalf("%d blocked connections, %v", blocked, err)
		}
	}
}
