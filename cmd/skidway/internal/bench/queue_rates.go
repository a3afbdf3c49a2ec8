package bench

import (
	"context"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// benchBatch is how many jobs go in one call, or one pipeline of the bare loop.
const benchBatch = 100

func perSecond[N int | cli.Number](n N, took time.Duration) float64 {
	return float64(n) / took.Seconds()
}

// singles measures adding jobs one a call, what they take of Redis's memory and
// draining them.
func (b *queueBench) singles(ctx context.Context) error {
	before, err := b.memory(ctx, "used_memory")
	if err != nil {
		return err
	}
	if err := b.fill(ctx, "enqueue_per_s", 1, b.addOne); err != nil {
		return err
	}
	after, err := b.memory(ctx, "used_memory")
	if err != nil {
		return err
	}
	b.figures.add("redis_bytes_per_job", (after-before)/float64(b.jobs))
	return b.drain(ctx, "drain_per_s")
}

// batches measures adding jobs a hundred a call, and draining them.
func (b *queueBench) batches(ctx context.Context) error {
	if err := b.fill(ctx, "enqueue_batch_per_s", benchBatch, b.addBatch); err != nil {
		return err
	}
	return b.drain(ctx, "drain_per_s")
}

func (b *queueBench) fill(ctx context.Context, key string, batch int, add func(ctx context.Context, first, count int) error) error {
	took, err := timed(func() error { return b.produce(ctx, int(b.jobs), batch, add) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(b.jobs, took))
	return nil
}

// drain measures from a pool's start until all jobs are finished in Redis.
func (b *queueBench) drain(ctx context.Context, key string) error {
	took, err := timed(func() error { return b.runAll(ctx, int(b.jobs), func(*queue.Job) {}, nil) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(b.jobs, took))
	return nil
}

// steady measures adding jobs one a call while they are run, from the start of
// both until all are finished in Redis.
func (b *queueBench) steady(ctx context.Context) error {
	took, err := timed(func() error {
		return b.runAll(ctx, int(b.jobs), func(*queue.Job) {}, func() error {
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
	return b.appendOnly(ctx, func() error {
		if err := b.fill(ctx, "enqueue_aof_per_s", 1, b.addOne); err != nil {
			return err
		}
		if err := b.drain(ctx, "drain_aof_per_s"); err != nil {
			return err
		}
		if err := b.fill(ctx, "enqueue_batch_aof_per_s", benchBatch, b.addBatch); err != nil {
			return err
		}
		return b.drain(ctx, "drain_aof_per_s")
	})
}
