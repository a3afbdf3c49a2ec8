package workers

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A scheduler decides from which queue jobs are fetched, and which job starts when. It
// has the slots, the jobs that wait for one, and the quarantined jobs. It performs no
// action itself: its methods return what the caller must do, do not block, and have the
// time as a parameter.
type scheduler struct {
	concurrency int
	strict      bool
	soloWait    time.Duration

	wake          notification // of the fetcher: it may have something to do
	queuesChanged notification // of the listener: there are other queues
	aboutChanged  notification // of describe: the worker's About has changed

	abandoned atomic.Int64 // handlers that were abandoned and have not returned

	mu     sync.Mutex
	queues []*servedQueue // in the order of their places
	quiet  bool           // no more jobs are taken
	slots  takenSlots     // by runners and by the solo job

	buffered    int           // jobs in all buffers
	checking    bool          // a check of the buffers is due
	lastTaken   time.Time     // when a runner last took a job out of them
	avgDuration time.Duration // moving average of how long handlers take
	virtualTime float64       // served of the queue that was last served least

	quarantined      []*attempt // see takeQuarantined
	quarantinedSince time.Time  // when the first of them began to wait
	solo             *attempt   // the job that runs solo: no other starts
}

func newScheduler(config Config) *scheduler {
	return &scheduler{
		concurrency: config.Concurrency, strict: config.Strict, soloWait: soloWait,
		wake: newNotification(), queuesChanged: newNotification(), aboutChanged: newNotification(),
	}
}

// setQuiet makes the scheduler start no more jobs.
func (s *scheduler) setQuiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}

// blockedLocked reports whether no job may start now.
func (s *scheduler) blockedLocked() bool {
	return s.quiet || len(s.quarantined) > 0 || s.solo != nil
}

// capacityLocked returns the number of slots. As many abandoned handlers as there are
// slots cost none; each one more costs a slot, so that no more handlers than twice the
// concurrency run at a time.
func (s *scheduler) capacityLocked() int {
	return s.concurrency - max(0, int(s.abandoned.Load())-s.concurrency)
}

// takeSlotsLocked takes free slots for buffered jobs, and returns their number: the
// caller starts a runner for each.
func (s *scheduler) takeSlotsLocked() int {
	if s.blockedLocked() {
		return 0
	}
	n := max(0, min(s.capacityLocked()-s.slots.count, s.buffered))
	s.slots.add(n)
	return n
}

// whenIdle returns a channel that is closed when no slot is taken.
func (s *scheduler) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	s.slots.idle = idle
	s.slots.add(0)
	return idle
}

// takenSlots counts slots. It is guarded by the scheduler's mutex.
type takenSlots struct {
	count int
	idle  chan struct{} // closed when the count is zero; nil: no caller waits for that
}

func (t *takenSlots) add(n int) {
	if t.count += n; t.count == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// take returns the next job of a runner. If there is none it frees the runner's slot and
// returns nil.
func (s *scheduler) take(now time.Time) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q *servedQueue
	if !s.blockedLocked() && s.slots.count <= s.capacityLocked() {
		q = nextToStart(s.queues, s.strict)
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
	q.running++
	s.lastTaken = now
	if s.buffered <= s.prefetchLocked()/2 {
		s.wake.send()
	}
	return a
}

// nextToStart returns the queue whose job starts next: if strict the first that has one,
// else that with the largest deficit; nil if there is none.
func nextToStart(queues []*servedQueue, strict bool) (next *servedQueue) {
	for _, q := range queues {
		if len(q.buffer) == 0 || !q.mayStartLocked() {
			continue
		}
		if next == nil || q.deficitLocked() > next.deficitLocked() {
			next = q
		}
		if strict {
			break
		}
	}
	return next
}

// mayStartLocked reports whether the queue's own limit allows another running job.
func (q *servedQueue) mayStartLocked() bool {
	return q.config.Concurrency == 0 || q.running < q.config.Concurrency
}

// deficitLocked returns a number that is larger the fewer jobs of the queue run in
// proportion to its weight.
func (q *servedQueue) deficitLocked() float64 {
	return -float64(q.running+1) / float64(q.config.Weight)
}

// finished records the end of a started job. took is zero if its handler was not called
// or was abandoned.
func (s *scheduler) finished(a *attempt, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.queue.running--
	s.retireLocked(a.queue)
	switch {
	case took == 0:
	case took > s.avgDuration: // it rises quickly and falls slowly
		s.avgDuration = max(1, s.avgDuration+(took-s.avgDuration)/4)
	default:
		s.avgDuration -= (s.avgDuration - took) / 16
	}
}

// handlerReturned records that an abandoned handler has returned, and returns the number
// of runners to start.
func (s *scheduler) handlerReturned() int {
	s.abandoned.Add(-1)
	s.aboutChanged.send()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake.send()
	return s.takeSlotsLocked()
}

// maxBuffered is how long jobs stay buffered while no runner takes one.
const maxBuffered = 200 * time.Millisecond

// checkBuffers hands buffered jobs back if no runner has taken one for maxBuffered,
// because handlers have become slower: another worker may be free. It returns the time
// until the next check, zero if there is none.
func (s *scheduler) checkBuffers(now time.Time) (again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := now.Sub(s.lastTaken)
	s.checking = s.buffered > 0 && waited < maxBuffered
	if s.checking {
		return max(maxBuffered-waited, maxBuffered/4)
	}
	if s.buffered > 0 {
		if !s.blockedLocked() {
			s.avgDuration = max(s.avgDuration, maxBuffered)
		}
		s.handBackBufferedLocked()
	}
	return 0
}

// handBackBuffered hands back all jobs that were not started, quarantined ones only if
// the pool is quiet.
func (s *scheduler) handBackBuffered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handBackBufferedLocked()
	if s.quiet {
		handBack(s.quarantined)
		s.quarantined = nil
	}
}

