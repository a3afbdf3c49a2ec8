package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// fillAndDrain measures enqueue, memory and drain with the same jobs.
func (b *bench) fillAndDrain(ctx context.Context, f figures) error {
	before, err := b.db.number(ctx, "memory", "used_memory")
	if err != nil {
		return err
	}
	started := time.Now()
	if err := b.produce(ctx, b.jobs, nil); err != nil {
		return err
	}
	took := time.Since(started)
	after, err := b.db.number(ctx, "memory", "used_memory")
	if err != nil {
		return err
	}
	if b.chosen("enqueue") {
		f.add("enqueue_per_s", perSecond(b.jobs, took))
	}
	if b.chosen("memory") {
		f.add("redis_bytes_per_job", (after-before)/float64(b.jobs))
	}
	if b.chosen("drain") {
		return b.drain(ctx, f)
	}
	return nil
}

func (b *bench) drain(ctx context.Context, f figures) error {
	return b.drainSince(ctx, time.Now(), f, "drain_per_s")
}

// drainSince runs a server until it has handled all jobs, and adds their rate
// since started as the figure key.
func (b *bench) drainSince(ctx context.Context, started time.Time, f figures, key string) error {
	all := newCountdown(b.jobs)
	stop, err := b.serve(func([]byte) { all.tick() })
	if err != nil {
		return err
	}
	defer stop()
	if err := all.wait(ctx); err != nil {
		return err
	}
	f.add(key, perSecond(b.jobs, time.Since(started)))
	return nil
}

// steady starts the server when one job in a hundred is enqueued: a server that finds no
// job at its start sleeps for about a second.
func (b *bench) steady(ctx context.Context, f figures) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	head := make(chan struct{})
	var producing sync.WaitGroup
	defer producing.Wait()
	started := time.Now()
	producing.Go(func() {
		err := b.produce(ctx, b.jobs, func(number int) []asynq.Option {
			if number == b.jobs/100 {
				close(head)
			}
			return nil
		})
		if err != nil {
			cancel(err)
		}
	})
	select {
	case <-head:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return b.drainSince(ctx, started, f, "steady_per_s")
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

const (
	// An idle server of asynq polls for jobs every 0.5 to 1.5 s.
	pollingSpan = 2 * time.Second
	// It polls for due delayed jobs every 5 s.
	delayedSpan = 5 * time.Second
)

// pickup waits before each job, from 0 to longer than the server sleeps. A job right
// after another one always arrives at the beginning of that sleep, and waits twice as
// long as the average job.
func (b *bench) pickup(ctx context.Context, f figures) error {
	starts := make(chan time.Time, 1)
	stop, err := b.serve(func([]byte) { starts <- time.Now() })
	if err != nil {
		return err
	}
	defer stop()
	if _, err := b.pickupOne(ctx, starts); err != nil { // connects
		return err
	}
	waits := make([]time.Duration, b.samples)
	for i := range waits {
		if err := pause(ctx, spread(pollingSpan, i, b.samples)); err != nil {
			return err
		}
		if waits[i], err = b.pickupOne(ctx, starts); err != nil {
			return err
		}
	}
	f.addPercentiles("pickup_ms", waits)
	return nil
}

func (b *bench) pickupOne(ctx context.Context, starts <-chan time.Time) (time.Duration, error) {
	before := time.Now()
	if _, err := b.client.EnqueueContext(ctx, b.job(0)); err != nil {
		return 0, fmt.Errorf("enqueue: %w", err)
	}
	select {
	case start := <-starts:
		return start.Sub(before), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// late measures in rounds, whose jobs are due at different times between two polls of
// the server. Asynq rounds times to seconds, so some jobs start before their time: their
// lateness is negative.
func (b *bench) late(ctx context.Context, f figures) error {
	r := lateRound{bench: b}
	started := time.Now()
	stop, err := b.serve(r.handle)
	if err != nil {
		return err
	}
	defer stop()
	var all []time.Duration
	for i := range b.rounds {
		waits, err := r.run(ctx, started.Add(spread(delayedSpan, i, b.rounds)))
		if err != nil {
			return err
		}
		all = append(all, waits...)
	}
	f.addPercentiles("late_ms", all)
	return nil
}

// A lateRound has delayed jobs that are due within one second.
type lateRound struct {
	*bench
	mu    sync.Mutex
	first time.Time
	waits []time.Duration
	all   *countdown
}

// run enqueues the jobs, of which the first is due at from, or later by a multiple of
// the polling interval if it takes longer to enqueue them.
func (r *lateRound) run(ctx context.Context, from time.Time) ([]time.Duration, error) {
	ready := time.Now().Add(time.Second + time.Duration(r.delayed)*50*time.Microsecond)
	for from.Before(ready) {
		from = from.Add(delayedSpan)
	}
	r.mu.Lock()
	r.first, r.waits, r.all = from, nil, newCountdown(r.delayed)
	r.mu.Unlock()
	err := r.produce(ctx, r.delayed, func(number int) []asynq.Option {
		return []asynq.Option{asynq.ProcessAt(r.due(number))}
	})
	if err != nil {
		return nil, err
	}
	if time.Now().After(from) {
		return nil, fmt.Errorf("the first of %d delayed jobs was due before the last was enqueued: lower --delayed", r.delayed)
	}
	if err := r.all.wait(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits, nil
}

func (r *lateRound) due(number int) time.Time {
	return r.first.Add(spread(time.Second, number, r.delayed))
}

func (r *lateRound) handle(payload []byte) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = append(r.waits, now.Sub(r.due(jobNumber(payload))))
	r.all.tick()
}

// spread returns the time of the i-th of n events that are spread evenly over a span.
func spread(span time.Duration, i, n int) time.Duration {
	return span * time.Duration(i) / time.Duration(n)
}

// startup bounds the time that a server takes to connect and register.
const startup = 2 * time.Second

// idle counts the commands of a server without jobs.
func (b *bench) idle(ctx context.Context, f figures) error {
	stop, err := b.serve(func([]byte) {})
	if err != nil {
		return err
	}
	defer stop()
	if err := pause(ctx, startup); err != nil {
		return err
	}
	before, err := b.db.number(ctx, "stats", "total_commands_processed")
	if err != nil {
		return err
	}
	started := time.Now()
	if err := pause(ctx, b.idleFor); err != nil {
		return err
	}
	took := time.Since(started)
	after, err := b.db.number(ctx, "stats", "total_commands_processed")
	if err != nil {
		return err
	}
	f.add("idle_commands_per_s", (after-before-1)/took.Seconds()) // one was INFO
	return nil
}
