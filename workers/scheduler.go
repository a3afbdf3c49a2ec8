package workers

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway/queue"
)

// A scheduler decides from which queue jobs are fetched, and which job starts when. It
// has the slots, the jobs that wait for one, and those that must run solo. It has no
// goroutine and calls neither Redis nor handlers. Its methods do not block; work for the
// caller is returned, and methods that depend on the time have it as a parameter.
type scheduler struct {
	concurrency int
	strict      bool
	maxCrashes  int
	soloWait    time.Duration
	lease       time.Duration

	wake         notification // wakes the fetcher after a change that may allow a fetch or a start
	aboutChanged notification // wakes the heartbeat when the pool's description has changed

	// abandoned is the number of handlers that were abandoned and have not returned. It is
	// atomic because executor.abandon and Pool.info use it without mu.
	abandoned atomic.Int64

	unrecorded unrecordedCount // completers change it without mu

	mu     sync.Mutex
	queues []*servedQueue // in the order of their places
	quiet  bool           // no more jobs are taken
	taken  takenSlots     // number of slots that runners and the current solo job have taken

	buffered    int           // jobs in all buffers
	checking    bool          // a call of checkBuffers is scheduled
	lastTaken   time.Time     // when a runner last took a buffered job, or the checks began
	avgDuration time.Duration // moving average of how long handlers take

	// virtualTime is the highest value of served among the queues chosen by weight so far;
	// the minimum for a queue that becomes active again.
	virtualTime float64

	quarantined      map[*leaseSession]int // number of quarantined jobs held, until their outcomes are written
	quarantineWrites int                   // number of calls of quarantineWritten

	solo      []*attempt // jobs that must run solo, see takeSolo
	soloSince time.Time  // when the first of them began to wait
	current   *attempt   // the current solo job: it runs, and no other job starts; nil if there is none
}

func newScheduler(config Config) *scheduler {
	return &scheduler{
		concurrency: config.Concurrency, strict: config.Strict, maxCrashes: config.Crashes, soloWait: soloWait, lease: config.Lease,
		quarantined: map[*leaseSession]int{}, unrecorded: unrecordedCount{concurrency: config.Concurrency},
		wake: newNotification(), aboutChanged: newNotification(),
	}
}

// setQuiet makes the scheduler start no more jobs.
func (s *scheduler) setQuiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}

// suspendedLocked reports whether fetching, and starting buffered jobs, is suspended: the
// pool is quiet, or a job waits to run solo or does.
func (s *scheduler) suspendedLocked() bool {
	return s.quiet || len(s.solo) > 0 || s.current != nil
}

// capacityLocked returns the number of slots. As many abandoned handlers as there are
// slots cost none; each one more costs a slot, so that no more handlers than twice the
// concurrency run at a time. It is lower while running handlers could bring the number of
// unrecorded outcomes above its maximum.
func (s *scheduler) capacityLocked() int {
	slots := s.concurrency - max(0, int(s.abandoned.Load())-s.concurrency)
	return min(slots, s.unrecorded.left())
}

// takeSlotsLocked takes free slots for buffered jobs, and returns the number of slots
// taken: the caller starts a runner for each.
func (s *scheduler) takeSlotsLocked() int {
	if s.suspendedLocked() {
		return 0
	}
	n := max(0, min(s.capacityLocked()-s.taken.count, s.buffered))
	s.taken.add(n)
	return n
}

// whenIdle returns a channel that is closed when no slot is taken. The scheduler must be
// quiet: otherwise slots may be taken again. Only the channel of the latest call is closed.
func (s *scheduler) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	s.taken.idle = idle
	s.taken.add(0) // closes idle now if no slot is taken
	return idle
}

// takenSlots counts slots. It is guarded by the scheduler's mutex.
type takenSlots struct {
	count int
	idle  chan struct{} // closed when the count becomes zero; nil if no caller waits
}

