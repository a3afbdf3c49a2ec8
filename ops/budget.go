package ops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"skidway/internal/rdb"
)

// Bounds of all searches of a client together.
const (
	maxSearches = 2                      // at the same time
	budgetShare = 20                     // searches use one part in so many of Redis's time
	maxBudget   = 200 * time.Millisecond // of that time that is saved up
	maxTurnWait = time.Second            // until a search begins

	pingEvery = time.Second
	pingsFor  = time.Minute
)

// A BusyError reports that other searches use all the time that searches may take of Redis.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string {
	return fmt.Sprintf("other searches are busy: try again in %s", e.RetryAfter.Round(100*time.Millisecond))
}

// A budget divides the time that searches may take of Redis.
type budget struct {
	now     func() time.Time
	maxWait time.Duration
	slots   chan struct{}

	mu     sync.Mutex
	left   time.Duration // below zero after a search that took more than there was
	filled time.Time
	pings  []pingTime // of the last minute
}

// A pingTime is how long a PING took.
type pingTime struct {
	at   time.Time
	took time.Duration
}

func newBudget() *budget {
	return &budget{now: time.Now, maxWait: maxTurnWait, slots: make(chan struct{}, maxSearches), left: maxBudget}
}

// enter blocks until a search may begin, at most for maxWait: then it returns a [BusyError]. The
// search must call leave at its end.
func (b *budget) enter(ctx context.Context) error {
	deadline := b.now().Add(b.maxWait)
	timer := time.NewTimer(b.maxWait)
	defer timer.Stop()
	select {
	case b.slots <- struct{}{}:
	case <-timer.C:
		return &BusyError{max(b.wait(), b.maxWait)}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	wait := b.wait()
	if wait == 0 {
		return nil
	}
	err := error(&BusyError{wait})
	if wait <= deadline.Sub(b.now()) {
		err = rdb.Sleep(ctx, wait)
	}
	if err != nil {
		b.leave()
	}
	return err
}

func (b *budget) leave() { <-b.slots }

// wait returns the time until there is some budget.
func (b *budget) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked()
	if b.left > 0 {
		return 0
	}
	return budgetShare * (time.Microsecond - b.left)
}

func (b *budget) fillLocked() {
	now := b.now()
	if !b.filled.IsZero() {
		b.left = min(maxBudget, b.left+max(0, now.Sub(b.filled))/budgetShare)
	}
	b.filled = now
}

// spend takes the time of round trips from the budget, without the time that each takes anyway.
func (b *budget) spend(took time.Duration, trips int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked()
	shortest := time.Duration(0)
	for i, ping := range b.pings {
		if i == 0 || ping.took < shortest {
			shortest = ping.took
		}
	}
	b.left -= max(0, took-time.Duration(trips)*shortest)
}

// ping measures a PING if the latest one was too long ago.
func (b *budget) ping(ctx context.Context, send func(context.Context) error) error {
	b.mu.Lock()
	now, n := b.now(), len(b.pings)
	due := n == 0 || now.Sub(b.pings[n-1].at) >= pingEvery
	b.mu.Unlock()
	if !due {
		return nil
	}
	if err := send(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pings = append(b.pings, pingTime{now, b.now().Sub(now)})
	for now.Sub(b.pings[0].at) > pingsFor {
		b.pings = b.pings[1:]
	}
	return nil
}
