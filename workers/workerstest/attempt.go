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
	interrupted error // ends the context before the handler is called; nil: does not

	end   context.CancelCauseFunc
	ctx   context.Context // the handler's
	stuck chan struct{}   // closed when the handler ignores its end
}

type attemptKey struct{}

// attempt calls a handler, in a goroutine of its own so that it can be given up.
func (w *Worker) attempt(a *attempt) (queue.Completion, error) {
	w.t.Helper()
	ctx, end := context.WithCancelCause(context.WithValue(context.Background(), attemptKey{}, a))
	defer end(nil)
	a.end, a.stuck = end, make(chan struct{})
	job := *a.job
	type answer struct {
		ending queue.Completion
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		defer close(answers)
		ending, err := w.Pool.Attempt(ctx, &job)
		ending.Job = a.job
		answers <- answer{ending, err}
	}()
	select {
	case got, returned := <-answers:
		if !returned { // the handler has called FailNow
			w.t.FailNow()
		}
		return got.ending, got.err
	case <-a.stuck:
		w.t.Fatalf("the handler of %s ignores its context: it goes on %s after that has ended; a pool would leave it behind", job.Kind, w.grace)
		return queue.Completion{}, nil
	}
}

// enter is the first middleware of the pool.
func (w *Worker) enter(next workers.Handler) workers.Handler {
	return func(ctx context.Context, job *queue.Job) error {
		a, ok := ctx.Value(attemptKey{}).(*attempt)
		if !ok {
			return next(ctx, job) // somebody runs the pool
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

// Interrupt ends the context of the handler that runs, as a pool does, and
// returns when it has ended. cause is what context.Cause gives then:
// [workers.ErrTimeout], [workers.ErrCancelled], [workers.ErrShutdown] or
// [queue.ErrLeaseLost]. ctx is the handler's or one made of it. It is for what a
// test puts under a handler: a fake that the handler calls ends the context in
// the middle of its work. With another context Interrupt does nothing, and so it
// does when the handler's has ended before.
func Interrupt(ctx context.Context, cause error) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.end(cause)
		<-a.ctx.Done()
	}
}

// An Outcome is what became of an attempt at a job.
type Outcome struct {
	// Completion is what was written to Redis: the job as its handler saw it, how
	// the attempt ended, how long the job waits for the next one, the reason
	// why it failed, was discarded or cancelled, and the result.
	queue.Completion

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
		text += fmt.Sprintf("As(%d)", o.Disposition)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// A Job is made up for [Run].
type Job struct {
	// Args are of the job's kind. Bytes go in by [queue.Raw].
	Args queue.Args

	// Options are those of an enqueue. A delay is passed over.
	Options queue.Options

	// Attempt is which one it is; zero means 1, the first. Those before it
	// have failed: the handler sees one less in [queue.Job.Attempts].
	Attempt int

	// Interrupted is why the handler's context has ended when the handler is
	// called, see [Interrupt]; nil: it has not.
	Interrupted error
}

// Run calls a handler with a made-up job, which is an active job of an embedded
// Redis, and says what becomes of the job in a pool that is set up as by
// default. A typed handler goes in by [workers.Typed]. Use a [Worker] for other
// settings, middleware, or jobs that lead to others.
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
	w.Pool.Handle(job.Args.Kind(), handler, workers.Kind{})
	lease, made := w.next()
	made.Attempts = max(0, job.Attempt-1)
	return w.run(lease, &attempt{job: made, interrupted: job.Interrupted})
}
