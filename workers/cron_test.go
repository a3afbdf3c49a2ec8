package workers_test

import (
	"context"
	"testing"

	"skidway/delayed"
	"skidway/queue"
	"skidway/workers"
)

func TestPoolFiresTheSchedulesOfItsQueues(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{})
		ran := make(chan *queue.Job, 100)
		p.Handle("k", func(_ context.Context, job *queue.Job) error { ran <- job; return nil }, workers.Kind{})
		s.run(p)
		s.add("k", queue.Options{})
		await(s, ran, "first job") // the pool is up and finds out of a schedule that comes later
		_, err := delayed.AddSchedule(s.ctx, s.client, queue.Schedule{Name: "beat", Expr: "@every 1s", Queue: "q", Kind: "k", Args: []byte(`{}`)})
		s.must(err)
		seen := map[string]bool{}
		for range 2 {
			job := await(s, ran, "job of the schedule")
			if job.Headers[queue.HeaderSchedule] != "beat" || seen[job.Headers[queue.HeaderDue]] {
				s.Errorf("got %+v", job.Headers)
			}
			seen[job.Headers[queue.HeaderDue]] = true
		}
		s.must(delayed.RemoveSchedule(s.ctx, s.client, "q", "beat"))
	})
}
