package workers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A completer writes the outcomes of the jobs of one lease, in batches: each has all
// outcomes that were added while the previous batch was written.
type completer struct {
	write    func(context.Context, []queue.Completion) error // queue.ErrLeaseLost ends the completer
	written  func([]queue.Completion)                        // called after each batch
	count    func(handled int)                               // called with the change of the number of unwritten outcomes of handlers
	retryFor time.Duration                                   // how long batches are retried after the end of run's context, the length of the lease
	log      *slog.Logger
	wake     notification

	mu      sync.Mutex
	pending []queue.Completion
	writing []queue.Completion // the latest batch, until it is written
	latest  int                // number of its outcomes
	closed  bool               // outcomes are dropped: the lease is lost, or run has returned
}

// add adds an outcome. It does not block.
func (c *completer) add(outcome queue.Completion) {
	c.mu.Lock()
	added := !c.closed
	if added {
		if c.pending == nil {
			c.pending = make([]queue.Completion, 0, c.latest)
		}
		c.pending = append(c.pending, outcome)
	}
	c.mu.Unlock()
	if added && outcome.Disposition != queue.AttemptReturned {
		c.count(1)
	}
	c.wake.send()
}

// close drops the pending outcomes and ends run.
func (c *completer) close() {
	c.mu.Lock()
	dropped := c.pending
	c.pending, c.closed = nil, true
	c.mu.Unlock()
	c.count(-handled(dropped))
	c.wake.send()
}

// handled returns the number of outcomes of handlers: the other jobs were handed back.
func handled(outcomes []queue.Completion) (n int) {
	for _, outcome := range outcomes {
		if outcome.Disposition != queue.AttemptReturned {
			n++
		}
	}
	return n
}

// take returns all pending outcomes, and whether the completer is open.
func (c *completer) take() (batch []queue.Completion, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, c.pending = c.pending, nil
	c.writing, c.latest = batch, len(batch)
	return batch, !c.closed
}

// withdraw returns the outcomes of jobs of which it is not known that they are written. Those that
// are not being written now are no longer pending.
func (c *completer) withdraw(jobs []*queue.Job) []queue.Completion {
	var writing, pending []queue.Completion
	c.mu.Lock()
	for _, outcome := range c.writing {
		if slices.Contains(jobs, outcome.Job) {
			writing = append(writing, outcome)
		}
	}
	c.pending = slices.DeleteFunc(c.pending, func(outcome queue.Completion) bool {
		withdrawn := slices.Contains(jobs, outcome.Job)
		if withdrawn {
			pending = append(pending, outcome)
		}
		return withdrawn
	})
	c.mu.Unlock()
	c.count(-handled(pending))
	return append(writing, pending...)
}

// run writes outcomes until the completer is closed, or ctx is done and none is pending.
// It returns [queue.ErrLeaseLost] if the lease is lost.
func (c *completer) run(ctx context.Context) error {
	defer c.close()
	writing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(c.retryFor, end) })()
	for last := false; ; {
		batch, open := c.take()
		switch {
		case !open:
			return nil
		case len(batch) > 0:
			err := c.writeBatch(writing, batch)
			c.count(-handled(batch))
			if err != nil {
				return err
			}
			continue
		case last:
			return nil
		}
		select {
		case <-ctx.Done():
			last = true // outcomes that were added before this are still written
		case <-c.wake:
		}
	}
}

// writeBatch writes a batch. It tries again until it succeeds, ctx is done, or the lease
// is lost. A batch may be written twice: Redis ignores jobs that are finished already.
func (c *completer) writeBatch(ctx context.Context, batch []queue.Completion) error {
	for backoff := (rdb.Backoff{}); ; {
		err := c.write(ctx, batch)
		if err == nil {
			c.written(batch)
			logDuplicates(c.log, batch)
			return nil
		}
		if errors.Is(err, queue.ErrLeaseLost) || ctx.Err() != nil {
			return err
		}
		c.log.Warn("outcomes cannot be written yet", "jobs", len(batch), "error", err)
		_ = backoff.Sleep(ctx)
	}
}
