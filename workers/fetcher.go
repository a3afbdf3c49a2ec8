package workers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A fetcher is a goroutine that fetches jobs for the scheduler. In this order it
//
//  1. reads jobs that its leases hold and it does not know, because an answer was lost
//     or because Redis has lost writes,
//  2. starts a job that must run solo if the scheduler returns one,
//  3. marks the leases of long-running quarantined groups,
//  4. fetches jobs by the scheduler's orders,
//  5. waits until there may be another order.
//
// The empty queues are watched, also while it fetches from others.
type fetcher struct {
	sched    *scheduler
	executor *executor
	control  *control
	heart    *heartbeat
	log      *slog.Logger
}

// fetchBytes bounds the payload of one fetch, approximately, so that its script does not
// hold Redis for long.
const fetchBytes = 256 << 10

// fetchWait bounds how long a queue that cannot be reached delays the others, for
// example if one node of a cluster is down. Then all queues of that node rest.
const fetchWait = time.Second

// run fetches until the context fetching is done. Rereads use the context running, which
// ends later, because they must not be interrupted.
func (f *fetcher) run(running, fetching context.Context) {
	for fetching.Err() == nil {
		f.rereadLost(running)
		if f.startSolo() {
			continue
		}
		f.markShared(fetching, nil)
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

// runQuiet rereads, while no more jobs are fetched, until the context waiting is done: after a restart
// of Redis outcomes wait for that. Jobs that replies which were lost had brought are handed back.
func (f *fetcher) runQuiet(running, waiting context.Context) {
	for waiting.Err() == nil {
		switch done, left := f.rereadLost(running); {
		case done:
			f.sched.handBackAll()
		case left:
			_ = rdb.Sleep(waiting, rdb.DefaultFirstPause)
		default:
			f.await(waiting)
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

// startSolo starts a job that must run solo if the scheduler returns one. again reports
// whether the fetcher must repeat its steps, because a job was taken or handed back.
func (f *fetcher) startSolo() (again bool) {
	a, again := f.sched.takeSolo(time.Now())
	if a != nil {
		f.executor.runSolo(a)
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
	opening, err := f.open(waiting, &order)
	if err != nil {
		return 0, f.fetchFailed(ctx, order, opening, err)
	}
	order.sent = time.Now()
	if order.reread {
		answer, err = order.session.reread(waiting, order.maxBytes())
	} else {
		answer, err = order.session.lease.Fetch(waiting, queue.FetchLimits{
			Jobs: order.limit, Bytes: order.maxBytes(), Retries: &order.retries, Quarantined: order.quarantined,
		})
	}
	if err != nil {
		return 0, f.fetchFailed(ctx, order, opening, err)
	}
	attempts := order.session.hold(answer.Jobs)
	switch {
	case !opening:
	case order.session.lease.IsOpen():
		f.install(order.session, false)
	default:
		f.heart.closed(order.session.lease)
		order.session = nil
	}
	if answer.Malformed > 0 {
		f.log.Warn("malformed jobs are dead now", "queue", order.queue.name, "jobs", answer.Malformed)
	}
	if slices.ContainsFunc(attempts, isQuarantined) {
		f.markShared(ctx, order.session)
	}
	next, ok := f.sched.fetched(order, attempts, answer, time.Now())
	f.apply(next)
	if len(answer.Cursors) > 0 {
		f.control.watch(order.queue, "lines", func() { f.heard(order.queue) }, answer.Cursors...)
	}
	switch {
	case !ok:
		return 0, nil
	case order.reread:
		return order.limit, nil // there may be more: a reread returns only held jobs
	}
	// Jobs that ended again are not among the attempts, but more may wait behind them.
	return len(answer.Jobs) + answer.Malformed, nil
}

// heard lets a queue be fetched from that may have jobs again.
func (f *fetcher) heard(q *servedQueue) {
	var pause time.Duration
	f.sched.update(func() {
		if pause = q.pauseLocked(); pause == 0 {
			q.newsLocked()
		}
	})
	if pause > 0 {
		time.AfterFunc(pause, func() { f.sched.update(q.newsLocked) })
	}
}

// open adds a new session to an order of a queue that has none. The fetch opens its lease if
// there are jobs. Signals are heard from then on.
func (f *fetcher) open(ctx context.Context, order *fetchOrder) (opening bool, err error) {
	if order.session != nil {
		return false, nil
	}
	order.session, err = f.control.newSession(order.queue)
	if err == nil && !order.queue.heard.Load() {
		err = f.control.readSignals(ctx, order.queue)
	}
	return true, err
}

// install sets the session of a queue, whose lease is open, or may be if uncertain is true.
func (f *fetcher) install(session *leaseSession, uncertain bool) {
	if !uncertain {
		session.setRenewed()
	}
	f.sched.install(session, uncertain)
	f.control.keep(session)
}

// fetchFailed handles the error of a fetch. It returns nil if the lease is lost.
func (f *fetcher) fetchFailed(ctx context.Context, order fetchOrder, opening bool, err error) error {
	var unknown *rdb.OutcomeUnknownError
	switch {
	case !opening:
	case errors.As(err, &unknown):
		f.install(order.session, true)
	case order.session != nil:
		f.heart.closed(order.session.lease)
	}
	switch {
	case errors.Is(err, queue.ErrLeaseLost):
		order.session.lost()
	case ctx.Err() != nil:
	case order.tooSlow(err):
		f.log.Error("the connection is too slow for the args of the next job: the queue stands still", "queue", order.queue.name, "limit", order.timeout(), "error", err)
	default:
		f.log.Warn("fetching jobs failed", "queue", order.queue.name, "error", err)
	}
	next := f.sched.fetchFailed(order, err, time.Now())
	f.apply(next)
	if next.away && ctx.Err() == nil {
		f.control.restServer(ctx, order.queue)
	}
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

// maxIdle bounds how long an idle fetcher waits: then it fetches from the queues that were
// not fetched from for long.
const maxIdle = 15 * time.Second

// await blocks until the scheduler wakes the fetcher, or there may be an order without that.
func (f *fetcher) await(ctx context.Context) {
	timer := time.NewTimer(f.sched.maxWait(time.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-f.sched.wake:
	case <-timer.C:
	}
}
