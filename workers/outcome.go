package workers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"skidway/queue"
)

// Errors that [context.Cause] returns for the context of a handler.
var (
	// ErrTimeout: the attempt took longer than the job's timeout, or the job's
	// deadline has passed. The job is retried.
	ErrTimeout = errors.New("the job's time is up")

	// ErrCancelled: the job was cancelled. It is not retried.
	ErrCancelled = errors.New("the job was cancelled")

	// ErrShutdown: the worker stops and the time to drain is over. The job goes
	// back to the front of its queue, and no attempt is used.
	ErrShutdown = errors.New("the worker is shutting down")

	// ErrLeaseLost: the worker could not renew its lease in time. Another worker
	// runs the job again, and nothing that this attempt returns is written.
	ErrLeaseLost = queue.ErrLeaseLost
)

// Snooze returns an error that makes the job run again after d. No attempt is used.
func Snooze(d time.Duration) error { return snooze(max(0, d)) }

// Discard returns an error by which a handler ends its job because there is
// nothing to do. The job is discarded and has not failed.
func Discard(reason string) error { return discard(reason) }

// Dead returns an error that wraps err and makes the job dead at once, whatever
// attempts it has left: another attempt would not help.
func Dead(err error) error { return &dead{err} }

// RetryAfter returns an error that wraps err and retries the job after d, instead
// of the wait of the backoff policy. An attempt is used.
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

// text returns the text of an error, which is kept with the job. The stack of a panic is kept
// beside it.
func text(err error) string {
	if err == nil {
		return "no error was given"
	}
	text := err.Error()
	if stack := stackOf(err); stack != "" {
		text = strings.Replace(text, "\n"+stack, "", 1)
	}
	return text
}

// stackOf returns the stack of a panic, "" for other errors.
func stackOf(err error) string {
	if panicked, ok := errors.AsType[*PanicError](err); ok {
		return panicked.Stack
	}
	return ""
}

// A PanicError is the error of a handler that panicked.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// outcome returns the outcome of a job whose handler returned err. cause is the
// cause of the end of its context, nil if it has not ended.
func (k *registration) outcome(job *queue.Job, err, cause error, isFailure func(error) bool) queue.Completion {
	outcome := queue.Completion{Job: job}
	discarded, isDiscard := errors.AsType[discard](err)
	_, isDead := errors.AsType[*dead](err)
	snoozed, isSnooze := errors.AsType[snooze](err)
	switch {
	case errors.Is(cause, queue.ErrLeaseLost): // its outcome is refused, whatever it is
		outcome.Disposition = queue.AttemptReturned
	case err == nil:
		outcome.Disposition = queue.AttemptSucceeded
	case errors.Is(cause, ErrCancelled):
		outcome.Disposition, outcome.Reason = queue.AttemptCancelled, text(err)
	case isDiscard:
		outcome.Disposition, outcome.Reason = queue.AttemptDiscarded, string(discarded)
	case isDead:
		outcome.Disposition, outcome.Reason = queue.AttemptDead, text(err)
	case isSnooze:
		outcome.Disposition, outcome.Wait = queue.AttemptSnoozed, time.Duration(snoozed)
	case errors.Is(cause, ErrShutdown):
		outcome.Disposition = queue.AttemptReturned
	case !k.unknown && !isFailure(err):
		outcome.Disposition, outcome.Wait = queue.AttemptSnoozed, k.wait(job, err)
	case k.last(job):
		outcome.Disposition, outcome.Reason = queue.AttemptDead, text(err)
	default:
		outcome.Disposition, outcome.Reason, outcome.Wait = queue.AttemptRetry, text(err), k.wait(job, err)
	}
	return outcome
}

// wait returns how long the job waits for its next attempt.
func (k *registration) wait(job *queue.Job, err error) time.Duration {
	if after, ok := errors.AsType[*retryAfter](err); ok {
		return after.wait
	}
	return max(0, k.Backoff(job, err))
}
