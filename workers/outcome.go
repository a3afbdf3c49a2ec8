package workers

import (
	"errors"
	"fmt"
	"time"

	"skidway/queue"
)

// Why the context of a handler has ended, as context.Cause tells. The cause of
// a lost lease is [queue.ErrLeaseLost].
var (
	// ErrTimeout: the attempt has taken longer than the job's timeout, or its
	// deadline has passed. It is retried.
	ErrTimeout = errors.New("the job's time is up")

	// ErrCancelled: somebody wants the job no more. It is not retried.
	ErrCancelled = errors.New("the job was cancelled")

	// ErrShutdown: the worker stops and the time to drain is over. The job goes
	// back to the front of its queue, and no attempt is used.
	ErrShutdown = errors.New("the worker is shutting down")
)

// Snooze, returned by a handler, runs the job again after d. No attempt is used.
func Snooze(d time.Duration) error { return snooze(max(0, d)) }

// Discard, returned by a handler, ends the job: there is nothing to do. It
// counts as discarded, not as failed.
func Discard(reason string) error { return discard(reason) }

// Dead, returned by a handler, makes the job dead at once, whatever attempts it
// has left: trying again will not help.
func Dead(err error) error { return &dead{err} }

// RetryAfter, returned by a handler, retries the job after d instead of what the
// retry policy says. An attempt is used.
func RetryAfter(d time.Duration, err error) error { return &retryAfter{max(0, d), err} }

type snooze time.Duration

func (s snooze) Error() string { return "snooze for " + time.Duration(s).String() }

type discard string

func (d discard) Error() string { return "discard: " + string(d) }

type dead struct{ err error }

func (d *dead) Error() string { return text(d.err) }
func (d *dead) Unwrap() error { return d.err }

type retryAfter struct {
	wait time.Duration
	err  error
}

func (r *retryAfter) Error() string { return text(r.err) }
func (r *retryAfter) Unwrap() error { return r.err }

// text gives what an error says; a person reads it with the job.
func text(err error) string {
	if err == nil {
		return "no error was given"
	}
	return err.Error()
}

// A PanicError is a panic of a handler.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap gives the value if the handler panicked with an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// outcome decides what becomes of a job whose handler returned err. cause is why
// its context ended, nil if it did not.
func (k *kind) outcome(job *queue.Job, err, cause error, isFailure func(error) bool) queue.Ending {
	outcome := queue.Ending{Job: job}
	var snoozed snooze
	var discarded discard
	var died *dead
	switch {
	case errors.Is(cause, queue.ErrLeaseLost): // its outcome is refused, whatever it is
		outcome.As = queue.AsReturned
	case err == nil:
		outcome.As = queue.AsSucceeded
	case errors.Is(cause, ErrCancelled):
		outcome.As, outcome.Reason = queue.AsCancelled, text(err)
	case errors.As(err, &discarded):
		outcome.As, outcome.Reason = queue.AsDiscarded, string(discarded)
	case errors.As(err, &died):
		outcome.As, outcome.Reason = queue.AsDead, text(err)
	case errors.As(err, &snoozed):
		outcome.As, outcome.Wait = queue.AsSnoozed, time.Duration(snoozed)
	case errors.Is(cause, ErrShutdown):
		outcome.As = queue.AsReturned
	case !k.unknown && !isFailure(err):
		outcome.As, outcome.Wait = queue.AsSnoozed, k.wait(job, err)
	case k.last(job):
		outcome.As, outcome.Reason = queue.AsDead, text(err)
	default:
		outcome.As, outcome.Reason, outcome.Wait = queue.AsRetry, text(err), k.wait(job, err)
	}
	return outcome
}

// wait returns how long a job waits for its next attempt.
func (k *kind) wait(job *queue.Job, err error) time.Duration {
	var after *retryAfter
	if errors.As(err, &after) {
		return after.wait
	}
	return max(0, k.Backoff(job, err))
}
