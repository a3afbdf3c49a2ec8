package workers

import (
	"cmp"
	"errors"
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
	reread  bool // an answer was lost: what the lease holds is read again

	pauseSignals int // of the queue when the order was made
}

// A fetchRound fetches until the slots are filled or the queues have no more.
type fetchRound struct {
	exhausted map[*servedQueue]bool
	probed    bool // a queue that was empty has been looked at
}

// Jobs are fetched beyond the free slots where handlers are quick. prefetchTime is
// how much work that may be. It bounds by how much a job can be started too early
// or too late, and what a slow pool hoards: where handlers take longer nothing is
// prefetched.
const (
	prefetchTime = 5 * time.Millisecond
	maxPrefetch  = 400
)

// prefetchLocked returns how many jobs are fetched beyond the free slots. A pool
// with one slot fetches none: its user wants order.
func (s *scheduler) prefetchLocked() int {
	if s.concurrency == 1 || s.avgDuration == 0 {
		return 0
	}
	return int(min(maxPrefetch, prefetchTime*time.Duration(s.concurrency)/s.avgDuration))
}

// probeEvery is how often a queue that was empty is looked at while others have
// jobs. A strict pool looks at it before every fetch from a later queue.
const probeEvery = 20 * time.Millisecond

// nextFetch returns what to fetch next in a round; false: nothing.
func (s *scheduler) nextFetch(round *fetchRound, now time.Time) (fetchOrder, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefetch := s.prefetchLocked()
	free := s.capacityLocked() - s.slots.count
	if s.blockedLocked() || s.buffered > prefetch/2 || s.buffered >= free+prefetch {
		return fetchOrder{}, false
	}
	want := free + prefetch - s.buffered
	var ready, empty []*servedQueue // empty when they were last looked at
	for _, q := range s.queues {
		if q.opening && !q.removed {
			return fetchOrder{}, false // so that no queue is ahead of its turn at the start
		}
		switch {
		case round.exhausted[q] || !q.fetchable(now) || q.room(want) <= 0:
		case !q.empty:
			ready = append(ready, q)
		case len(ready) == 0 || !s.strict:
			empty = append(empty, q)
		}
	}
	if len(ready) == 0 {
		return fetchOrder{}, false // the fetcher waits for news
	}
	if s.strict {
		q := append(empty, ready[0])[0]
		return q.order(q.room(want)), true
	}
	q := leastServed(ready)
	s.virtualTime = max(s.virtualTime, q.served)
	if len(empty) > 0 && !round.probed {
		stalest := slices.MinFunc(empty, func(a, b *servedQueue) int { return a.checked.Compare(b.checked) })
		if now.Sub(stalest.checked) >= probeEvery {
			q, round.probed = stalest, true
			ready = append(ready, q)
		}
	}
	weights := 0
	for _, other := range ready {
		weights += other.config.Weight
	}
	// Its share of what is wanted, at least one.
	return q.order(q.room(max(1, want*q.config.Weight/weights))), true
}

// order notes that jobs of the queue are on their way. The scheduler's mutex is
// held.
func (q *servedQueue) order(limit int) fetchOrder {
	q.fetching = true
	return fetchOrder{q, q.session, limit, q.answerLost, q.pauseSignals}
}

// fetchable reports whether jobs can be fetched. The scheduler's mutex is held.
func (q *servedQueue) fetchable(now time.Time) bool {
	return q.session != nil && !q.paused && !q.removed && !now.Before(q.restUntil)
}

// room returns how many of n jobs the queue's own limit lets in. The scheduler's
// mutex is held.
func (q *servedQueue) room(n int) int {
	if q.config.Concurrency > 0 {
		n = min(n, q.config.Concurrency-q.running-len(q.buffer))
	}
	return n
}

// leastServed returns the queue that has had the fewest jobs for its weight.
func leastServed(queues []*servedQueue) *servedQueue {
	return slices.MinFunc(queues, func(a, b *servedQueue) int { return cmp.Compare(a.served, b.served) })
}

