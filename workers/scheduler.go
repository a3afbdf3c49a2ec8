package workers

import (
	"slices"
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

	buffers     buffers
	checking    bool          // a call of checkBuffers is scheduled
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
	n := max(0, min(s.slots.free(), s.buffers.jobs))
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
	a := s.buffers.take(q, now)
	q.startedLocked(a)
	if s.buffers.jobs <= prefetch(s.slots.concurrency, s.avgDuration)/2 { // nextFetch returns no order before
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
	waited := now.Sub(s.buffers.lastTaken)
	s.checking = s.buffers.jobs > 0 && waited < maxBuffered
	if s.checking {
		return max(maxBuffered-waited, maxBuffered/4) // the minimum bounds the number of checks
	}
	if s.buffers.jobs > 0 {
		if !s.suspendedLocked() {
			s.avgDuration = max(s.avgDuration, maxBuffered)
		}
		s.buffers.clear(s.queues)
		s.wake.send() // other retries may be fetched
	}
	return 0
}

// handBackAll hands back all jobs that were not started. The pool must be quiet.
func (s *scheduler) handBackAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffers.clear(s.queues)
	handBackEach(s.solo.waiting)
	s.solo.waiting = nil
	s.wake.send()
}

// buffers counts the jobs in the buffers of all queues. It is guarded by the scheduler's mutex.
type buffers struct {
	jobs      int
	lastTaken time.Time // when a runner last took a job, or the scheduler's checks began
}

// add adds a job to the buffer of its queue.
func (b *buffers) add(a *attempt) {
	a.queue.buffer = append(a.queue.buffer, a)
	b.jobs++
}

// take removes the first job of a queue's buffer, which has one, and returns it.
func (b *buffers) take(q *servedQueue, now time.Time) *attempt {
	a := q.buffer[0]
	q.buffer[0] = nil
	if q.buffer = q.buffer[1:]; len(q.buffer) == 0 {
		q.buffer = nil
	}
	b.jobs--
	b.lastTaken = now
	return a
}

// remove removes the jobs of a queue's buffer for which a function returns true.
func (b *buffers) remove(q *servedQueue, removed func(*attempt) bool) {
	before := len(q.buffer)
	q.buffer = slices.DeleteFunc(q.buffer, removed)
	b.jobs -= before - len(q.buffer)
}

// handBack hands back the jobs of a queue's buffer.
func (b *buffers) handBack(q *servedQueue) {
	handBackEach(q.buffer)
	b.jobs -= len(q.buffer)
	q.buffer = nil
}

// clear hands back all jobs.
func (b *buffers) clear(queues []*servedQueue) {
	for _, q := range queues {
		b.handBack(q)
	}
}

func handBackEach(attempts []*attempt) {
	for _, a := range attempts {
		a.handBack()
	}
}
