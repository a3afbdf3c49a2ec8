package workers_test

import (
	"context"
	"testing"

	"skidway/delayed"
	"skidway/queue"
	"skidway/workers"
)

func TestPoolFiresTheSchedulesOfItsQueues(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		ran := make(chan *queue.Job, 100)
		p.Handle("k", func(_ context.Context, job *queue.Job) error { ran <- job; return nil }, workers.Kind{})
		f.run(p)
		f.add("k", queue.Options{})
		await(f, ran, "first job") // the pool is up and finds out of a schedule that comes later
		_, err := delayed.AddSchedule(f.ctx, f.client, queue.Schedule{Name: "beat", Expr: "@every 1s", Queue: "q", Kind: "k", Args: []byte(`{}`)})
		f.must(err)
		seen := map[string]bool{}
		for range 2 {
			job := await(f, ran, "job of the schedule")
			if job.Headers[queue.HeaderSchedule] != "beat" || seen[job.Headers[queue.HeaderDue]] {
				f.Errorf("got %+v", job.Headers)
			}
			seen[job.Headers[queue.HeaderDue]] = true
		}
		f.must(delayed.RemoveSchedule(f.ctx, f.client, "q", "beat"))
	})
}
