package workers

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skidway/queue"
)

var errAway = errors.New("no connection to Redis")

// newTestCompleter returns a completer that writes to batches, once for each
// error that errs has left, which the write returns.
func newTestCompleter(retryFor time.Duration, errs ...error) (c *completer, batches chan []queue.Completion) {
	batches = make(chan []queue.Completion, 100)
	return &completer{
		write: func(_ context.Context, batch []queue.Completion) (err error) {
			if len(errs) > 0 {
				err, errs = errs[0], errs[1:]
			}
			if err == nil {
				batches <- batch
			}
			return err
		},
		written: func([]queue.Completion) {}, count: func(int) {}, retryFor: retryFor, log: slog.New(slog.DiscardHandler), wake: newNotification(),
	}, batches
}

func outcomeOf(id string) queue.Completion {
	return queue.Completion{Job: &queue.Job{ID: id}, Disposition: queue.AttemptSucceeded}
}

func idsOf(batch []queue.Completion) (ids []string) {
	for _, outcome := range batch {
		ids = append(ids, outcome.Job.ID)
	}
	return ids
}

func TestCompleterWritesInOneBatchWhatGathersWhileItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCompleter(time.Minute)
		begun, batches, written := make(chan struct{}), make(chan []queue.Completion), 0
		c.write = func(_ context.Context, batch []queue.Completion) error {
			begun <- struct{}{}
			batches <- batch
			return nil
		}
		c.written = func(batch []queue.Completion) { written += len(batch) }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.run(ctx) }()
		c.add(outcomeOf("1"))
		<-begun
		c.add(outcomeOf("2"))
		c.add(outcomeOf("3"))
		if got := idsOf(<-batches); len(got) != 1 {
			t.Errorf("the first batch is %v", got)
		}
		<-begun
		if got := idsOf(<-batches); len(got) != 2 || got[0] != "2" || got[1] != "3" {
			t.Errorf("the second batch is %v", got)
		}
		stop()
		if err := <-ended; err != nil || written != 3 {
			t.Errorf("run returned %v with %d outcomes written", err, written)
		}
	})
}

func TestCompleterWritesWhatWasAddedBeforeTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, batches := newTestCompleter(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.run(ctx) }()
		synctest.Wait() // it waits for outcomes
		c.mu.Lock()     // add is between its two steps when the stop comes
		c.pending = append(c.pending, outcomeOf("late"))
		stop()
		c.mu.Unlock()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := idsOf(<-batches); len(got) != 1 || got[0] != "late" {
			t.Errorf("written: %v", got)
		}
		c.add(outcomeOf("too late"))
		if len(c.pending) > 0 {
			t.Error("an outcome that no write follows is kept")
		}
	})
}

func TestCompleterRetriesUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, batches := newTestCompleter(time.Minute, errAway, errAway, errAway, errAway)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go c.run(ctx)
		began := time.Now()
		c.add(outcomeOf("1"))
		if got := idsOf(<-batches); len(got) != 1 {
			t.Errorf("written: %v", got)
		}
		if took := time.Since(began); took != (20+40+80+160)*time.Millisecond {
			t.Errorf("four failures took %s", took)
		}
	})
}

func TestCompleterGivesUpAfterTheLingerThatFollowsTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCompleter(time.Minute)
		c.write = func(context.Context, []queue.Completion) error { return errAway }
		ctx, stop := context.WithCancel(t.Context())
		stop()
		c.add(outcomeOf("1"))
		began := time.Now()
		if err := c.run(ctx); !errors.Is(err, errAway) {
			t.Errorf("run returned %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it gave up after %s", took)
		}
	})
}

func TestCompleterEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCompleter(time.Minute, queue.ErrLeaseLost)
		c.add(outcomeOf("1"))
		if err := c.run(t.Context()); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("run returned %v", err)
		}

		c, batches := newTestCompleter(time.Minute)
		ended := make(chan error)
		go func() { ended <- c.run(t.Context()) }()
		synctest.Wait()
		c.mu.Lock()
		c.pending = append(c.pending, outcomeOf("unwritten"))
		c.mu.Unlock()
		c.close()
		if err := <-ended; err != nil || len(batches) > 0 {
			t.Errorf("a closed completer returned %v and wrote %d batches", err, len(batches))
		}
	})
}

func TestCompleterCountsTheOutcomesOfHandlersUntilTheyAreWrittenOrDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, batches := newTestCompleter(time.Minute, nil, queue.ErrLeaseLost)
		var count atomic.Int64
		c.count = func(change int) { count.Add(int64(change)) }
		go c.run(t.Context())
		add := func(id string, as queue.Disposition) {
			c.add(queue.Completion{Job: &queue.Job{ID: id}, Disposition: as})
		}
		add("handed back", queue.AttemptReturned)
		if n := count.Load(); n != 0 {
			t.Errorf("a job that was handed back counts %d", n)
		}
		<-batches
		add("1", queue.AttemptSucceeded)
		synctest.Wait() // the lease is lost with the batch: it was written in part at most
		if n := count.Load(); n != 0 {
			t.Errorf("%d outcomes of a lost lease are counted", n)
		}
		add("2", queue.AttemptSucceeded)
		if n := count.Load(); n != 0 {
			t.Errorf("an outcome that is dropped counts %d", n)
		}
	})
}

func TestClosedCompleterNoLongerCountsPendingOutcomes(t *testing.T) {
	t.Parallel()
	c, _ := newTestCompleter(time.Minute)
	count := 0
	c.count = func(change int) { count += change }
	for _, id := range []string{"1", "2"} {
		c.add(outcomeOf(id))
	}
	if count != 2 {
		t.Errorf("two outcomes count %d", count)
	}
	c.close()
	if c.close(); count != 0 {
		t.Errorf("%d outcomes that were dropped are counted", count)
	}
}