func (s *scheduler) handBackBufferedLocked() {
	for _, q := range s.queues {
		handBack(q.buffer)
		q.buffer = nil
	}
	s.buffered = 0
}

// handBackLocked hands back the jobs of a queue that were not started.
func (s *scheduler) handBackLocked(q *servedQueue) {
	handBack(q.buffer)
	s.buffered -= len(q.buffer)
	q.buffer = nil
	s.quarantined = slices.DeleteFunc(s.quarantined, func(a *attempt) bool {
		if a.queue == q {
			a.handBack()
		}
		return a.queue == q
	})
}

func handBack(attempts []*attempt) {
	for _, a := range attempts {
		a.handBack()
	}
}

// A quarantined job is one whose worker died while it held the job. It runs solo, with
// no other job beside it in this pool: if the worker dies again, the job is the cause.
// That costs throughput, so it is bounded:
//
//   - For soloWait the pool starts no job, and waits until the running jobs have
//     ended. If they take longer, the quarantined jobs run beside them, one after
//     another and unmarked: if the worker dies again, they are quarantined again.
//   - When a solo job has run for its window, others start beside it. The window
//     doubles each time that a job is quarantined, so that jobs that kill their worker
//     slowly are found, too.
const (
	soloWait   = 10 * time.Second
	soloWindow = 10 * time.Second
	maxWindow  = 12 * time.Hour
)

// window returns how long a job runs solo that was quarantined a number of times.
func window(first time.Duration, quarantines int) time.Duration {
	return min(maxWindow, first<<min(max(quarantines-1, 0), 12))
}

// takeQuarantined returns a quarantined job that may start now, nil if there is none. It
// has taken a slot for the job and handed back all buffered jobs, so that these are not
// quarantined if the worker dies. changed reports whether the caller must call it again.
func (s *scheduler) takeQuarantined(now time.Time) (a *attempt, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || len(s.quarantined) == 0 || s.solo != nil || s.slots.count >= s.capacityLocked() {
		return nil, false
	}
	if s.slots.count > 0 && now.Sub(s.quarantinedSince) < s.soloWait {
		return nil, false
	}
	a = s.quarantined[0]
	s.quarantined = s.quarantined[1:]
	if !a.queue.mayStartLocked() { // others do not wait for the limit of its queue
		a.handBack()
		return nil, true
	}
	a.marked = s.slots.count == 0 && s.abandoned.Load() == 0
	s.solo = a
	s.slots.add(1)
	a.queue.running++
	s.handBackBufferedLocked()
	return a, true
}

// endSolo lets other jobs start beside the solo job, frees its slot if freeSlot is set,
// and returns the number of runners to start.
func (s *scheduler) endSolo(freeSlot bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.solo = nil
	if freeSlot {
		s.slots.add(-1)
	}
	s.wake.send()
	return s.takeSlotsLocked()
}
