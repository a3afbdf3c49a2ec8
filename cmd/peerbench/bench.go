package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

// A bench measures asynq on one database.
type bench struct {
	options
	db     *database
	client *asynq.Client
}

// newBench returns a bench, which connects when it is first used.
func newBench(o options, db *database) *bench {
	return &bench{options: o, db: db, client: asynq.NewClient(db.peer)}
}

func (b *bench) close() error { return b.client.Close() }

// A step makes one or several measurements on an empty database.
type step struct {
	measures []string
	run      func(*bench, context.Context, figures) error
}

func steps() []step {
	return []step{
		{[]string{"enqueue", "memory", "drain"}, (*bench).fillAndDrain},
		{[]string{"steady"}, (*bench).steady},
		{[]string{"pickup"}, (*bench).pickup},
		{[]string{"late"}, (*bench).late},
		{[]string{"idle"}, (*bench).idle},
	}
}

func measurementNames() []string {
	var names []string
	for _, s := range steps() {
		names = append(names, s.measures...)
	}
	return names
}

// run makes all chosen measurements once, and adds the figures to f.
func (b *bench) run(ctx context.Context, f figures, progress io.Writer) error {
	for _, s := range steps() {
		chosen := slices.DeleteFunc(slices.Clone(s.measures), func(name string) bool { return !b.chosen(name) })
		if len(chosen) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(progress, "measuring %v\n", chosen); err != nil {
			return err
		}
		err := s.run(b, ctx, f)
		if err := errors.Join(err, b.db.empty(ctx)); err != nil {
			return fmt.Errorf("measure %v: %w", chosen, err)
		}
	}
	return nil
}

func (b *bench) chosen(name string) bool { return slices.Contains(b.figures, name) }

// serve calls handle for every job until stop is called. stop takes up to 1.5 s.
func (b *bench) serve(handle func(payload []byte)) (stop func(), err error) {
	server := asynq.NewServer(b.db.peer, asynq.Config{Concurrency: b.concurrency, LogLevel: asynq.ErrorLevel})
	err = server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		handle(t.Payload())
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("start asynq's server: %w", err)
	}
	return server.Shutdown, nil
}

// job returns a job whose payload begins with number.
func (b *bench) job(number int) *asynq.Task {
	payload := bytes.Repeat([]byte{'x'}, b.payload)
	binary.BigEndian.PutUint64(payload, uint64(number))
	return asynq.NewTask("bench", payload)
}

func jobNumber(payload []byte) int { return int(binary.BigEndian.Uint64(payload)) }

// produce enqueues n jobs, one per call, by all producers. choose returns the options
// of a job just before its call; it may be nil.
func (b *bench) produce(ctx context.Context, n int, choose func(number int) []asynq.Option) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var producers sync.WaitGroup
	for range b.producers {
		producers.Go(func() {
			for ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				if number >= n {
					return
				}
				var chosen []asynq.Option
				if choose != nil {
					chosen = choose(number)
				}
				if _, err := b.client.EnqueueContext(ctx, b.job(number), chosen...); err != nil {
					cancel(fmt.Errorf("enqueue: %w", err))
				}
			}
		})
	}
	producers.Wait()
	return context.Cause(ctx)
}

// A countdown closes done when a number of handlers has ended.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) tick() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *countdown) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
