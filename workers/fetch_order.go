package workers

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A fetchOrder is the scheduler's decision to fetch jobs of a queue.
type fetchOrder struct {
	queue   *servedQueue
	session *leaseSession
	limit   int
	retries queue.RetryLimits

	quarantined  int // maximum number of quarantined jobs
	quarantineAt int // quarantine.changes of the scheduler when the order was made

	reread bool // read jobs that the lease holds and the worker does not know
	slow   int  // of the queue when the order was made
	sent   time.Time

	pauseSignals int // of the queue when the order was made
}

// Over a slow connection the answer to a fetch does not come within fetchWait. After each
// such failure of a queue, up to maxSlow, orders have twice the time, and fetch a quarter
// of the bytes.
const maxSlow = 3

// timeout bounds how long the order takes.
func (o fetchOrder) timeout() time.Duration { return fetchWait << o.slow }

// tooSlow reports whether a later order would fail with the same error: this one has asked for few
// bytes, and no order has more time.
func (o fetchOrder) tooSlow(err error) bool {
	return o.slow == maxSlow && errors.Is(err, context.DeadlineExceeded)
}

// maxBytes bounds the args that the order returns, approximately.
func (o fetchOrder) maxBytes() int { return fetchBytes >> (2 * o.slow) }

// A fetchRound is a sequence of orders, until the slots are filled or the queues are
// empty.
type fetchRound struct {
	exhausted map[*servedQueue]bool
}

// Quick handlers need more jobs than there are free slots. prefetchTime bounds the work
// that is prefetched, and so by how much a job can start too early or too late, and how
// many jobs a slow pool holds: if handlers take longer no job is prefetched.
const (
	prefetchTime = 5 * time.Millisecond
	maxPrefetch  = 400
)

// prefetch returns how many jobs are fetched beyond the free slots. A pool with one slot
// prefetches none, because its jobs must run in order.
func prefetch(concurrency int, avgDuration time.Duration) int {
	if concurrency == 1 || avgDuration == 0 {
		return 0
	}
	return int(min(maxPrefetch, prefetchTime*time.Duration(concurrency)/avgDuration))
}

// A pool trusts that a queue is empty or paused for minTrust, or longer if it has many queues:
// it fetches from an idle one each trustPause.
const (
	minTrust   = 5 * time.Minute
	trustPause = 200 * time.Millisecond
)

// trustFor returns how long a pool of n queues trusts that one is empty or paused. It is spread
// evenly: queues that were first fetched from together are not again.
func trustFor(n int) time.Duration {
	trust := max(minTrust, time.Duration(n)*trustPause)
	return trust/2 + rand.N(trust)
}

// nextFetch returns the next order of a round, false if there is none.
func (s *scheduler) nextFetch(round *fetchRound, now time.Time) (fetchOrder, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspendedLocked() {
		return fetchOrder{}, false
	}
	s.endGroupWaitLocked(now)
	prefetch := prefetch(s.slots.concurrency, s.avgDuration)
	if !s.quarantine.waitEnd().IsZero() {
		prefetch = 0 // a death of the worker would quarantine prefetched jobs too
	}
	free := s.slots.free()
	if s.buffers.jobs > prefetch/2 || s.buffers.jobs >= free+prefetch {
		return fetchOrder{}, false
	}
	want := free + prefetch - s.buffers.jobs
	var ready []*servedQueue
	waiting := 0             // queues that are not known to be empty
	var empty []*servedQueue // that a strict pool fetches from again before the first ready one
	for _, q := range s.queues {
		if now.After(q.trustUntil) {
			q.empty, q.paused = false, false
		}
		switch {
		case round.exhausted[q] || !q.fetchableLocked(now) || q.roomLocked(want) <= 0:
		case !q.empty:
			ready = append(ready, q)
			waiting++
		case q.withheld:
			ready = append(ready, q)
		case s.strict && len(ready) == 0:
			empty = append(empty, q)
		}
	}
	if len(ready) > waiting {
		ready = slices.DeleteFunc(ready, func(q *servedQueue) bool { return q.empty && q.retryLimitsLocked(s, waiting).Max == 0 })
	}
	if len(ready) == 0 {
		return fetchOrder{}, false // the fetcher waits for entries
	}
	if s.strict {
		q := append(empty, ready[0])[0]
		return s.orderLocked(q, q.roomLocked(want), waiting), true
	}
	// The queue that was served least in proportion to its weight.
	q := slices.MinFunc(ready, func(a, b *servedQueue) int { return cmp.Compare(a.served, b.served) })
	s.virtualTime = max(s.virtualTime, q.served)
	weights := 0
	for _, other := range ready {
		weights += other.config.Weight
	}
	// The queue's share of the wanted jobs, at least one.
	return s.orderLocked(q, q.roomLocked(max(1, want*q.config.Weight/weights)), waiting), true
}

