package workerstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// An attempt is one call of a handler.
type attempt struct {
	job         *queue.Job
	interrupted error // ends the context before the handler is called, unless it is nil

	end   context.CancelCauseFunc
	ctx   context.Context // the handler's
	stuck chan struct{}   // closed when the handler ignores its end
}

type attemptKey struct{}

// attempt calls a handler, in a goroutine of its own so that the test can end if it
// does not return.
func (w *Worker) attempt(a *attempt) (queue.Completion, error) {
	w.t.Helper()
	ctx, end := context.WithCancelCause(context.WithValue(context.Background(), attemptKey{}, a))
	defer end(nil)
	a.end, a.stuck = end, make(chan struct{})
	job := *a.job
	type answer struct {
		completion queue.Completion
		err        error
	}
	answers := make(chan answer, 1)
	go func() {
		defer close(answers)
		completion, err := w.Pool.Attempt(ctx, &job)
		completion.Job = a.job
		answers <- answer{completion, err}
	}()
	select {
	case got, returned := <-answers:
		if !returned { // the handler has called FailNow
			w.t.FailNow()
		}
		return got.completion, got.err
	case <-a.stuck:
		w.t.Fatalf("the handler of %s ignores its context: it has not returned %s after its end; a pool would abandon it", job.Kind, w.grace)
		return queue.Completion{}, nil
	}
}

// enter is the first middleware of the pool.
func (w *Worker) enter(next workers.Handler) workers.Handler {
	return func(ctx context.Context, job *queue.Job) error {
		a, ok := ctx.Value(attemptKey{}).(*attempt)
		if !ok {
			return next(ctx, job) // the pool is run
		}
		a.ctx = ctx
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(w.grace, func() { close(a.stuck) }) })
		defer stop()
		if a.interrupted != nil {
			Interrupt(ctx, a.interrupted)
		}
		return next(ctx, a.job)
	}
}

// Interrupt cancels the context of the running handler, as a pool does, and returns when
// it is cancelled. cause is [workers.ErrTimeout], [workers.ErrCancelled],
// [workers.ErrShutdown] or [workers.ErrLeaseLost]. ctx is the handler's or derived from
// it; for another context, and for one that has ended, Interrupt does nothing. It is
// called by a fake that the handler uses, to end the context in the middle of its work.
func Interrupt(ctx context.Context, cause error) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.end(cause)
		<-a.ctx.Done()
	}
}

// An Outcome is the outcome of an attempt.
type Outcome struct {
	// Completion was written to Redis: the job as the handler received it, the
	// disposition, the wait until the next attempt, the reason of a failure, discard
	// or cancellation, and the result.
	queue.Completion

	// Err is the error of the handler. A panic is a [workers.PanicError].
	Err error

	// Log and Progress are kept with the job, also from earlier attempts.
	Log      []string
	Progress []byte
}

// String returns the kind and the outcome, as in "email.send: retry in 1s: no route to
// host".
func (o Outcome) String() string {
	text := o.Job.Kind + ": "
	switch o.Disposition {
	case queue.AttemptSucceeded:
		return text + "succeeded"
	case queue.AttemptDiscarded:
		text += "discarded"
	case queue.AttemptCancelled:
		text += "cancelled"
	case queue.AttemptRetry:
		text += "retry in " + o.Wait.String()
	case queue.AttemptSnoozed:
		return text + "snoozed for " + o.Wait.String()
	case queue.AttemptDead:
		text += "dead"
	case queue.AttemptReturned:
		return text + "handed back"
	default:
		text += fmt.Sprintf("Disposition(%d)", o.Disposition)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// A Job describes a job for [Run].
type Job struct {
	// Args also define the job's kind; see [queue.Raw] for encoded ones.
	Args queue.Args

	// Options of the job. A delay is ignored.
	Options queue.Options

	// Attempt is the number of the attempt; zero means 1, the first. Those before
	// it have failed: [queue.Job.Attempts] is one less.
	Attempt int

	// Interrupted, if not nil, is the cause with which the handler's context is
	// cancelled before the handler is called, see [Interrupt].
	Interrupted error
}

// Run calls a handler with a new job, which is an active job of an embedded Redis, and
// returns the outcome that the job has in a pool with the default configuration.
// [workers.Typed] makes a [workers.Handler] of a typed one. Use a [Worker] for another
// configuration, for middleware, or if jobs enqueue others.
func Run(t testing.TB, handler workers.Handler, job Job) Outcome {
	t.Helper()
	if job.Attempt < 0 {
		t.Fatalf("attempt %d: they count from 1", job.Attempt)
	}
	job.Options.Delay, job.Options.At = 0, time.Time{}
	w := New(t, nil)
	if _, err := w.Client.Enqueue(context.Background(), job.Args, &job.Options); err != nil {
		t.Fatal(err)
	}
	w.Pool.HandleRaw(job.Args.Kind(), handler, workers.Kind{})
	lease, made := w.next()
	made.Attempts = max(0, job.Attempt-1)
	return w.run(lease, &attempt{job: made, interrupted: job.Interrupted})
}
