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

	retry       bool        // its job is a retry, see [queue.Job.IsRetry]
	endClaimed  atomic.Bool // the goroutine that sets this ends the attempt: it adds its outcome to the completer, or drops it
	rewrite     bool        // its outcome is written again, because Redis has lost it
	markSolo    bool        // it is to be marked in Redis: no other handler of the pool runs
	currentSolo atomic.Bool // it is the current solo job: the goroutine that clears this lets other jobs start
	ctx         jobContext  // of the handler

	mu       sync.Mutex
	executor *executor // executor and kind are set at the start
	kind     *registration
	started  time.Time // when the handler was called; zero before
	cause    error     // why it was interrupted
	result   []byte
	headers  map[string]string // of the jobs that follow
	log      *slog.Logger      // set by the first call of Logger
	lines    *queue.LogHandler // keeps the lines of log with the job
	logEnded bool              // lines are no longer kept
}

// start prepares the handler's context, and makes the timer interrupt the attempt at its
// deadline. It returns an error if the job can no longer be started.
func (a *attempt) start(x *executor, kind *registration, timer *deadlineTimer, now time.Time) error {
	left := kind.timeout(a.job)
	if last := a.job.LocalTime(a.job.Deadline); !last.IsZero() {
		left = min(left, last.Sub(now))
	}
	if left <= 0 {
		return Dead(fmt.Errorf("its deadline %s had passed before it was started", a.job.Deadline.Format(time.RFC3339)))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause != nil {
		return a.cause
	}
	a.executor, a.kind, a.started = x, kind, now
	a.ctx.attempt, a.ctx.deadline = a, now.Add(left)
	timer.begin(a)
	return nil
}

// call calls the handler. It returns an error if the handler panics.
func (a *attempt) call(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return a.kind.handler(ctx, a.job)
}

// interrupt cancels the context of a running job, or prevents the start of one that
// does not run. If the handler does not return within the grace it is abandoned.
func (a *attempt) interrupt(cause error) {
	a.mu.Lock()
	first, started := a.cause == nil, a.executor != nil
	if first {
		a.cause = cause
	}
	a.mu.Unlock()
	if !first || !started {
		return
	}
	a.ctx.end(cause)
	time.AfterFunc(a.executor.config.Grace, func() { a.executor.abandon(a) })
}

// release closes the log and ends the context. It returns when the handler was called, and the
// cause of an interruption, nil if there was none.
func (a *attempt) release() (started time.Time, cause error) {
	a.closeLog()
	a.mu.Lock()
	started, cause = a.started, a.cause
	a.mu.Unlock()
	a.ctx.end(context.Canceled)
	return started, cause
}

// success returns what the handler has set for the case that its job succeeds.
func (a *attempt) success() (result []byte, headers map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result, a.headers
}

// handBack claims the attempt and returns its job to the front of its queue. It does
// nothing if the attempt is claimed already.
func (a *attempt) handBack() {
	if a.endClaimed.CompareAndSwap(false, true) {
		a.session.completer.add(queue.Completion{Job: a.job, Disposition: queue.AttemptReturned})
	}
}

// MaxResult is the maximal size of a result in bytes.
const MaxResult = 1 << 20

// SetResult sets the result of the job, at most [MaxResult] bytes. If the job succeeds
// the result is returned by [queue.Client.Wait], and kept as long as the job is
// retained. SetResult does not block or copy the result. ctx must be a handler's;
// another one is an error.
//
// In the args of the jobs that follow ([queue.Options.Then]), {{.result}} in a string is
// replaced by the result, {{.result.lines}} by a field of it if it is JSON, and
// {{.job.id}}, {{.job.kind}} and {{.job.queue}} by those of the job. A string that is
// nothing but one such reference becomes the value, which may be a number or an object;
// inside of a longer string, a value that is not a string is written as JSON. If a field
// does not exist, the job is dead, although its handler has succeeded.
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

// SetThenHeaders sets headers for the jobs that follow the job ([queue.Options.Then]), such as the
// context of a trace; they keep headers of their own with the same names. It does not copy the
// headers, which must not be changed afterwards. ctx must be a handler's; another one is an error.
//
// Jobs that follow also have the headers due, flow, traceparent and tracestate of the job before them.
func SetThenHeaders(ctx context.Context, headers map[string]string) error {
	a, err := attemptOf(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.headers = headers
	return nil
}

// SetProgress writes a description of the job's progress, at most 1,024
// bytes. It blocks until Redis has answered. ctx must be a handler's; another one is
// an error.
func SetProgress(ctx context.Context, progress []byte) error {
	a, err := attemptOf(ctx)
	if err != nil {
		return err
	}
	return a.queue.queue.SetProgress(ctx, a.job, progress)
}

func attemptOf(ctx context.Context) (*attempt, error) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return nil, fmt.Errorf("%w: the context is not a handler's", queue.ErrInvalid)
	}
	return a, nil
}

// closeWait bounds how long the end of a job waits until its log is written, and the end
// of a session until its lease is closed.
const closeWait = 2 * time.Second

// Logger returns a logger whose latest records of level Info and above are kept with the
// job, see [queue.LogHandler]. It also passes all records to [Config.Logger], with the
// queue, the id and the kind of the job. ctx must be a handler's; for another one Logger
// returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	a, err := attemptOf(ctx)
	if err != nil {
		return slog.Default()
	}
	next := a.executor.log(a.job)
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

// closeLog writes the log to Redis. It must be called before the outcome is written: a
// finished job accepts no lines.
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
	_ = lines.Close(ctx) // lines that cannot be kept are in the pool's log
}
