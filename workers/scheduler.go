package workers

import (
	"sync"
	"time"
)

// A scheduler decides from which queue jobs are fetched, and which job starts when. It has no
// goroutine and calls neither Redis nor handlers. Its methods do not block; work for the
// caller is returned, and methods that depend on the time have it as a parameter.
type scheduler struct {
	strict bool
	lease  time.Duration

	wake         notification // wakes the fetcher after a change that may allow a fetch or a start
	aboutChanged notification // wakes the heartbeat when the pool's description has changed

	mu         sync.Mutex
	queues     []*servedQueue // in the order of their places
	quiet      bool           // no more jobs are taken
	slots      *slots
	quarantine *quarantine
	solo       *soloRuns

	buffered    int           // jobs in all buffers
	checking    bool          // a call of checkBuffers is scheduled
	lastTaken   time.Time     // when a runner last took a buffered job, or the checks began
	avgDuration time.Duration // moving average of how long handlers take

	// virtualTime is the highest value of served among the queues chosen by weight so far;
	// the minimum for a queue that becomes active again.
	virtualTime float64
}

func newScheduler(config Config) *scheduler {
	return &scheduler{
		strict: config.Strict, lease: config.Lease, wake: newNotification(), aboutChanged: newNotification(),
		slots: newSlots(config.Concurrency), quarantine: newQuarantine(config.Concurrency),
		solo: &soloRuns{maxCrashes: config.Crashes, firstWait: soloWait},
	}
}

// update calls change with the mutex locked, and wakes the fetcher.
func (s *scheduler) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.wake.send()
}

// suspendedLocked reports whether fetching, and starting buffered jobs, is suspended: the
// pool is quiet, or a job waits to run solo or does.
func (s *scheduler) suspendedLocked() bool {
	return s.quiet || s.solo.pending()
}

// takeSlotsLocked takes free slots for buffered jobs, and returns the number of slots
// taken: the caller starts a runner for each.
func (s *scheduler) takeSlotsLocked() int {
	if s.suspendedLocked() {
		return 0
	}
	n := max(0, min(s.slots.free(), s.buffered))
	s.slots.add(n)
	return n
}

// take returns the next job for a runner, which has a slot. If no job may start, it frees
// the slot and returns nil.
func (s *scheduler) take(now time.Time) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q *servedQueue
	if !s.suspendedLocked() && s.slots.free() >= 0 { // the taken slots include the runner's slot
		q = nextToStartLocked(s.queues, s.strict)
	}
	if q == nil {
		s.slots.add(-1)
		s.wake.send()
		return nil
	}
	a := q.buffer[0]
	q.buffer[0] = nil
	if q.buffer = q.buffer[1:]; len(q.buffer) == 0 {
		q.buffer = nil
	}
	s.buffered--
	q.startedLocked(a)
	s.lastTaken = now
	if s.buffered <= prefetch(s.slots.concurrency, s.avgDuration)/2 { // nextFetch returns no order before
		s.wake.send()
	}
	return a
}

// nextToStartLocked returns the queue whose job starts next: the first one with a job that
// may start if the pool is strict, else the one of these with the smallest load; nil if
// there is none.
func nextToStartLocked(queues []*servedQueue, strict bool) (next *servedQueue) {
	for _, q := range queues {
		if len(q.buffer) == 0 || !q.mayStartLocked() {
			continue
		}
		if next == nil || q.loadLocked() < next.loadLocked() {
			next = q
		}
		if strict {
			break
		}
	}
	return next
}

// finished records that a started job has ended, updates the average duration, and stops
// the job's queue if it was removed and this was its last job. took is zero if the
// duration is unknown.
func (s *scheduler) finished(a *attempt, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.queue.running--
	if a.retry {
		a.queue.retries--
	}
	s.retireLocked(a.queue)
	switch {
	case took == 0:
	case took > s.avgDuration: // it rises quickly and falls slowly
		s.avgDuration = max(1, s.avgDuration+(took-s.avgDuration)/4)
	default:
		s.avgDuration -= (s.avgDuration - took) / 16
	}
}

// capacityRose must be called when the number of slots may have risen. It returns the number of
// runners to start.
func (s *scheduler) capacityRose() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake.send()
	return s.takeSlotsLocked()
}

// maxBuffered is how long jobs stay buffered while no runner takes one.
const maxBuffered = 200 * time.Millisecond

// checkBuffers hands back all buffered jobs if no runner has taken one for maxBuffered:
// another worker may be free. It then assumes that handlers are slow, so that hardly any
// job is prefetched, unless starting was suspended. It returns the time until the next
// check, or zero if no check is needed.
func (s *scheduler) checkBuffers(now time.Time) (next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := now.Sub(s.lastTaken)
	s.checking = s.buffered > 0 && waited < maxBuffered
	if s.checking {
		return max(maxBuffered-waited, maxBuffered/4) // the minimum bounds the number of checks
	}
	if s.buffered > 0 {
		if !s.suspendedLocked() {
			s.avgDuration = max(s.avgDuration, maxBuffered)
		}
		s.clearBuffersLocked()
	}
	return 0
}

// handBackAll hands back all jobs that were not started. The pool must be quiet.
func (s *scheduler) handBackAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearBuffersLocked()
	handBackEach(s.solo.waiting)
	s.solo.waiting = nil
}

// clearBuffersLocked hands back all buffered jobs, and wakes the fetcher, which may take
// other retries.
func (s *scheduler) clearBuffersLocked() {
	for _, q := range s.queues {
		handBackEach(q.buffer)
		q.buffer = nil
	}
	s.buffered = 0
	s.wake.send()
}

// handBackQueueLocked hands back the jobs of a queue that were not started.
func (s *scheduler) handBackQueueLocked(q *servedQueue) {
	handBackEach(q.buffer)
	s.buffered -= len(q.buffer)
	q.buffer = nil
	s.solo.handBack(q)
}

func handBackEach(attempts []*attempt) {
	for _, a := range attempts {
		a.handBack()
	}
}
