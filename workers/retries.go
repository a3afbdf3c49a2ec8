package workers

import "skidway/queue"

// Retries may fail again and take long, for example while a server is away. The following
// bounds keep slots free for other jobs, and let retries progress beside them.

// retryFirstEvery is the number of fetches from a queue of which one takes a retry before
// other jobs of its priority.
const retryFirstEvery = 4

// maxRetries returns the maximum number of retries that a number of slots hold, running and
// fetched ahead: while other jobs wait, and while none waits.
func maxRetries(slots int) (besideOthers, alone int) {
	return max(1, slots/4), max(1, slots-1)
}

// retryLimitsLocked returns how many retries a fetch from the queue may take, so that neither
// the pool nor a queue with a limit of its own holds more than maxRetries. waiting is the
// number of queues that are not known to be empty.
func (q *servedQueue) retryLimitsLocked(s *scheduler, waiting int) queue.RetryLimits {
	slots, held := s.slots.capacity(), 0
	for _, other := range s.queues {
		held += other.heldRetriesLocked(s.solo)
	}
	besideOthers, alone := maxRetries(slots)
	besideOthers, alone = besideOthers-held, alone-held
	if own := q.config.Concurrency; own > 0 && own < slots {
		held := q.heldRetriesLocked(s.solo)
		ownBeside, ownAlone := maxRetries(own)
		besideOthers, alone = min(besideOthers, ownBeside-held), min(alone, ownAlone-held)
	}
	if others := waiting > 1 || waiting == 1 && q.empty; others {
		alone = besideOthers
	}
	return queue.RetryLimits{BesideOthers: max(0, besideOthers), Max: max(0, alone)}
}

// heldRetriesLocked returns the number of a queue's retries that run, are buffered or wait to
// run solo.
func (q *servedQueue) heldRetriesLocked(solo *soloRuns) int {
	held := q.retries + solo.retriesOf(q)
	for _, a := range q.buffer {
		if a.retry {
			held++
		}
	}
	return held
}