func (t *takenSlots) add(n int) {
	if t.count += n; t.count == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// take returns the next job for a runner, which has a slot. If no job may start, it frees
// the slot and returns nil.
func (s *scheduler) take(now time.Time) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q *servedQueue
	if !s.suspendedLocked() && s.taken.count <= s.capacityLocked() { // the count includes the runner's slot
		q = nextToStartLocked(s.queues, s.strict)
	}
	if q == nil {
		s.taken.add(-1)
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
	if s.buffered <= prefetch(s.concurrency, s.avgDuration)/2 { // nextFetch returns no order before
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

// capacityRose must be called when capacityLocked may return more than before. It returns
// the number of runners to start.
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
	handBackEach(s.solo)
	s.solo = nil
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
	s.solo = slices.DeleteFunc(s.solo, func(a *attempt) bool {
		if a.queue == q {
			a.handBack()
		}
		return a.queue == q
	})
}

func handBackEach(attempts []*attempt) {
	for _, a := range attempts {
		a.handBack()
	}
}

// quarantineRoomLocked returns how many quarantined jobs may be fetched from a queue: up to
// half of the slots have one, and all are of one group.
func (s *scheduler) quarantineRoomLocked(q *servedQueue) int {
	for session := range s.quarantined {
		if session != q.session {
			return 0
		}
	}
	return max(0, max(1, s.concurrency/2)-s.quarantined[q.session])
}

// quarantineWritten records that the outcomes of n quarantined jobs are written. Then other
// jobs of their group may be fetched, or those of another group.
func (s *scheduler) quarantineWritten(session *leaseSession, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quarantineWrites++
	if s.quarantined[session] -= n; s.quarantined[session] <= 0 {
		delete(s.quarantined, session)
	}
	for _, q := range s.queues {
		if len(s.quarantined) == 0 || q == session.queue {
			q.empty = false // its last answer was without the jobs of other groups
		}
	}
	s.wake.send()
}

// mustRunSolo reports whether the death of the worker may make a job dead, which counts
// only if no other job runs beside it.
func (s *scheduler) mustRunSolo(job *queue.Job) bool {
	return job.GroupSize == 1 && job.Crashes+1 >= s.maxCrashes
}

// The bounds of a solo run, which docs/architecture.md describes.
const (
	soloWait    = 10 * time.Second // maximum time that a job waits until no other one runs
	firstWindow = 10 * time.Second // window of a job that was quarantined once
	maxWindow   = 12 * time.Hour   // maximum window
)

// window returns how long no other job starts beside a solo job that was quarantined a
// number of times: it doubles each time. Doubling stops after 12 times, when firstWindow has
// become 11 hours, so that the shift does not overflow.
func window(first time.Duration, quarantines int) time.Duration {
	return min(maxWindow, first<<min(max(quarantines-1, 0), 12))
}

// takeSolo returns a job that must run solo and may start now, nil if there is none. If it
// returns a job it takes a slot for it and hands back all buffered jobs, so that they are
// not quarantined if the worker dies. again reports whether the fetcher must repeat its
// steps, because a job was taken or handed back.
func (s *scheduler) takeSolo(now time.Time) (a *attempt, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || len(s.solo) == 0 || s.current != nil || s.taken.count >= s.capacityLocked() {
		return nil, false
	}
	if s.taken.count > 0 && now.Sub(s.soloSince) < s.soloWait {
		return nil, false
	}
	a = s.solo[0]
	s.solo = s.solo[1:]
	if !a.queue.mayStartLocked() { // others do not wait for the limit of its queue
		a.handBack()
		return nil, true
	}
	a.mark = s.taken.count == 0 && s.abandoned.Load() == 0
	s.current = a
	s.taken.add(1)
	a.queue.startedLocked(a)
	s.clearBuffersLocked()
	return a, true
}

// soloEnded lets other jobs start beside the current solo job, frees its slot if freeSlot is
// set, and returns the number of runners to start.
func (s *scheduler) soloEnded(freeSlot bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	if freeSlot {
		s.taken.add(-1)
	}
	s.wake.send()
	return s.takeSlotsLocked()
}
