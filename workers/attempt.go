package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"skidway/queue"
)

// An attempt is one delivery of a job to this worker, from its fetch until its
// outcome is written.
type attempt struct {
	job     *queue.Job
	queue   *servedQueue
	session *leaseSession

	settled atomic.Bool // its outcome is decided: whatever sets this writes the outcome
	marked  bool        // the lease says in Redis that it runs solo
	solo    atomic.Bool // it runs solo: whatever clears this lets other jobs start

	mu       sync.Mutex
	executor *executor // executor, kind, cancel and timer are set at the start
	kind     *kind
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	cause    error // why it was interrupted
	result   []byte
	log      *slog.Logger      // set when the handler first asks for it
	lines    *queue.LogHandler // keeps the lines of log with the job
	logEnded bool              // lines are no longer kept
}

// A jobContext is the context of a handler. It has no parent that could end it,
// so that a start costs little; the attempt ends it.
type jobContext struct {
	context.Context
	attempt  *attempt
	deadline time.Time
}

type attemptKey struct{}

// Deadline returns when the attempt's time is up.
func (c *jobContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value returns the attempt for its key.
func (c *jobContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c.attempt
	}
	return c.Context.Value(key)
}

// start returns the handler's context, or why the job can't be started any more.
func (a *attempt) start(x *executor, kind *kind) (context.Context, error) {
	now := time.Now()
	deadline := now.Add(kind.timeout(a.job))
	if last := a.job.LocalDeadline(); !last.IsZero() && last.Before(deadline) {
		deadline = last
	}
	if !deadline.After(now) {
		return nil, Dead(fmt.Errorf("its deadline %s had passed before it was started", a.job.Deadline.Format(time.RFC3339)))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause != nil {
		return nil, a.cause
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.executor, a.kind, a.cancel = x, kind, cancel
	a.timer = time.AfterFunc(deadline.Sub(now), func() { a.interrupt(ErrTimeout) })
	return &jobContext{ctx, a, deadline}, nil
}

// call calls the handler and makes a panic an error.
func (a *attempt) call(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return a.kind.handler(ctx, a.job)
}

// interrupt ends the context of a job that runs, and keeps one that does not from
// being started. If the handler doesn't return within the grace it is abandoned.
func (a *attempt) interrupt(cause error) {
	a.mu.Lock()
	first, cancel := a.cause == nil, a.cancel
	if first {
		a.cause = cause
	}
	a.mu.Unlock()
	if !first || cancel == nil {
		return
	}
	cancel(cause)
	a.timer.Stop()
	time.AfterFunc(a.executor.config.Grace, func() { a.executor.abandon(a) })
}

// release frees what the context and the log hold. It returns the result, and why
// the attempt was interrupted, nil if it was not.
func (a *attempt) release() (result []byte, cause error) {
	a.closeLog()
	a.mu.Lock()
	result, cause, cancel := a.result, a.cause, a.cancel
	a.mu.Unlock()
	if cancel != nil {
		a.timer.Stop()
		cancel(context.Canceled)
	}
	return result, cause
}

// handBack returns a job that was not started to the front of its queue.
func (a *attempt) handBack() {
	if a.settled.CompareAndSwap(false, true) {
		a.session.completer.add(queue.Completion{Job: a.job, Disposition: queue.AttemptReturned})
	}
}

// MaxResult is the most bytes of a result.
const MaxResult = 1 << 20

// SetResult sets what the job came to, at most [MaxResult] bytes. It is written
// if the job succeeds, kept if the job is retained, and given to those who wait
// for it. It does not block and doesn't copy result. ctx is the handler's; it is
// an error outside of a handler.
func SetResult(ctx context.Context, result []byte) error {
	a, err := attemptOf(ctx)
	if err != nil {
		return err
	}
	if len(result) > MaxResult {
		return fmt.Errorf("%w: result of %d bytes: at most %d", queue.ErrInvalid, len(result), MaxResult)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result = result
	return nil
}

// SetResultJSON is [SetResult] with value encoded as JSON.
func SetResultJSON(ctx context.Context, value any) error {
	result, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("set the result: %w", err)
	}
	return SetResult(ctx, result)
}

// SetProgress writes how far the job is, for people: at most
// [queue.MaxProgress] bytes. It blocks until Redis has it. ctx is the
// handler's; it is an error outside of a handler.
func SetProgress(ctx context.Context, progress []byte) error {
	a, err := attemptOf(ctx)
	if err != nil {
		return err
	}
	return a.queue.queue.SetJobProgress(ctx, a.job, progress)
}

func attemptOf(ctx context.Context) (*attempt, error) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return nil, fmt.Errorf("%w: this context is not a handler's", queue.ErrInvalid)
	}
	return a, nil
}

// closeWait is how long the end of a job waits for its log to be written, and the
// end of a session for its lease to be closed.
const closeWait = 2 * time.Second

// Logger returns a handler's logger, whose latest lines of level Info and above
// are kept with the job, see [queue.LogHandler]. All of them go on to
// [Config.Logger], with the id and the kind of the job. ctx is the handler's;
// outside of a handler it is slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	a, err := attemptOf(ctx)
	if err != nil {
		return slog.Default()
	}
	next := a.executor.config.Logger.With("id", a.job.ID, "kind", a.job.Kind)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logEnded {
		return next
	}
	if a.log == nil {
		a.lines = queue.NewLogHandler(a.executor.client, a.job, next.Handler())
		a.log = slog.New(a.lines)
	}
	return a.log
}

// closeLog writes what was logged. That comes before the outcome is written: from
// then on the job has no more lines.
func (a *attempt) closeLog() {
	a.mu.Lock()
	lines, ended := a.lines, a.logEnded
	a.logEnded = true
	a.mu.Unlock()
	if lines == nil || ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_ = lines.Close(ctx) // lines that can't be kept went to the pool's log
}
