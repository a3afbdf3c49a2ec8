package workerstest

import (
	"fmt"

	"skidway/queue"
)

// An Outcome is what became of an attempt at a job.
type Outcome struct {
	// Ending is what was written to Redis: the job as its handler saw it, how
	// the attempt ended, how long the job waits for the next one, the reason
	// why it failed, was discarded or cancelled, and the result.
	queue.Ending

	// Err is what the handler returned. A panic is a [workers.PanicError].
	Err error

	// Log and Progress are what is kept with the job, also of earlier
	// attempts.
	Log      []string
	Progress []byte
}

// String tells kind and outcome, as in "email.send: retry in 1s: no route to
// host".
func (o Outcome) String() string {
	text := o.Job.Kind + ": "
	switch o.As {
	case queue.AsSucceeded:
		return text + "succeeded"
	case queue.AsDiscarded:
		text += "discarded"
	case queue.AsCancelled:
		text += "cancelled"
	case queue.AsRetry:
		text += "retry in " + o.Wait.String()
	case queue.AsSnoozed:
		return text + "snoozed for " + o.Wait.String()
	case queue.AsDead:
		text += "dead"
	case queue.AsReturned:
		return text + "handed back"
	default:
		text += fmt.Sprintf("As(%d)", o.As)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}
