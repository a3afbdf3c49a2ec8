package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// pickupSamples is how often a run measures pickup with each number of pools.
	pickupSamples = 500

	// pickupPause is the pause between two jobs, after which the pool is idle again.
	pickupPause = 5 * time.Millisecond

	// settleTime is how long a pool may take until it is idle.
	settleTime = 2 * time.Second
)

// pickup measures how soon one of several idle pools starts a job.
func (b *queueBench) pickup(ctx context.Context) error {
	for _, pools := range []struct {
		key string
		n   int
	}{{"pickup_ms", 1}, {"pickup_8_pools_ms", 8}, {"pickup_20_pools_ms", 20}} {
		waits, err := b.pickups(ctx, pools.n)
		if err != nil {
			return fmt.Errorf("with %d pools: %w", pools.n, err)
		}
		b.figures.addPercentiles(pools.key, waits)
	}
	return nil
}

// pickups returns the times from before Enqueue to the start of the handler.
func (b *queueBench) pickups(ctx context.Context, pools int) (waits []time.Duration, err error) {
	started := make(chan time.Time, 1)
	err = b.runAll(ctx, pools, pickupSamples, func(*queue.Job) { started <- time.Now() }, func() error {
		if err := rdb.Sleep(ctx, settleTime); err != nil {
			return err
		}
		for number := range pickupSamples {
			before := time.Now()
			if err := b.addOne(ctx, number, 1); err != nil {
				return err
			}
			select {
			case start := <-started:
				waits = append(waits, start.Sub(before))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := rdb.Sleep(ctx, pickupPause); err != nil {
				return err
			}
		}
		return nil
	})
	return waits, err
}

// idle counts the commands of a worker that has nothing to do.
func (b *queueBench) idle(ctx context.Context) (err error) {
	pool, err := b.startPool(ctx, func(*queue.Job) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.stop()) }()
	if err := rdb.Sleep(ctx, settleTime); err != nil {
		return err
	}
	before, err := b.commands(ctx)
	if err != nil {
		return err
	}
	took, err := timed(func() error { return rdb.Sleep(ctx, time.Duration(b.idleFor)) })
	if err != nil {
		return err
	}
	after, err := b.commands(ctx)
	if err != nil {
		return err
	}
	b.figures.add("idle_commands_per_s", (after-before-1)/took.Seconds()) // one was INFO
	return nil
}
