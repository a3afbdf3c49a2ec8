package workers

import "time"

// groupWait is how long a pool waits at first until a group whose jobs all run has ended, see
// quarantine.
const groupWait = 5 * time.Second

// A quarantine counts the quarantined jobs that a pool holds, until their outcomes are written or
// until they linger: no other job of their group was fetched for a while, so that each of them
// runs for as long at least. The jobs that do not linger are all of one group, and so of one
// session, and at most half of the slots have one. It is guarded by the scheduler's mutex.
//
// Lingering jobs keep no other group waiting, because one of them may run for hours. Later jobs of
// their queue are fetched with another session. A session is a worker of its own to Redis, so if
// the process dies each group is halved separately, as if the others had not been there: with each
// death the group of the job that kills its workers is halved, whatever lingers beside it.
type quarantine struct {
	limit     int           // maximum number of jobs at a time
	firstWait time.Duration // see add
	held      map[*leaseSession]heldGroup
	changes   int // number of calls after which other jobs of a group or other groups may be fetched
}

// A heldGroup has the jobs of a group that a session holds, until they linger.
type heldGroup struct {
	jobs      int
	lingersAt time.Time
}

func newQuarantine(concurrency int) *quarantine {
	return &quarantine{limit: max(1, concurrency/2), firstWait: groupWait, held: map[*leaseSession]heldGroup{}}
}

// room returns how many quarantined jobs may be fetched with a session, which is nil for a queue
// that has none.
func (q *quarantine) room(session *leaseSession) int {
	for other := range q.held {
		if other != session {
			return 0
		}
	}
	return max(0, q.limit-q.held[session].jobs)
}

// add adds a job of a session's group, and returns after which time the group lingers if no other
// is added. The time doubles with each quarantine of the job: the more workers have died with
// it, the less is to run beside it.
func (q *quarantine) add(session *leaseSession, quarantines int, now time.Time) (wait time.Duration) {
	wait = window(q.firstWait, quarantines)
	group := q.held[session]
	group.jobs++
	if at := now.Add(wait); at.After(group.lingersAt) {
		group.lingersAt = at
	}
	q.held[session] = group
	return wait
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
	return held
}

// lingers reports whether the group of a session lingers from now on.
func (q *quarantine) lingers(session *leaseSession, now time.Time) bool {
	group, held := q.held[session]
	if !held || now.Before(group.lingersAt) {
		return false
	}
	delete(q.held, session)
	return true
}

// quarantineWritten records that the outcomes of n quarantined jobs are written. Then other
// jobs of their group may be fetched, or those of another group.
func (s *scheduler) quarantineWritten(session *leaseSession, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quarantine.written(session, n) {
		s.quarantineChangedLocked(session.queue)
	}
}

// linger lets other groups be fetched, if no job of the session's group was for long.
func (s *scheduler) linger(session *leaseSession, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quarantine.lingers(session, now) {
		session.lingers = true
		s.quarantineChangedLocked(session.queue)
	}
}

// quarantineChangedLocked lets jobs of a queue be fetched, of which the pool held a group, and
// those of the others if it holds none now.
func (s *scheduler) quarantineChangedLocked(changed *servedQueue) {
	s.quarantine.changes++
	for _, q := range s.queues {
		if len(s.quarantine.held) == 0 || q == changed {
			q.empty = false // its last answer was without the jobs of other groups
		}
	}
	s.wake.send()
}
