package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"skidway/queue"
)

// benchBatch is the number of jobs in one call, or in one pipeline of the bare loop.
const benchBatch = 100

// singles measures adding jobs one a call, what they take of Redis's memory and
// draining them.
func (b *queueBench) singles(ctx context.Context) error {
	bytes, err := b.memoryOf(ctx, int(b.jobs), func() error { return b.fill(ctx, "enqueue_per_s", int(b.jobs), 1, b.addOne) })
	if err != nil {
		return err
	}
	b.figures.add("redis_bytes_per_job", bytes)
	return b.drain(ctx, "drain_per_s", int(b.jobs))
}

// memoryOf returns the bytes of Redis that each of the n jobs takes that add adds.
func (b *queueBench) memoryOf(ctx context.Context, n int, add func() error) (float64, error) {
	// Not used_memory: the memory of connections would matter beside few jobs.
	before, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return 0, err
	}
	if err := add(); err != nil {
		return 0, err
	}
	after, err := b.memory(ctx, "used_memory_dataset")
	return (after - before) / float64(n), err
}

// batches measures adding jobs a hundred a call, and draining them.
func (b *queueBench) batches(ctx context.Context) error {
	if err := b.fill(ctx, "enqueue_batch_per_s", int(b.jobs), benchBatch, b.addBatch); err != nil {
		return err
	}
	return b.drain(ctx, "drain_per_s", int(b.jobs))
}

func (b *queueBench) fill(ctx context.Context, key string, n, batch int, add addFunc) error {
	took, err := timed(func() error { return b.produce(ctx, n, batch, add) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(n, took))
	return nil
}

// drain measures from a pool's start until n jobs are finished in Redis.
func (b *queueBench) drain(ctx context.Context, key string, n int) error {
	took, err := timed(func() error { return b.runAll(ctx, 1, n, func(*queue.Job) {}, nil) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(n, took))
	return nil
}

// steady measures adding jobs one a call while they are run, from the start of
// both until all are finished in Redis.
func (b *queueBench) steady(ctx context.Context) error {
	took, err := timed(func() error {
		return b.runAll(ctx, 1, int(b.jobs), func(*queue.Job) {}, func() error {
			return b.produce(ctx, int(b.jobs), 1, b.addOne)
		})
	})
	if err != nil {
		return err
	}
	b.figures.add("steady_per_s", perSecond(b.jobs, took))
	return nil
}

// withAOF measures adding and draining while Redis writes a file.
func (b *queueBench) withAOF(ctx context.Context) error {
	n := int(b.jobs)
	return b.appendOnly(ctx, func() error {
		if err := b.fill(ctx, "enqueue_aof_per_s", n, 1, b.addOne); err != nil {
			return err
		}
		if err := b.drain(ctx, "drain_aof_per_s", n); err != nil {
			return err
		}
		if err := b.fill(ctx, "enqueue_batch_aof_per_s", n, benchBatch, b.addBatch); err != nil {
			return err
		}
		return b.drain(ctx, "drain_aof_per_s", n)
	})
}

// bare measures the bare loop with each number of fetchers.
func (b *queueBench) bare(ctx context.Context) error {
	loop := b.bareLoop()
	stream := loop.stream()
	for i := range b.bareDrains {
		if err := b.db.XGroupCreateMkStream(ctx, stream, bareGroup, "0").Err(); err != nil {
			return err
		}
		if err := b.fill(ctx, "bare_enqueue_batch_per_s", int(b.jobs), benchBatch, loop.add); err != nil {
			return err
		}
		took, err := timed(func() error { return loop.drain(ctx, i+1) })
		if err != nil {
			return err
		}
		b.bareDrains[i] = append(b.bareDrains[i], perSecond(b.jobs, took))
		if err := b.db.Del(ctx, stream).Err(); err != nil {
			return err
		}
	}
	return nil
}

// One of pinnedEach jobs stays unfinished.
const pinnedEach = 100

// pinned measures the memory of unfinished jobs when all others are done: each keeps
// a node of its stream, which has room for others.
func (b *queueBench) pinned(ctx context.Context) (err error) {
	// Not used_memory: the memory of connections would matter beside so few jobs.
	before, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return err
	}
	if err := b.produce(ctx, int(b.jobs), benchBatch, b.addBatch); err != nil {
		return err
	}
	q, err := b.client.ForPool(benchQueueName)
	if err != nil {
		return err
	}
	lease, err := q.NewLease("bench-"+rand.Text(), 10*time.Minute)
	if err != nil {
		return err
	}
	defer func() {
		_, failed := lease.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, failed)
	}()
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

// finishMost fetches all jobs and finishes them but for one in pinnedEach, which it
// returns.
func finishMost(ctx context.Context, lease *queue.Lease) (unfinished []queue.Completion, err error) {
	taken := 0
	for {
		fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: benchBatch, Bytes: 1 << 20})
		if err != nil || len(fetched.Jobs) == 0 {
			return unfinished, err
		}
		var finished []queue.Completion
		for _, job := range fetched.Jobs {
			ending := queue.Completion{Job: job, Disposition: queue.AttemptSucceeded}
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
