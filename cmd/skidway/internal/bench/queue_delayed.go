package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// maxDelayed is the maximum number of delayed jobs in one measurement.
	maxDelayed = 30_000

	// The first delayed job is due after dueLead and duePerJob for each job, so that all are
	// added before.
	dueLead   = 2 * time.Second
	duePerJob = 200 * time.Microsecond

	// randomSpan is the time over which jobs are due that are due at random times.
	randomSpan = time.Second

	// duePerMilli delayed jobs are due in each millisecond of a second, to measure how late
	// they start.
	duePerMilli = 10
	lateJobs    = 1000 * duePerMilli
)

// delayed measures delayed jobs that are due at one time, and at random times: adding a
// hundred a call, what they take of Redis's memory, and draining them when all are due.
func (b *queueBench) delayed(ctx context.Context) error {
	if err := b.measureDelayed(ctx, "delayed_", func() time.Duration { return 0 }); err != nil {
		return err
	}
	return b.measureDelayed(ctx, "delayed_random_", func() time.Duration { return rand.N(randomSpan) })
}

// measureDelayed measures jobs that are due when the first of them may be and a span later.
func (b *queueBench) measureDelayed(ctx context.Context, prefix string, span func() time.Duration) error {
	n := min(int(b.jobs), maxDelayed)
	first := time.Now().Add(dueLead + time.Duration(n)*duePerJob).Truncate(time.Millisecond)
	due := func(int) time.Time { return first.Add(span()) }
	bytes, err := b.memoryOf(ctx, n, func() error {
		return b.fill(ctx, prefix+"enqueue_per_s", n, benchBatch, b.addingDue(due))
	})
	if err != nil {
		return err
	}
	b.figures.add(prefix+"bytes_per_job", bytes)
	if err := b.addedBefore(first, n); err != nil {
		return err
	}
	if err := rdb.Sleep(ctx, time.Until(first.Add(randomSpan))); err != nil {
		return err
	}
	return b.drain(ctx, prefix+"drain_per_s", n)
}

// addingDue returns a function that adds jobs that are due at times by their numbers.
func (b *queueBench) addingDue(due func(number int) time.Time) addFunc {
	return func(ctx context.Context, first, count int) error { return b.addDue(ctx, first, count, due) }
}

// addedBefore returns an error if the first of n delayed jobs is due already.
func (b *queueBench) addedBefore(first time.Time, n int) error {
	if time.Now().After(first) {
		return fmt.Errorf("the first of %d delayed jobs was due before the last was added: this machine or its Redis is too busy", n)
	}
	return nil
}

// late measures from the time at which jobs are due to the start of their handlers,
// by this machine's clock.
func (b *queueBench) late(ctx context.Context) error {
	first := time.Now().Add(dueLead).Truncate(time.Millisecond)
	due := func(number int) time.Time {
		return first.Add(time.Duration(number/duePerMilli) * time.Millisecond)
	}
	var mu sync.Mutex
	var waits []time.Duration
	err := b.runAll(ctx, 1, lateJobs, func(job *queue.Job) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, now.Sub(due(benchNumber(job))))
	}, func() error {
		if err := b.produce(ctx, lateJobs, benchBatch, b.addingDue(due)); err != nil {
			return err
		}
		return b.addedBefore(first, lateJobs)
	})
	if err != nil {
		return err
	}
	b.figures.addPercentiles("late_ms", waits)
	return nil
}
