package workers

import (
	"cmp"
	"context"
	"iter"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/queue"
	"skidway/workers/stats"
)

// A servedQueue is a queue that a pool serves.
type servedQueue struct {
	name    string
	queue   *queue.PoolQueue
	ctx     context.Context    // ends when the queue is no longer served
	stop    context.CancelFunc // ends ctx
	counter *stats.Counter     // nil: nothing is counted

	signalMu sync.Mutex         // held while signals are read and handled
	signals  queue.StreamCursor // its ID is empty before the first read
	heard    atomic.Bool        // signals has an ID: later ones will be handled

	recovering atomic.Bool // a recovery runs
	spared     atomic.Bool // recoverSpared runs

	restUntil atomic.Int64 // it rests before this time, in ns since 1970; see rest

	// The rest is guarded by the scheduler's mutex.

	config    Queue
	place     int             // of config in the list of configurations
	removed   bool            // no more jobs are fetched; running ones go on
	session   *leaseSession   // of the next fetch; nil while there is none
	older     []*leaseSession // with a long-running quarantined group; the next fetch uses another
	uncertain bool            // the outcome of the fetch that may have opened the lease of session is unknown
	losing    []*leaseSession // lost, and their jobs are being interrupted: no other lease is opened

	buffer  []*attempt // not started, in order
	running int
	retries int     // those among the running jobs
	served  float64 // jobs fetched, divided by the weight

	fetching     bool      // an order is being executed
	slow         int       // see maxSlow
	empty        bool      // it had no jobs; its lines are watched
	withheld     bool      // empty, but for retries: the latest fetch was to take none
	news         bool      // the next fetch follows news
	ended        int       // jobs of the latest fetch, if all of them had ended before
	missRate     float64   // moving average: the share of the fetches after news that brought no jobs
	fetches      int       // so far
	trustUntil   time.Time // empty and paused are not trusted later
	paused       bool
	pauseSignals int // number of signals that paused or resumed it
}

// rest makes the queue rest from a time on: for restFor jobs are not fetched and signals not read.
func (q *servedQueue) rest(now time.Time) { q.restUntil.Store(now.Add(restFor).UnixNano()) }

// rests reports whether the queue rests.
func (q *servedQueue) rests(now time.Time) bool { return now.UnixNano() < q.restUntil.Load() }

// startedLocked records that a job of the queue starts.
func (q *servedQueue) startedLocked(a *attempt) {
	q.running++
	if a.retry {
		q.retries++
	}
}

// mayStartLocked reports whether the queue's own limit allows another running job.
func (q *servedQueue) mayStartLocked() bool {
	return q.config.Concurrency == 0 || q.running < q.config.Concurrency
}

// loadLocked returns the number of running jobs, with the next one, divided by the weight.
func (q *servedQueue) loadLocked() float64 {
	return float64(q.running+1) / float64(q.config.Weight)
}

// orderLocked returns an order for a session, nil for a new one, and records that a fetch of the queue
// is in flight.
func (q *servedQueue) orderLocked(session *leaseSession, limit int) fetchOrder {
	q.fetching = true
	return fetchOrder{
		queue: q, session: session, limit: limit, reread: session != nil && session.rereadDue, slow: q.slow, pauseSignals: q.pauseSignals,
	}
}

// sessionsLocked returns the queue's sessions.
func (q *servedQueue) sessionsLocked() iter.Seq[*leaseSession] {
	return func(yield func(*leaseSession) bool) {
		for _, session := range q.older {
			if !yield(session) {
				return
			}
		}
		if q.session != nil {
			yield(q.session)
		}
	}
}

// hasLocked reports whether a session is one of the queue's.
func (q *servedQueue) hasLocked(session *leaseSession) bool {
	return q.session == session || slices.Contains(q.older, session)
}

// setAsideLocked lets the next fetch use a new session if the latest one has or had a long-running
// quarantined group. No fetch may be in flight.
func (q *servedQueue) setAsideLocked() {
	if q.session != nil && q.session.longRunning && !q.session.rereadDue {
		q.older, q.session = append(q.older, q.session), nil
	}
}

// detachLocked removes a session from the queue, and reports whether it was one of the queue's.
func (q *servedQueue) detachLocked(session *leaseSession) bool {
	if q.session == session {
		q.session, q.uncertain = nil, false
		return true
	}
	before := len(q.older)
	q.older = slices.DeleteFunc(q.older, func(other *leaseSession) bool { return other == session })
	return len(q.older) < before
}

// fetchableLocked reports whether jobs can be fetched.
func (q *servedQueue) fetchableLocked(now time.Time) bool {
	return !q.uncertain && len(q.losing) == 0 && !q.paused && !q.removed && !q.rests(now)
}

// roomLocked returns how many of n jobs the queue's own limit allows.
func (q *servedQueue) roomLocked(n int) int {
	if q.config.Concurrency > 0 {
		n = min(n, q.config.Concurrency-q.running-len(q.buffer))
	}
	return n
}

// newsLocked records that the queue may have jobs.
func (q *servedQueue) newsLocked() { q.empty, q.news = false, true }

// All idle pools hear of a new job at the same time. If all of them fetched, the one that gets the
// job would wait for the scripts of all others. So about eager of them fetch at once, chosen at
// random, and the others newsPause later. A pool does not know how many pools there are: it
// estimates that from how often another pool was first.
const (
	eager     = 3
	newsPause = time.Millisecond

	newsWeight = 1.0 / 16 // of one fetch in the average
)