// A followUp is what the fetcher has to do after an answer.
type followUp struct {
	runners int           // to start; each has a slot
	wakeIn  time.Duration // look again after that; zero: no need
	checkIn time.Duration // call checkBuffers after that; zero: no need
}

// fetched takes in what an order has brought. false: the lease was lost
// meanwhile, and its jobs are other workers'.
func (s *scheduler) fetched(order fetchOrder, attempts []*attempt, answer queue.FetchResult, now time.Time) (next followUp, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := order.queue
	q.fetching, q.answerLost = false, false
	q.checked = now
	if !order.reread && q.pauseSignals == order.pauseSignals { // a reread knows no pause, a signal may be newer than the answer
		q.paused = answer.Paused
	}
	q.empty, q.cursors = len(answer.Cursors) > 0, answer.Cursors
	defer s.retireLocked(q)
	if q.session != order.session { // drop did not see these
		for _, a := range attempts {
			a.settled.Store(true)
		}
		return followUp{}, false
	}
	// A queue that had no jobs for a while starts where the others are: it has no
	// claim to what it could have had.
	q.served = max(q.served, s.virtualTime) + float64(len(attempts))/float64(q.config.Weight)
	for _, a := range attempts {
		switch {
		case q.paused || q.removed: // while they were on their way
			a.handBack()
		case a.job.SharedCrashes > 0:
			if len(s.quarantined) == 0 {
				s.quarantinedSince, next.wakeIn = now, s.soloWait
			}
			s.quarantined = append(s.quarantined, a)
			s.wake.send()
		default:
			q.buffer = append(q.buffer, a)
			s.buffered++
		}
	}
	next.runners = s.takeSlotsLocked()
	if s.buffered > 0 && !s.checking {
		s.checking, s.lastTaken = true, now
		next.checkIn = maxBuffered
	}
	return next, true
}

// restFor is how long a queue is not fetched from that could not be reached.
const restFor = 3 * time.Second

// fetchFailed notes that an order has failed. The lease may hold jobs that the
// worker doesn't know, if it is not known whether the command was executed.
func (s *scheduler) fetchFailed(order fetchOrder, err error, now time.Time) (next followUp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := order.queue
	q.fetching = false
	var unknown *rdb.OutcomeUnknownError
	switch {
	case errors.Is(err, queue.ErrLeaseLost):
	case errors.As(err, &unknown):
		q.answerLost, q.empty = true, false
	default:
		q.restUntil = now.Add(restFor)
		next.wakeIn = restFor
	}
	s.retireLocked(q)
	return next
}

// lostAnswers returns an order for each queue whose jobs must be read again,
// whether there are slots for them or not, and how many such queues rest.
func (s *scheduler) lostAnswers(now time.Time) (orders []fetchOrder, resting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		switch {
		case !q.answerLost || q.session == nil:
		case now.Before(q.restUntil):
			resting++
		default:
			orders = append(orders, q.order(1))
		}
	}
	return orders, resting
}

// emptyCursors returns where jobs may come that the fetcher waits for; none while
// no job could start.
func (s *scheduler) emptyCursors(now time.Time) (cursors []rdb.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots.count >= s.capacityLocked() || s.blockedLocked() {
		return nil
	}
	for _, q := range s.queues {
		if q.empty && q.fetchable(now) && q.room(1) > 0 {
			cursors = append(cursors, q.cursors...)
		}
	}
	return cursors
}

// trustFor is how long an idle pool trusts that a queue is empty or paused. Then
// it looks by itself.
const trustFor = 5 * time.Minute

// news notes which streams have new entries.
func (s *scheduler) news(keys []string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		if now.Sub(q.checked) > trustFor {
			q.empty, q.paused = false, false
		}
		for _, cursor := range q.cursors {
			if slices.Contains(keys, cursor.Key) {
				q.empty = false
			}
		}
	}
}
