package workers_test

import (
	"context"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestJobsBehindASuspectGoToAnIdleWorker(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	s.add("suspect", queue.Options{})
	_, _, die := s.abandoned("mortal", 1)
	die()
	if _, err := s.queue.Recover(s.ctx, 0, false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.add("other", queue.Options{})
	}
	p := s.pool(workers.Config{Concurrency: 4})
	gate, begun := make(chan bool), make(chan bool, 1)
	p.Handle("suspect", func(context.Context, *queue.Job) error { begun <- true; <-gate; return nil }, workers.Kind{})
	p.Handle("other", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
	stop := s.run(p)
	await(s, begun, "suspect")
	start := time.Now()
	idle := s.pool(workers.Config{Concurrency: 4})
	done := make(chan bool, 10)
	idle.Handle("other", func(context.Context, *queue.Job) error { done <- true; return nil }, workers.Kind{})
	s.run(idle)
	for i := range 3 {
		select {
		case <-done:
		case <-time.After(4 * time.Second):
			d, _ := s.queue.Depth(s.ctx)
			t.Errorf("after %s job %d has not run though a worker is idle: %+v", time.Since(start), i, d)
			i = 3
		}
		if t.Failed() {
			break
		}
	}
	close(gate)
	stop()
}

func TestJobThatEndedAnAttemptIsNoSuspectAnyMore(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	s.add("k", queue.Options{})
	_, _, die := s.abandoned("mortal", 1)
	die()
	p := s.pool(workers.Config{Concurrency: 4})
	seen := make(chan int, 10)
	n := 0
	p.Handle("k", func(_ context.Context, j *queue.Job) error {
		seen <- j.Suspected
		if n++; n < 3 {
			return workers.Snooze(time.Millisecond)
		}
		return nil
	}, workers.Kind{})
	s.run(p)
	a, b, c := await(s, seen, "1"), await(s, seen, "2"), await(s, seen, "3")
	if b != 0 || c != 0 {
		t.Errorf("suspected %d, and after attempts that ended well %d, %d", a, b, c)
	}
}
