package workerstest

import (
	"context"
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
func (w *Worker) attempt(a *attempt) (queue.Ending, error) {
	w.t.Helper()
	ctx, end := context.WithCancelCause(context.WithValue(context.Background(), attemptKey{}, a))
	defer end(nil)
	a.end, a.stuck = end, make(chan struct{})
	job := *a.job
	type answer struct {
		ending queue.Ending
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
		return queue.Ending{}, nil
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
