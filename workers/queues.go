package workers

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A servedQueue is one queue that a pool serves.
type servedQueue struct {
	name   string
	queue  *queue.PoolQueue
	stop   context.CancelFunc       // ends its lease loop
	cursor atomic.Pointer[rdb.Mark] // up to where its signals were read; nil: not yet

	// The rest is guarded by the scheduler's mutex.

	config  Queue
	place   int           // of config among all
	removed bool          // it is served no longer; its running jobs go on
	opening bool          // the first lease is on its way: other queues wait for it
	session *leaseSession // nil while there is no lease

	buffer  []*attempt // held, in order, not started
	running int
	served  float64 // jobs fetched, divided by the weight

	fetching     bool       // an answer of Redis is on its way
	answerLost   bool       // one did not come: the lease may hold jobs that the worker doesn't know
	empty        bool       // it had no jobs, and new ones come after cursors
	cursors      []rdb.Mark // of its streams
	checked      time.Time  // when it was last fetched from
	restUntil    time.Time  // it could not be reached, and is not fetched from before
	paused       bool
	pauseSignals int // how many signals said pause or resume
}

// placeOf returns the place of a queue's configuration: that of its name, else
// the first pattern that matches, else -1.
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

// configure changes what is served. It returns the queues that no longer are, and
// those that had been removed and are served again.
func (s *scheduler) configure(configs []Queue) (unserved, restored []*servedQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range slices.Clone(s.queues) {
		q.place = placeOf(configs, q.name)
		switch {
		case q.place < 0:
			q.removed = true
			s.handBackLocked(q)
			s.retireLocked(q)
			unserved = append(unserved, q)
			continue
		case q.removed:
			q.removed, q.empty = false, false
			restored = append(restored, q)
		}
		q.config = configs[q.place]
	}
	s.queuesChangedLocked()
	return unserved, restored
}

func (s *scheduler) add(queues []*servedQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queues...)
	s.queuesChangedLocked()
}

// retireLocked stops a queue that is removed, once none of its jobs runs or is
// on its way.
func (s *scheduler) retireLocked(q *servedQueue) {
	if q.removed && q.running == 0 && !q.fetching && slices.Contains(s.queues, q) {
		s.queues = slices.DeleteFunc(s.queues, func(other *servedQueue) bool { return other == q })
		s.queuesChangedLocked()
		q.stop()
	}
}

// queuesChangedLocked puts the queues in the order of the configuration, those of
// one pattern by name, and notifies the listener and the fetcher.
func (s *scheduler) queuesChangedLocked() {
	slices.SortStableFunc(s.queues, func(a, b *servedQueue) int {
		return cmp.Or(a.place-b.place, strings.Compare(a.name, b.name))
	})
	s.queuesChanged.send()
	s.wake.send()
}

// all returns the served queues, with those that are removed and not yet stopped.
func (s *scheduler) all() []*servedQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queues)
}

// sessions returns the lease sessions of all queues that have one.
func (s *scheduler) sessions() (sessions []*leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		if q.session != nil {
			sessions = append(sessions, q.session)
		}
	}
	return sessions
}

// opened sets a queue's new lease session. nil only notes that its first lease
// is long in coming: other queues wait for it no longer.
func (s *scheduler) opened(q *servedQueue, session *leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session != nil {
		q.session, q.empty, q.paused, q.answerLost = session, false, false, false
	}
	if session != nil || q.opening {
		q.opening = false
		s.wake.send()
	}
}

// drop takes the jobs of a lost session that were not started out of the buffer
// and the quarantine. Jobs of other queues that waited for the quarantined ones may
// start then.
func (s *scheduler) drop(session *leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := session.queue
	if q.session == session {
		q.session = nil
	}
	dropped := func(a *attempt) bool {
		if a.session == session {
			a.settled.Store(true)
		}
		return a.session == session
	}
	before := len(q.buffer)
	q.buffer = slices.DeleteFunc(q.buffer, dropped)
	s.buffered -= before - len(q.buffer)
	s.quarantined = slices.DeleteFunc(s.quarantined, dropped)
	s.wake.send()
}

// setPaused notes that a signal paused or resumed a queue. A paused queue's jobs
// that were not started go back.
func (s *scheduler) setPaused(q *servedQueue, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.paused = paused
	q.pauseSignals++
	if paused {
		s.handBackLocked(q)
	} else {
		q.empty = false
	}
	s.wake.send()
}
