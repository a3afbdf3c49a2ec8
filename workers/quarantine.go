package workers

import (
	"context"
	"errors"
	"time"

	"skidway/queue"
)

// groupWait is how long a group keeps other groups waiting, see quarantine.add.
const groupWait = 5 * time.Second

// A quarantine counts the quarantined jobs that a pool holds, until their outcomes are written. It
// is guarded by the scheduler's mutex.
//
// The pool fetches jobs of another group only when each job of the groups that it holds has run
// for a while: then these are long-running. So at most one group is not long-running, and at most
// half of the slots have a job of it. Long-running jobs keep no other group waiting, because one of
// them may run for hours.
//
// Later jobs of the queue of a long-running group are fetched with another session. A session is a
// worker of its own to Redis, so if the process dies each group is halved separately: with each
// death the group of the job that kills its workers is halved, whatever runs beside it. The death
// counts towards the crashes of one job at most: while the pool holds several groups, the
// long-running ones are marked in Redis, and the death does not count for their jobs.
type quarantine struct {
	limit     int           // maximum number of jobs of the group that is not long-running
	firstWait time.Duration // see add
	held      map[*leaseSession]heldGroup
	changes   int // number of calls after which other jobs of a group or other groups may be fetched
}

// A heldGroup is the group of the quarantined jobs that a session holds.
type heldGroup struct {
	jobs        int
	waitEnd     time.Time // from then on it is long-running
	longRunning bool
}

func newQuarantine(concurrency int) *quarantine {
	return &quarantine{limit: max(1, concurrency/2), firstWait: groupWait, held: map[*leaseSession]heldGroup{}}
}

// room returns how many quarantined jobs may be fetched with a session, which is nil for a queue
// that has none.
func (q *quarantine) room(session *leaseSession) int {
	for other, group := range q.held {
		if other != session && !group.longRunning {
			return 0
		}
	}
	return max(0, q.limit-q.held[session].jobs)
}

// waitEnd returns when the group that is not long-running becomes so. It is zero if there is none.
func (q *quarantine) waitEnd() (end time.Time) {
	for _, group := range q.held {
		if !group.longRunning {
			end = group.waitEnd
		}
	}
	return end
}

// add adds a job of a session's group, which keeps other groups waiting for firstWait from now on.
// For the only job of a group this doubles with each quarantine, since its deaths count: the more
// workers have died with it, the fewer jobs are to run beside it.
func (q *quarantine) add(session *leaseSession, job *queue.Job, now time.Time) {
	wait := q.firstWait
	if job.GroupSize == 1 {
		wait = window(wait, job.Quarantines)
	}
	group := q.held[session]
	group.jobs++
	group.longRunning = false // a lost answer may bring another job of a long-running group
	if end := now.Add(wait); end.After(group.waitEnd) {
		group.waitEnd = end
	}
	q.held[session] = group
}

// written records that the outcomes of n quarantined jobs are written, and reports whether
// that allows a fetch of others.
func (q *quarantine) written(session *leaseSession, n int) bool {
	group, held := q.held[session]
	if group.jobs -= n; group.jobs > 0 {
		q.held[session] = group
	} else {
		delete(q.held, session)
	}
	return held && !group.longRunning
}

// quarantineWritten records that the outcomes of n quarantined jobs are written. Then other
// jobs of their group may be fetched, or those of another group.
func (s *scheduler) quarantineWritten(session *leaseSession, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quarantine.written(session, n) {
		s.quarantineChangedLocked(session.queue)
	}
	s.wake.send() // the mark of another group may have to be removed
}

// endGroupWaitLocked lets other groups be fetched if the wait of the current one is over.
func (s *scheduler) endGroupWaitLocked(now time.Time) {
	for session, group := range s.quarantine.held {
		if group.longRunning || now.Before(group.waitEnd) {
			continue
		}
		group.longRunning, session.longRunning = true, true
		s.quarantine.held[session] = group
		s.quarantineChangedLocked(session.queue)
	}
}

// quarantineChangedLocked lets jobs of a queue be fetched, of which the pool held a group, and
// those of the others if no group keeps them waiting.
func (s *scheduler) quarantineChangedLocked(changed *servedQueue) {
	s.quarantine.changes++
	waits := !s.quarantine.waitEnd().IsZero()
	for _, q := range s.queues {
		if !waits || q == changed {
			q.empty = false // its last answer was without the jobs of other groups
		}
	}
	s.wake.send()
}

// maxWait returns how long an idle fetcher may wait: until the wait of a group ends, at most for
// maxIdle.
func (s *scheduler) maxWait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.quarantine.waitEnd(); !end.IsZero() && !s.suspendedLocked() {
		return min(maxIdle, end.Sub(now))
	}
	return maxIdle
}

// sessionsToMark returns the sessions whose mark in Redis is not as quarantine describes, when jobs of
// the next session's group are about to start. next is nil if there are none.
func (s *scheduler) sessionsToMark(next *leaseSession, now time.Time) (sessions []*leaseSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := len(s.quarantine.held)
	if _, held := s.quarantine.held[next]; next != nil && !held {
		groups++
	}
	for session, group := range s.quarantine.held {
		if group.longRunning && session.shared != (groups > 1) && !session.queue.rests(now) {
			sessions = append(sessions, session)
		}
	}
	return sessions
}

// markShared sets the marks of long-running groups, or removes them. A mark that cannot be set is set
// later: until then a death may count for a job of each group, which makes none of them dead.
func (f *fetcher) markShared(ctx context.Context, next *leaseSession) {
	for _, session := range f.sched.sessionsToMark(next, time.Now()) {
		marking, cancel := context.WithTimeout(ctx, fetchWait)
		err := session.lease.MarkShared(marking, !session.shared)
		cancel()
		if err != nil && !errors.Is(err, queue.ErrLeaseLost) {
			session.queue.rest(time.Now())
			if ctx.Err() == nil {
				f.log.Warn("a quarantined job that runs for long cannot be marked", "queue", session.queue.name, "error", err)
			}
			continue
		}
		session.shared = !session.shared
	}
}

// isQuarantined reports whether the job of an attempt is quarantined.
func isQuarantined(a *attempt) bool { return a.job.Group != "" }
