package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"skidway/queue"
)

// pinnedEach is of how many jobs one stays unfinished.
const pinnedEach = 100

// pinned measures what unfinished jobs take of Redis's memory when all the
// others are done: each keeps the node of its stream, with room for others.
func (b *queueBench) pinned(ctx context.Context) (err error) {
	// Not used_memory: what connections take would show beside so few jobs.
	before, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return err
	}
	if err := b.produce(ctx, int(b.jobs), benchBatch, b.addBatch); err != nil {
		return err
	}
	q, err := b.client.Queue(benchQueueName)
	if err != nil {
		return err
	}
	lease, err := q.Lease(ctx, "bench-"+rand.Text(), 10*time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Close(context.WithoutCancel(ctx))) }()
	unfinished, err := finishMost(ctx, lease)
	if err != nil {
		return err
	}
	after, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return err
	}
	b.figures.add("pinned_bytes_per_job", (after-before)/float64(len(unfinished)))
	_, err = lease.Finish(ctx, unfinished)
	return err
}

// finishMost takes all jobs and finishes them but for one in a hundred, which it
// gives.
func finishMost(ctx context.Context, lease *queue.Lease) (unfinished []queue.Ending, err error) {
	taken := 0
	for {
		fetched, err := lease.Fetch(ctx, benchBatch, 1<<20)
		if err != nil || len(fetched.Jobs) == 0 {
			return unfinished, err
		}
		var finished []queue.Ending
		for _, job := range fetched.Jobs {
			ending := queue.Ending{Job: job, As: queue.AsSucceeded}
			if taken%pinnedEach == 0 {
				unfinished = append(unfinished, ending)
			} else {
				finished = append(finished, ending)
			}
			taken++
		}
		if _, err := lease.Finish(ctx, finished); err != nil {
			return nil, err
		}
	}
}
