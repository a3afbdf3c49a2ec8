package workers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestQueuesOfAPatternAreServedWhenTheyAppear(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.add("k", queue.Options{Queue: "tenant-1"})
		s.add("k", queue.Options{Queue: "other"})
		p := s.pool(workers.Config{Queues: []workers.Queue{{Name: "tenant-*"}}})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{})
		s.run(p)
		for _, name := range []string{"tenant-1", "tenant-2", "tenant-3"} {
			if name != "tenant-1" {
				s.add("k", queue.Options{Queue: name})
			}
			if got := await(s, seen, "job of "+name).Queue; got != name {
				s.Errorf("served %s, want %s", got, name)
			}
		}
	})
}

func TestQueuesChangeWhileThePoolRuns(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 1})
		running, gate := make(chan *queue.Job), make(chan struct{})
		p.Handle("k", func(_ context.Context, job *queue.Job) error { running <- job; <-gate; return nil }, workers.Kind{})
		first, left := s.add("k", queue.Options{}), s.add("k", queue.Options{})
		s.run(p)
		await(s, running, "job")
		s.must(p.SetQueues([]workers.Queue{{Name: "r"}, {Name: "tenant-*"}}))
		s.add("k", queue.Options{Queue: "r"})
		gate <- struct{}{}
		if job := await(s, running, "job of the new queue"); job.Queue != "r" {
			s.Errorf("a job of %s runs", job.Queue)
		}
		gate <- struct{}{}
		s.add("k", queue.Options{Queue: "tenant-1"})
		if job := await(s, running, "job of the new pattern"); job.Queue != "tenant-1" {
			s.Errorf("a job of %s runs", job.Queue)
		}
		gate <- struct{}{}
		if _, err := s.client.Get(s.ctx, first); !errors.Is(err, queue.ErrNoJob) {
			s.Errorf("the job that ran: %v", err)
		}
		if job := s.get(left); job.State != queue.Waiting {
			s.Errorf("the job that is served no more is %s", job.State)
		}
		s.must(p.SetQueues([]workers.Queue{{Name: "q"}}))
		if job := await(s, running, "job of the queue that is back"); job.ID != left {
			s.Errorf("%s runs", job.ID)
		}
		close(gate)
		if err := p.SetQueues([]workers.Queue{{Name: "no name"}}); !errors.Is(err, queue.ErrInvalid) {
			s.Errorf("a wrong name: %v", err)
		}
	})
}

func TestConcurrencyIsBoundedForThePoolAndEachQueue(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 5, Queues: []workers.Queue{{Name: "q", Concurrency: 2}, {Name: "r"}}})
		var all, limited atomic.Int64
		done := make(chan struct{}, 1000)
		full := make(chan struct{}, 1000)
		p.Handle("k", func(_ context.Context, job *queue.Job) error {
			if n := all.Add(1); n > 5 {
				s.Errorf("%d handlers run at once", n)
			} else if n == 5 {
				full <- struct{}{}
			}
			if job.Queue == "q" {
				if n := limited.Add(1); n > 2 {
					s.Errorf("%d handlers of the limited queue run at once", n)
				}
				defer limited.Add(-1)
			}
			defer all.Add(-1)
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		for range 60 {
			s.add("k", queue.Options{})
			s.add("k", queue.Options{Queue: "r"})
		}
		s.run(p)
		for range 120 {
			await(s, done, "end of a job")
		}
	})
}

func TestAllSlotsOfThePoolAndTheQueueAreUsed(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 5, Queues: []workers.Queue{{Name: "q", Concurrency: 2}, {Name: "r"}}})
		running, gate := make(chan string, 20), make(chan struct{})
		p.Handle("k", func(_ context.Context, job *queue.Job) error { running <- job.Queue; <-gate; return nil }, workers.Kind{})
		for range 10 {
			s.add("k", queue.Options{})
			s.add("k", queue.Options{Queue: "r"})
		}
		s.run(p)
		got := map[string]int{}
		for range 5 {
			got[await(s, running, "running job")]++
		}
		if got["q"] != 2 || got["r"] != 3 {
			s.Errorf("run beside each other: %v, want 2 of q and 3 of r", got)
		}
		for range 5 {
			gate <- struct{}{}
			await(s, running, "next job")
		}
		close(gate)
	})
}

// The first jobs are quick, so that others are fetched ahead; then some take all
// slots for as long as they like.
func TestPoolThatTurnsSlowLeavesJobsToAnother(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	fillQueue := func(kind string, n int) {
		for range n {
			s.add(kind, queue.Options{})
		}
	}
	fillQueue("quick", 400)
	fillQueue("slow", 4)
	fillQueue("quick", 200)
	gate := make(chan struct{})
	quick, slow := make(chan struct{}, 1000), make(chan struct{}, 10)
	start := func() {
		p := s.pool(workers.Config{Concurrency: 4})
		p.Handle("quick", func(context.Context, *queue.Job) error { quick <- struct{}{}; return nil }, workers.Kind{})
		p.Handle("slow", func(context.Context, *queue.Job) error { slow <- struct{}{}; <-gate; return nil }, workers.Kind{})
		s.run(p)
	}
	start()
	for range 4 {
		await(s, slow, "slow job")
	}
	start()
	for range 600 {
		await(s, quick, "quick job")
	}
	close(gate)
}
