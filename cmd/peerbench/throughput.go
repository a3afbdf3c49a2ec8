package main

import (
	"context"
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
	all := newCountdown(b.jobs)
	started := time.Now()
	stop, err := b.serve(func([]byte) { all.tick() })
	if err != nil {
		return err
	}
	defer stop()
	if err := all.wait(ctx); err != nil {
		return err
	}
	f.add("drain_per_s", perSecond(b.jobs, time.Since(started)))
	return nil
}

// steady starts the server when one job in a hundred was enqueued: had it
// found nothing at its start, it would first sleep for about a second.
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
	all := newCountdown(b.jobs)
	stop, err := b.serve(func([]byte) { all.tick() })
	if err != nil {
		return err
	}
	defer stop()
	if err := all.wait(ctx); err != nil {
		return err
	}
	f.add("steady_per_s", perSecond(b.jobs, time.Since(started)))
	return nil
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