// orderLocked returns an order to fetch up to limit jobs of a queue, or more while fetches bring only
// jobs that have ended, which take no slots: a Redis that has lost the ends of many jobs has them
// all before the others. Jobs for which no slot becomes free are handed back. waiting is the number
// of queues that are not known to be empty.
func (s *scheduler) orderLocked(q *servedQueue, limit, waiting int) fetchOrder {
	q.setAsideLocked()
	order := q.orderLocked(q.session, max(limit, min(2*q.ended, maxPrefetch)))
	order.retries = q.retryLimitsLocked(s, waiting)
	q.fetches++
	order.retries.First = q.fetches%retryFirstEvery == 0
	order.quarantined, order.quarantineAt = min(order.limit, s.quarantine.room(q.session)), s.quarantine.changes
	return order
}

// A followUp has what the fetcher must do after an answer.
type followUp struct {
	runners int           // to start; each has a slot
	wakeIn  time.Duration // wake the fetcher then, unless it is zero
	checkIn time.Duration // call checkBuffers then, unless it is zero
	away    bool          // the server of the queue could not be reached
}

// fetched buffers the jobs of an order, except those that must run solo. ok is false if the
// lease was lost meanwhile, so that the jobs belong to other workers.
func (s *scheduler) fetched(order fetchOrder, attempts []*attempt, answer queue.FetchResult, now time.Time) (next followUp, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := order.queue
	q.fetching = false
	q.trustUntil = now.Add(trustFor(len(s.queues)))
	if order.reread {
		order.session.rereadDue = answer.More
		q.uncertain = q.uncertain && order.session != q.session
	}
	if q.slow > 0 && now.Sub(order.sent) < order.timeout()/4 {
		q.slow--
	}
	if !order.reread && q.pauseSignals == order.pauseSignals { // a reread does not return it, and a signal may be newer than the answer
		q.paused = answer.Paused
	}
	if !order.reread { // the answer to it does not say whether there are others
		empty := len(answer.Cursors) > 0 && order.quarantineAt == s.quarantine.changes
		if empty && !q.empty && slices.ContainsFunc(s.queues, func(other *servedQueue) bool { return other != q && other.withheld }) {
			s.wake.send() // this queue no longer limits the retries of others
		}
		q.empty, q.withheld = empty, empty && order.retries.Max == 0
		q.fetchedLocked(len(attempts) > 0)
		if q.ended = 0; len(attempts) == 0 {
			q.ended = len(answer.Jobs)
		}
	}
	defer s.retireLocked(q)
	if order.session != nil && !q.hasLocked(order.session) { // it is lost
		for _, a := range attempts {
			a.endClaimed.Store(true)
		}
		return followUp{}, false
	}
	// A queue that had no jobs for a while starts at the virtual time: it does not
	// get the shares that it did not use.
	q.served = max(q.served, s.virtualTime) + float64(len(attempts))/float64(q.config.Weight)
	for _, a := range attempts {
		if isQuarantined(a) {
			s.quarantine.add(order.session, a.job, now)
		}
		switch {
		case q.paused || q.removed: // while the jobs were on their way
			a.handBack()
		case s.solo.mustRunSolo(a.job):
			next.wakeIn = max(next.wakeIn, s.solo.add(a, now))
			s.wake.send()
		default:
			s.buffers.add(a)
		}
	}
	next.runners = s.takeSlotsLocked()
	if s.buffers.jobs > 0 && !s.checking {
		s.checking, s.buffers.lastTaken = true, now
		next.checkIn = maxBuffered
	}
	return next, true
}

// restFor is how long a queue is not fetched from after an error of Redis.
const restFor = 3 * time.Second

// isAway reports whether an error means that a server could not be reached in time.
func isAway(err error) bool {
	var unreachable *rdb.UnreachableError
	return errors.As(err, &unreachable) || errors.Is(err, context.DeadlineExceeded)
}

// fetchFailed records that an order has failed. If the command may have been executed,
// the lease may hold jobs that the worker does not know. If the time was over while Redis
// can be reached, the next order has more time and fetches less.
func (s *scheduler) fetchFailed(order fetchOrder, err error, now time.Time) (next followUp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := order.queue
	q.fetching = false
	if errors.Is(err, context.DeadlineExceeded) {
		if q.slow = 0; order.session.renewedSince(now.Add(-s.lease)) {
			q.slow = min(order.slow+1, maxSlow)
		}
	}
	var unknown *rdb.OutcomeUnknownError
	switch {
	case errors.Is(err, queue.ErrLeaseLost):
	case errors.As(err, &unknown), errors.Is(err, queue.ErrServerChanged):
		order.session.rereadDue, q.empty = true, false
	default:
		q.rest(now)
		next.wakeIn, next.away = restFor, q.slow == 0 && isAway(err)
	}
	s.retireLocked(q)
	return next
}

// nextReread returns an order for a queue whose jobs must be read again, even if there are
// no free slots. ok is false if there is none; resting reports whether such queues rest.
func (s *scheduler) nextReread(now time.Time) (order fetchOrder, ok, resting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		for session := range q.sessionsLocked() {
			switch {
			case !session.rereadDue && !session.mustCompare():
			case q.rests(now):
				resting = true
			default:
				session.rereadDue = true
				return q.orderLocked(session, 1), true, resting
			}
		}
	}
	return fetchOrder{}, false, resting
}
