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

// A fetcher is a goroutine that fetches jobs for the scheduler. In this order it
//
//  1. reads jobs that its leases hold and it does not know, because an answer was lost
//     or because Redis has lost writes,
//  2. starts a quarantined job if the scheduler returns one,
//  3. fetches jobs by the scheduler's orders,
//  4. blocks in Redis until a queue has new jobs, if all queues are empty.
type fetcher struct {
	sched    *scheduler
	executor *executor
	log      *slog.Logger
	reader   streamReader
}

// fetchBytes bounds the payload of one fetch, approximately, so that its script does not
// hold Redis for long.
const fetchBytes = 256 << 10

// fetchWait bounds how long a queue that cannot be reached delays the others, for
// example if one node of a cluster is down. Then the queue rests.
const fetchWait = time.Second

// run fetches until the context fetching is done, and waits for its reads. Rereads use
// the context running, which ends later, because they must not be interrupted.
func (f *fetcher) run(running, fetching context.Context) {
	defer f.reader.wait()
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

// rereadLost reads jobs that the lease of one queue holds and the worker does not know:
// of one queue, so that others are served in between. done reports whether it has read
// some; then there may be others, or more jobs. left reports whether some must still be
// read.
func (f *fetcher) rereadLost(ctx context.Context) (done, left bool) {
	order, ok, resting := f.sched.nextReread(time.Now())
	if !ok {
		return false, resting
	}
	_, err := f.fetch(ctx, order) // it has logged the error, after which the queue rests
	f.sched.wake.send()
	return err == nil, true
}

// startQuarantined starts a quarantined job if the scheduler returns one. again reports
// whether the fetcher must repeat its steps, because a job was taken or handed back.
func (f *fetcher) startQuarantined() (again bool) {
	a, again := f.sched.takeQuarantined(time.Now())
	if a != nil {
		f.executor.runQuarantined(a)
	}
	return again
}

// refill fetches jobs for the free slots and returns their number. It has logged the
// error, which is one of Redis.
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
			break // the queues before it come first again
		}
	}
	return total, failed
}

// fetch executes an order and returns the number of jobs.
func (f *fetcher) fetch(ctx context.Context, order fetchOrder) (int, error) {
	waiting, cancel := context.WithTimeout(ctx, order.timeout())
	defer cancel()
	var answer queue.FetchResult
	var err error
	order.sent = time.Now()
	if order.reread {
		answer, err = order.session.reread(waiting, order.maxBytes())
	} else {
		answer, err = order.session.lease.Fetch(waiting, order.limit, order.maxBytes())
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
		return order.limit, nil // there may be more: a reread returns only held jobs
	}
	return len(attempts) + answer.Malformed, nil
}

// fetchFailed handles the error of a fetch. It returns nil if the lease is lost.
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

// apply starts the runners and timers of a followUp.
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
	if next := f.sched.checkBuffers(time.Now()); next > 0 {
		time.AfterFunc(next, f.checkBuffers)
	}
}

// await blocks until the scheduler wakes the fetcher, or a queue has new entries.
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
	case keys := <-f.reader.read(ctx, cursors):
		f.reader.ended(keys)
		f.sched.news(keys, time.Now())
	}
}

// A streamReader blocks in Redis until some streams have new entries, one read at a
// time. A blocked read cannot be interrupted, and keeps its connection until its time
// is over. So a read goes on while the cursors are the same, and reads are short while
// there are new entries: only an idle pool blocks for up to [maxIdle]. A streamReader is
// used by one goroutine.
type streamReader struct {
	client  *queue.Client
	log     *slog.Logger
	cursors []queue.StreamCursor
	keys    chan []string // of the running read; nil if there is none
	block   time.Duration // of the next read
	reads   sync.WaitGroup
}

// minBlock is the first time that a read blocks. Each further one is four times longer.
const minBlock = 250 * time.Millisecond

// maxIdle bounds how long an idle pool blocks.
const maxIdle = 15 * time.Second

// read returns a channel that receives the keys of streams with new entries, or none
// when the time is over. After receiving them the caller must call ended.
func (r *streamReader) read(ctx context.Context, cursors []queue.StreamCursor) <-chan []string {
	if r.keys != nil && slices.Equal(r.cursors, cursors) {
		return r.keys
	}
	if r.keys != nil || r.block == 0 {
		r.block = minBlock // of the cursors that have changed
	}
	keys, block := make(chan []string, 1), r.block
	r.reads.Go(func() {
		found, err := r.client.AwaitStreams(ctx, block, cursors...)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("waiting for new entries failed", "error", err)
			_ = rdb.Sleep(ctx, rdb.DefaultMaxPause)
		}
		keys <- found
	})
	r.cursors, r.keys = cursors, keys
	return keys
}

// ended records that the keys of a read were received.
func (r *streamReader) ended(keys []string) {
	r.keys = nil
	r.block = min(4*r.block, maxIdle)
	if len(keys) > 0 {
		r.block = minBlock
	}
}

// wait blocks until all reads have ended, after the end of their context.
func (r *streamReader) wait() { r.reads.Wait() }