// pauseLocked returns how long to wait before a fetch after news.
func (q *servedQueue) pauseLocked() time.Duration {
	if rand.Float64() < eager*(1-q.missRate) {
		return 0
	}
	return newsPause
}

// fetchedLocked records whether a fetch has brought jobs.
func (q *servedQueue) fetchedLocked(jobs bool) {
	if !q.news {
		return
	}
	q.news = false
	q.missRate -= newsWeight * q.missRate
	if !jobs {
		q.missRate += newsWeight
	}
}

// droppedLocked lets the queue have another session after scheduler.drop, when the handlers of
// the lost one are interrupted.
func (q *servedQueue) droppedLocked(session *leaseSession) {
	if i := slices.Index(q.losing, session); i >= 0 {
		q.losing = slices.Delete(q.losing, i, i+1)
		q.empty, q.paused, q.slow = false, false, 0
	}
}

// placeOf returns the place of a queue's configuration: that of its name, else of the
// first pattern that matches, else -1.
func placeOf(configs []Queue, name string) int {
	for place, config := range slices.Backward(configs) {
		if config.Name == name {
			return place
		}
	}
	return slices.IndexFunc(configs, func(config Queue) bool {
		matches, _ := path.Match(config.Name, name) // patterns were validated
		return matches
	})
}

// configure replaces the configurations. It returns the queues that are no longer
// served, and those that had been removed and are served again.
func (s *scheduler) configure(configs []Queue) (unserved, restored []*servedQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range slices.Clone(s.queues) {
		q.place = placeOf(configs, q.name)
		switch {
		case q.place < 0:
			q.removed = true
			s.buffers.handBack(q)
			s.solo.handBack(q)
			s.retireLocked(q)
			unserved = append(unserved, q)
			continue
		case q.removed:
			q.removed, q.empty = false, false
			restored = append(restored, q)
		}
		q.config = configs[q.place]
	}
	sortQueues(s.queues)
	s.wake.send()
	return unserved, restored
}

func (s *scheduler) add(queues []*servedQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queues...)
	sortQueues(s.queues)
	s.wake.send()
}

// leave removes a queue, unless jobs of it are held or a fetch is in flight.
func (s *scheduler) leave(q *servedQueue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.session != nil || len(q.older) > 0 || q.fetching {
		return false
	}
	q.removed = true
	s.retireLocked(q)
	return true
}

// retireLocked stops a removed queue if none of its jobs runs, no fetch is in flight, and all outcomes
// are written: while it is among the queues, its jobs are compared with a Redis that has changed,
// before which none is written.
func (s *scheduler) retireLocked(q *servedQueue) {
	unwritten := false
	for session := range q.sessionsLocked() {
		unwritten = unwritten || session.holdsJobs()
	}
	if q.removed && q.running == 0 && !q.fetching && !unwritten && slices.Contains(s.queues, q) {
		s.queues = slices.DeleteFunc(s.queues, func(other *servedQueue) bool { return other == q })
		s.wake.send()
		q.stop()
	}
}

// sortQueues sorts queues by their configuration, those of one pattern by name.
func sortQueues(queues []*servedQueue) {
	slices.SortStableFunc(queues, func(a, b *servedQueue) int {
		return cmp.Or(a.place-b.place, strings.Compare(a.name, b.name))
	})
}

// all returns all queues, including removed ones that are not stopped yet.
func (s *scheduler) all() []*servedQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queues)
}

// sessions returns the lease sessions of all queues.
func (s *scheduler) sessions() (sessions []*leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		sessions = slices.AppendSeq(sessions, q.sessionsLocked())
	}
	return sessions
}

// install sets a queue's lease session after the fetch that opened the lease, or may have
// opened it if uncertain is true.
func (s *scheduler) install(session *leaseSession, uncertain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := session.queue
	q.session, q.uncertain = session, uncertain
}

// detachIdle removes a session from its queue, and reports whether it has: the session has held
// no job since the previous call and no fetch is in flight, so that its lease can be closed.
func (s *scheduler) detachIdle(session *leaseSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := session.queue
	if !q.hasLocked(session) || q.fetching || session.rereadDue || session.mustCompare() || !session.idle() {
		return false
	}
	return q.detachLocked(session)
}

// drop removes a lost session, and its jobs that were not started. If buffered jobs of other
// queues waited for a solo job, they start when a running job ends or with the answer of the
// next fetch. If neither happens in time, checkBuffers hands them back.
func (s *scheduler) drop(session *leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := session.queue
	if q.detachLocked(session) {
		q.losing = append(q.losing, session)
	}
	dropped := func(a *attempt) bool {
		if a.session == session {
			a.endClaimed.Store(true)
		}
		return a.session == session
	}
	s.buffers.remove(q, dropped)
	s.solo.waiting = slices.DeleteFunc(s.solo.waiting, dropped)
	if s.quarantine.written(session, s.quarantine.held[session].jobs) {
		s.quarantineChangedLocked(q)
	}
	s.wake.send()
}

// setPaused records that a signal paused or resumed a queue. The jobs of a paused queue
// that were not started are handed back.
func (s *scheduler) setPaused(q *servedQueue, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.paused = paused
	q.pauseSignals++
	if paused {
		s.buffers.handBack(q)
		s.solo.handBack(q)
	} else {
		q.empty = false
	}
	s.wake.send()
}
