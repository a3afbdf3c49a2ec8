package workers

import (
	"slices"
	"time"

	"skidway/queue"
)

// The bounds of a solo run, which docs/architecture.md describes.
const (
	soloWait    = 10 * time.Second // time that a job waits at first until no other one runs
	firstWindow = 20 * time.Second // window of a job that was quarantined once; that of the third time is 80 s
	maxWindow   = 12 * time.Hour   // maximum window
)

// window returns how long no other job starts beside a solo job, or before it, that was
// quarantined a number of times: it doubles each time. Doubling stops after 12 times, when
// firstWindow has become 11 hours, so that the shift does not overflow.
func window(first time.Duration, quarantines int) time.Duration {
	return min(maxWindow, first<<min(max(quarantines-1, 0), 12))
}

// soloRuns has the jobs that must run solo: those that wait for it, in the order in which they
// came, and the current one. While there is one of either sort, no other job starts. It is
// guarded by the scheduler's mutex.
type soloRuns struct {
	maxCrashes int
	firstWait  time.Duration // see wait

	waiting []*attempt
	since   time.Time // when the first of waiting began to wait
	current *attempt  // it runs; nil if there is none
}

// mustRunSolo reports whether the death of the worker may make a job dead, which counts
// only if no other job runs beside it.
func (s *soloRuns) mustRunSolo(job *queue.Job) bool {
	return job.GroupSize == 1 && job.Crashes+1 >= s.maxCrashes
}

// wait returns after which time a job starts beside others, where its death does not count. Each
// such death quarantines the job once more and doubles the time, until all that ran before have
// ended. So among jobs that take up to T, a job that kills its worker is found after at most
// log2(T/firstWait) of these deaths, and the pool starts no job for less than 2T at a time.
func (s *soloRuns) wait(job *queue.Job) time.Duration {
	return window(s.firstWait, job.Quarantines-s.maxCrashes+1)
}

// pending reports whether other jobs must not start.
func (s *soloRuns) pending() bool { return len(s.waiting) > 0 || s.current != nil }

// add adds a job that waits. It returns the time after which the job may start beside others, or
// zero if another one waits already.
func (s *soloRuns) add(a *attempt, now time.Time) (wait time.Duration) {
	if len(s.waiting) == 0 {
		s.since, wait = now, s.wait(a.job)
	}
	s.waiting = append(s.waiting, a)
	return wait
}

// next removes the first of the waiting jobs and returns it, nil if none may start: beside other
// jobs it starts only after its wait.
func (s *soloRuns) next(now time.Time, slots *slots) *attempt {
	if len(s.waiting) == 0 || s.current != nil || slots.free() <= 0 {
		return nil
	}
	if slots.taken > 0 && now.Sub(s.since) < s.wait(s.waiting[0].job) {
		return nil
	}
	a := s.waiting[0]
	s.waiting = s.waiting[1:]
	return a
}

// handBack hands back the waiting jobs of a queue.
func (s *soloRuns) handBack(q *servedQueue) {
	s.waiting = slices.DeleteFunc(s.waiting, func(a *attempt) bool {
		if a.queue == q {
			a.handBack()
		}
		return a.queue == q
	})
}

// retriesOf returns the number of a queue's retries that wait.
func (s *soloRuns) retriesOf(q *servedQueue) (n int) {
	for _, a := range s.waiting {
		if a.queue == q && a.retry {
			n++
		}
	}
	return n
}

// takeSolo returns a job that must run solo and may start now, nil if there is none. If it
// returns a job it takes a slot for it and hands back all buffered jobs, so that they are
// not quarantined if the worker dies. again reports whether the fetcher must repeat its
// steps, because a job was taken or handed back.
func (s *scheduler) takeSolo(now time.Time) (a *attempt, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return nil, false
	}
	if a = s.solo.next(now, s.slots); a == nil {
		return nil, false
	}
	if !a.queue.mayStartLocked() { // others do not wait for the limit of its queue
		a.handBack()
		return nil, true
	}
	a.markSolo = s.slots.taken == 0 && s.slots.abandoned.Load() == 0
	s.solo.current = a
	s.slots.add(1)
	a.queue.startedLocked(a)
	s.buffers.clear(s.queues)
	s.wake.send() // other retries may be fetched
	return a, true
}

// soloEnded lets other jobs start beside the current solo job, and returns the number of runners
// to start.
func (s *scheduler) soloEnded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.solo.current = nil
	s.wake.send()
	return s.takeSlotsLocked()
}
