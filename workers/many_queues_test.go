package workers_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// manyQueues returns the configurations of n queues.
func manyQueues(n int) (queues []workers.Queue) {
	for i := range n {
		queues = append(queues, workers.Queue{Name: fmt.Sprintf("t%d", i)})
	}
	return queues
}

func TestJobOfAHeavierQueueStartsNextBesideManyEmptyQueues(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	p := f.pool(workers.Config{
		Concurrency: 2, Lease: queue.DefaultLease,
		Queues: append(manyQueues(200), workers.Queue{Name: "busy"}, workers.Queue{Name: "vip", Weight: 100}),
	})
	const took = 20 * time.Millisecond
	var started atomic.Int64 // of the queue "busy"
	enough, vip := make(chan bool, 1), make(chan int64, 1)
	p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
		if job.Queue == "vip" {
			vip <- started.Load()
			return nil
		}
		if started.Add(1) == 50 {
			enough <- true
		}
		<-time.After(took)
		return nil
	}, workers.Kind{})
	backlog := make([]queue.NewJob, 1000)
	for i := range backlog {
		backlog[i] = queue.NewJob{Args: queue.Raw("k", []byte(`{}`)), Options: queue.Options{Queue: "busy"}}
	}
	f.client.EnqueueMany(f.ctx, backlog)
	f.run(p)
	await(f, enough, "50 jobs")
	before := started.Load()
	f.add("k", queue.Options{Queue: "vip"})
	if others := await(f, vip, "job of the heavy queue") - before; others > 10 {
		t.Errorf("%d jobs of the lighter queue started before it", others)
	}
}
