package workers

import "sync/atomic"

// slots counts the slots of a pool: each of them is for one running handler. No slot is taken
// above the capacity. When that falls below the number of taken slots, those are freed as their
// jobs end. The scheduler's mutex guards all but abandoned and unrecorded, which the executor and
// the completers change without it.
type slots struct {
	concurrency int

	abandoned  atomic.Int64 // handlers that were abandoned and have not returned
	unrecorded unrecordedCount

	taken int           // by runners and the current solo job
	idle  chan struct{} // closed when taken becomes zero; nil if no caller waits
}

func newSlots(concurrency int) *slots {
	return &slots{concurrency: concurrency, unrecorded: unrecordedCount{concurrency: concurrency}}
}

// capacity returns the number of slots. As many abandoned handlers as there are slots cost
// none; each one more costs a slot, so that no more handlers than twice the concurrency run at
// a time. It is lower while running handlers could bring the number of unrecorded outcomes
// above its maximum.
func (s *slots) capacity() int {
	n := s.concurrency - max(0, int(s.abandoned.Load())-s.concurrency)
	return min(n, s.unrecorded.left())
}

// free returns the number of slots that can be taken. It is negative while the capacity is below
// the number of taken slots.
func (s *slots) free() int { return s.capacity() - s.taken }

// add changes the number of taken slots.
func (s *slots) add(n int) {
	if s.taken += n; s.taken == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// whenIdle returns a channel that is closed when no slot is taken. The scheduler must be quiet:
// otherwise slots may be taken again. Only the channel of the latest call is closed.
func (s *slots) whenIdle() <-chan struct{} {
	idle := make(chan struct{})
	s.idle = idle
	s.add(0) // closes idle now if no slot is taken
	return idle
}

// An unrecordedCount is the number of handlers of a pool that have returned and whose
// outcome Redis has not confirmed.
type unrecordedCount struct {
	concurrency  int
	now, highest atomic.Int64
}

// max bounds the count, and so the jobs that run again if the worker dies while it cannot
// write to Redis.
func (u *unrecordedCount) max() int { return 4*u.concurrency + 500 }

// left returns how many more handlers may return.
func (u *unrecordedCount) left() int { return u.max() - int(u.now.Load()) }

// add changes the count, and reports whether that may let more jobs start.
func (u *unrecordedCount) add(change int) (more bool) {
	now := u.now.Add(int64(change))
	for highest := u.highest.Load(); now > highest && !u.highest.CompareAndSwap(highest, now); {
		highest = u.highest.Load()
	}
	return change < 0 && u.max()-(int(now)-change) < u.concurrency
}
