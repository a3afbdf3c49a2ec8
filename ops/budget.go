package ops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// Bounds of all searches of a client together, and of an operation.
const (
	maxSearches    = 2                      // at the same time
	searchShare    = 20                     // searches use one part in so many of Redis's time
	operationShare = 2                      // an operation without a rate likewise
	maxBudget      = 200 * time.Millisecond // of that time that is saved, or may be overdrawn
	maxTurnWait    = time.Second            // until a search begins

	pingEvery = time.Second
	pingsFor  = time.Minute
)

// A BusyError reports that other searches use all the time that searches may take of Redis.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string {
	return fmt.Sprintf("other searches are busy: try again in %s", e.RetryAfter.Round(100*time.Millisecond))
}

// RetryWhileBusy calls a search until its error is no [BusyError]. It waits between the calls, and returns
// that error if ctx ends meanwhile.
func RetryWhileBusy(ctx context.Context, search func() error) error {
	for {
		err := search()
		var busy *BusyError
		if !errors.As(err, &busy) {
			return err
		}
		if rdb.Sleep(ctx, busy.RetryAfter) != nil {
			return err
		}
	}
}

// A budget bounds the part of Redis's time that its user takes: searches, operations or a sampler.
type budget struct {
	share   int // one part in so many of Redis's time
	now     func() time.Time
	maxWait time.Duration
	slots   chan struct{}

	mu     sync.Mutex
	left   time.Duration // below zero after a read that took more than there was
	filled time.Time
	pings  []pingTime // of the last minute
}

// A pingTime is how long a PING took.
type pingTime struct {
	at   time.Time
	took time.Duration
}

func newBudget(share int) *budget {
	return &budget{share: share, now: time.Now, maxWait: maxTurnWait, slots: make(chan struct{}, maxSearches), left: maxBudget}
}

// enter blocks until a search may begin. It returns a [BusyError] if that takes longer than maxWait, at
// once if that is known before. Without an error the search must call leave at its end.
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
	return time.Duration(b.share) * (time.Microsecond - b.left)
}

func (b *budget) fillLocked() {
	now := b.now()
	if !b.filled.IsZero() {
		b.left = min(maxBudget, b.left+max(0, now.Sub(b.filled))/time.Duration(b.share))
	}
	b.filled = now
}

// spend takes the time of round trips from the budget, without the time that each takes anyway,
// and returns what it took. The budget is overdrawn by at most maxBudget: a read that took longer
// waited for a Redis that was away.
func (b *budget) spend(took time.Duration, trips int) (spent time.Duration) {
	path := b.path()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked()
	before := b.left
	b.left = max(-maxBudget, b.left-max(0, took-time.Duration(trips)*path))
	return before - b.left
}

// refund returns what was spent too much.
func (b *budget) refund(spent time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked()
	b.left = min(maxBudget, b.left+spent)
}

// A bill is what a user of a budget has spent.
type bill struct {
	used  time.Duration // the processor time of Redis when it was settled last; zero: not known
	spent time.Duration // since then, by the time of round trips; no more than a budget can lack
}

func (b *bill) add(spent time.Duration) { b.spent = min(2*maxBudget, b.spent+spent) }

// settle returns to the budget what was spent too much: round trips take longer where the machine is busy, but
// the user had no more of the Redis with a key than all its clients together, whose processor time INFO shows.
// Where that is hidden, the time of the round trips counts.
func (b *bill) settle(ctx context.Context, to *budget, db *rdb.DB, key string) {
	used, err := db.ProcessorTime(ctx, key)
	if err == nil && b.used > 0 && used >= b.used {
		to.refund(max(0, b.spent-(used-b.used)))
	}
	b.used, b.spent = used, 0
}

// path returns the time that a round trip takes anyway: the shortest PING of the last minute.
func (b *budget) path() (shortest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, ping := range b.pings {
		if i == 0 || ping.took < shortest {
			shortest = ping.took
		}
	}
	return shortest
}

// trips returns the times of the shortest and the longest PING of the last minute.
func (b *budget) trips() (shortest, longest time.Duration) {
	shortest = b.path()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ping := range b.pings {
		longest = max(longest, ping.took)
	}
	return shortest, longest
}

// call calls a function that makes one round trip, and takes its time from the budget.
func (b *budget) call(f func() error) error {
	began := time.Now()
	err := f()
	b.spend(time.Since(began), 1)
	return err
}

// measurePath measures a PING of db if the latest one was at least pingEvery ago.
func (b *budget) measurePath(ctx context.Context, db *skidway.DB) error {
	conn := handle.Conn(db)
	return conn.Retry(ctx, func() error {
		return b.ping(ctx, func(ctx context.Context) error { return conn.Ping(ctx).Err() })
	})
}

// ping is measurePath with a function that sends a PING.
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
