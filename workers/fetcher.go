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

// A fetcher is one goroutine that brings jobs from Redis to the scheduler. Its
// duties, in this order:
//
//  1. Read again what a lease holds whose answer was lost.
//  2. Start a quarantined job, when the scheduler says that its time has come.
//  3. Fetch jobs from the queues that the scheduler names.
//  4. When all queues are empty, block in Redis until one has something new.
type fetcher struct {
	sched    *scheduler
	executor *executor
	log      *slog.Logger
	news     streamReader
}

// fetchBytes is how many bytes of payload one fetch may bring, about.
const fetchBytes = 8 << 20

// fetchWait is how long a queue that can't be reached, as where one node of a
// Cluster is away, keeps the others waiting. Then it rests.
const fetchWait = time.Second

// run fetches until fetching is done, and waits for its reads. What must not be
// cut short goes on until running is done.
func (f *fetcher) run(running, fetching context.Context) {
	defer f.news.wait()
	for fetching.Err() == nil {
		f.rereadLost(running)
		if f.startQuarantined() {
			continue
		}
		count, err := f.refill(fetching)
		switch {
		case count > 0:
		case err != nil:
			_ = rdb.Sleep(fetching, rdb.DefaultFirstPause)
		default:
			f.await(fetching)
		}
	}
}

// rereadLost reads again what leases hold whose answers were lost, and reports
// whether some could not be read.
func (f *fetcher) rereadLost(ctx context.Context) (left bool) {
	orders, resting := f.sched.lostAnswers(time.Now())
	left = resting > 0
	for _, order := range orders {
		_, err := f.fetch(ctx, order) // an error was logged
		left = left || err != nil
	}
	return left
}

// startQuarantined starts a quarantined job if its time has come, and reports
// whether there is something new.
func (f *fetcher) startQuarantined() bool {
	a, changed := f.sched.takeQuarantined(time.Now())
	if a != nil {
		f.executor.runSolo(a)
	}
	return changed
}

// refill fetches jobs for what is free and returns how many came. An error is one
// of Redis; it was logged.
func (f *fetcher) refill(ctx context.Context) (total int, failed error) {
	round := fetchRound{exhausted: map[*servedQueue]bool{}}
	for ctx.Err() == nil {
		order, ok := f.sched.nextFetch(&round, time.Now())
		if !ok {
			break
		}
		count, err := f.fetch(ctx, order)
		if err != nil {
			failed = err
		}
		if total += count; count < order.limit {
			round.exhausted[order.queue] = true
		}
		if count > 0 && f.sched.strict {
			break // the queues before it are looked at again first
		}
	}
	return total, failed
}

// fetch executes an order and returns how many jobs came.
func (f *fetcher) fetch(ctx context.Context, order fetchOrder) (int, error) {
	waiting, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	var answer queue.FetchResult
	var err error
	if order.reread {
		answer, err = order.session.reread(waiting)
	} else {
		answer, err = order.session.lease.Fetch(waiting, order.limit, fetchBytes)
	}
	if err != nil {
		return 0, f.fetchFailed(ctx, order, err)
	}
	attempts := order.session.hold(answer.Jobs)
	if answer.Malformed > 0 {
		f.log.Warn("malformed jobs are dead now", "queue", order.queue.name, "jobs", answer.Malformed)
	}
	next, ok := f.sched.fetched(order, attempts, answer, time.Now())
	f.apply(next)
	switch {
	case !ok:
		return 0, nil
	case order.reread:
		return order.limit, nil // there may be more: that was only what it held
	}
	return len(attempts) + answer.Malformed, nil
}

// fetchFailed returns the error of a fetch, nil if its lease is lost.
func (f *fetcher) fetchFailed(ctx context.Context, order fetchOrder, err error) error {
	if errors.Is(err, queue.ErrLeaseLost) {
		order.session.lost()
	} else if ctx.Err() == nil {
		f.log.Warn("fetching jobs failed", "queue", order.queue.name, "error", err)
	}
	f.apply(f.sched.fetchFailed(order, err, time.Now()))
	if errors.Is(err, queue.ErrLeaseLost) {
		return nil
	}
	return err
}

// apply does what the scheduler wants done.
func (f *fetcher) apply(next followUp) {
	f.executor.startRunners(next.runners)
	if next.wakeIn > 0 {
		time.AfterFunc(next.wakeIn, f.sched.wake.send)
	}
	if next.checkIn > 0 {
		time.AfterFunc(next.checkIn, f.checkBuffers)
	}
}

func (f *fetcher) checkBuffers() {
	if again := f.sched.checkBuffers(time.Now()); again > 0 {
		time.AfterFunc(again, f.checkBuffers)
	}
}

// await blocks until there is something to do for the fetcher, which has fetched
// what it could.
func (f *fetcher) await(ctx context.Context) {
	cursors := f.sched.emptyCursors(time.Now())
	if len(cursors) == 0 {
		timer := time.NewTimer(maxIdle)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-f.sched.wake:
		case <-timer.C:
			f.sched.news(nil, time.Now())
		}
		return
	}
	select {
	case <-f.sched.wake:
	case keys := <-f.news.read(ctx, cursors):
		f.news.ended(keys)
		f.sched.news(keys, time.Now())
	}
}

// A streamReader blocks in Redis until some streams have new entries, one read at
// a time. A read that blocks can't be called back and keeps its connection until
// its time is over. So a read goes on as long as the cursors are the same, and
// reads are short while things happen: only an idle pool blocks for up to
// [maxIdle]. A streamReader belongs to one goroutine.
type streamReader struct {
	db      *rdb.DB
	log     *slog.Logger
	cursors []rdb.Mark
	keys    chan []string // of the read that is under way; nil: none is
	block   time.Duration // of the next read
	reads   sync.WaitGroup
}

// minBlock is the first of the waits, each of which is four times the one before.
const minBlock = 250 * time.Millisecond

// maxIdle is the longest that an idle pool blocks before it looks by itself.
const maxIdle = 15 * time.Second

// read returns a channel on which the keys of streams with new entries come, none
// when the time is over. After receiving them the caller calls ended.
func (r *streamReader) read(ctx context.Context, cursors []rdb.Mark) <-chan []string {
	if r.keys != nil && slices.Equal(r.cursors, cursors) {
		return r.keys
	}
	if r.keys != nil || r.block == 0 {
		r.block = minBlock // one was left to its end
	}
	keys, block := make(chan []string, 1), r.block
	r.reads.Go(func() {
		found, err := r.db.WaitKeys(ctx, block, cursors...)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("waiting for news failed", "error", err)
			_ = rdb.Sleep(ctx, rdb.DefaultMaxPause)
		}
		keys <- found
	})
	r.cursors, r.keys = cursors, keys
	return keys
}

// ended notes that the keys of a read were received.
func (r *streamReader) ended(keys []string) {
	r.keys = nil
	r.block = min(4*r.block, maxIdle)
	if len(keys) > 0 {
		r.block = minBlock
	}
}

// wait blocks until all reads have ended, which they do when their context has.
func (r *streamReader) wait() { r.reads.Wait() }
