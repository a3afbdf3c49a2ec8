package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// pickupSamples is how often a run measures pickup.
	pickupSamples = 500

	// pickupPause is the pause between two jobs, after which the pool is idle again.
	pickupPause = 5 * time.Millisecond

	// duePerMilli delayed jobs are due in each millisecond of a second.
	duePerMilli = 10
	lateJobs    = 1000 * duePerMilli

	// settleTime is how long a pool may take until it is idle.
	settleTime = 2 * time.Second
)

// pickup measures from before Enqueue to the start of the handler.
func (b *queueBench) pickup(ctx context.Context) error {
	started := make(chan time.Time, 1)
	var waits []time.Duration
	err := b.runAll(ctx, pickupSamples+1, func(*queue.Job) { started <- time.Now() }, func() error {
		for number := range pickupSamples + 1 {
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
	if err != nil {
		return err
	}
	b.figures.addPercentiles("pickup_ms", waits[1:]) // the first one waited for the start of the pool
	return nil
}

// late measures from the time at which jobs are due to the start of their handlers,
// by this machine's clock.
func (b *queueBench) late(ctx context.Context) error {
	first := time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
	due := func(number int) time.Time {
		return first.Add(time.Duration(number/duePerMilli) * time.Millisecond)
	}
	var mu sync.Mutex
	var waits []time.Duration
	err := b.runAll(ctx, lateJobs, func(job *queue.Job) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, now.Sub(due(benchNumber(job))))
	}, func() error {
		err := b.produce(ctx, lateJobs, benchBatch, func(ctx context.Context, first, count int) error {
			return b.addDue(ctx, first, count, due)
		})
		if err == nil && time.Now().After(first) {
			err = fmt.Errorf("the first of %d delayed jobs was due before the last was added: this machine or its Redis is too busy", lateJobs)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.figures.addPercentiles("late_ms", waits)
	return nil
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
