package workers

// A quarantine counts the quarantined jobs that a pool holds, until their outcomes are written.
// They are all of one group, and so of one session, and at most half of the slots have one. It is
// guarded by the scheduler's mutex.
type quarantine struct {
	limit  int // maximum number of jobs at a time
	held   map[*leaseSession]int
	writes int // number of calls of written
}

func newQuarantine(concurrency int) *quarantine {
	return &quarantine{limit: max(1, concurrency/2), held: map[*leaseSession]int{}}
}

// room returns how many quarantined jobs may be fetched with a session, which is nil for a queue
// that has none.
func (q *quarantine) room(session *leaseSession) int {
	for other := range q.held {
		if other != session {
			return 0
		}
	}
	return max(0, q.limit-q.held[session])
}

// written records that the outcomes of n jobs are written, and reports whether none is held now.
func (q *quarantine) written(session *leaseSession, n int) (none bool) {
	q.writes++
	if q.held[session] -= n; q.held[session] <= 0 {
		delete(q.held, session)
	}
	return len(q.held) == 0
}

// quarantineWritten records that the outcomes of n quarantined jobs are written. Then other
// jobs of their group may be fetched, or those of another group.
func (s *scheduler) quarantineWritten(session *leaseSession, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	none := s.quarantine.written(session, n)
	for _, q := range s.queues {
		if none || q == session.queue {
			q.empty = false // its last answer was without the jobs of other groups
		}
	}
	s.wake.send()
}
