package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
)

// A Handler runs jobs of a kind. It is called by many goroutines at once. What
// it returns says what becomes of the job: nil: it has succeeded; [Snooze],
// [Discard], [Dead], [RetryAfter]; any other error, or a panic: it failed, and is
// retried while it has attempts left. It must return soon after its context has
// ended.
type Handler func(ctx context.Context, job *queue.Job) error

// Middleware goes around handlers.
type Middleware func(next Handler) Handler

// A Kind says how jobs of one kind are run. Zero values leave it to the pool.
type Kind struct {
	Timeout     time.Duration  // of an attempt, where the job has none of its own
	MaxAttempts int            // where the job has none of its own
	Backoff     delayed.Policy // how long a failed job waits
}

// kind is a Kind with its defaults and its handler with all middleware.
type kind struct {
	Kind
	handler Handler
	unknown bool // there is no handler
}

// last reports whether a job has no attempt left after one more that fails.
func (k *kind) last(job *queue.Job) bool {
	if k.unknown {
		return unknownTries(job)+1 >= unknownAttempts
	}
	most := k.MaxAttempts
	if job.MaxAttempts > 0 {
		most = job.MaxAttempts
	}
	return job.Attempts-job.Forgiven+1 >= most
}

func (k *kind) timeout(job *queue.Job) time.Duration {
	if job.Timeout > 0 {
		return job.Timeout
	}
	return k.Timeout
}

// Handle makes handler run the jobs of a kind, instead of an earlier one. It
// may be called while the pool runs.
func (p *Pool) Handle(name string, handler Handler, how Kind) {
	if how.Timeout <= 0 {
		how.Timeout = p.config.Timeout
	}
	if how.MaxAttempts <= 0 {
		how.MaxAttempts = p.config.MaxAttempts
	}
	if how.Backoff == nil {
		how.Backoff = p.config.Backoff
	}
	for i := len(p.config.Middleware) - 1; i >= 0; i-- {
		handler = p.config.Middleware[i](handler)
	}
	p.executor.kinds.Store(name, &kind{Kind: how, handler: handler})
}

// Handle makes handler run the jobs of A's kind. Args that are no JSON for an A
// make a job dead at once.
func Handle[A queue.Args](p *Pool, handler func(ctx context.Context, job *queue.Job, args A) error, how Kind) {
	var zero A
	p.Handle(zero.Kind(), Typed(handler), how)
}

// Typed makes a [Handler] of a function that takes args of type A.
func Typed[A queue.Args](handler func(ctx context.Context, job *queue.Job, args A) error) Handler {
	return func(ctx context.Context, job *queue.Job) error {
		var args A
		if err := json.Unmarshal(job.Args, &args); err != nil {
			return Dead(fmt.Errorf("args of %s: %w", job.Kind, err))
		}
		return handler(ctx, job, args)
	}
}

// ErrUnknownKind is the error of a job whose kind no handler of the pool is for.
var ErrUnknownKind = errors.New("this worker has no handler for the kind")

// Jobs of an unknown kind are retried this often in a row, whatever attempts
// they have, with waits of up to five minutes: a deploy may be under way. That
// takes some nine minutes.
const unknownAttempts = 10

func unknownKind() *kind {
	return &kind{
		unknown: true,
		Kind: Kind{
			Timeout: time.Minute,
			Backoff: func(job *queue.Job, _ error) time.Duration {
				return min(5*time.Minute, time.Second<<unknownTries(job))
			},
		},
		handler: func(_ context.Context, job *queue.Job) error {
			return fmt.Errorf("%w: %s", ErrUnknownKind, job.Kind)
		},
	}
}

// unknownTries is how many of the latest attempts in a row found no handler.
func unknownTries(job *queue.Job) (n int) {
	for _, failure := range slices.Backward(job.Errors) {
		if failure.Attempt <= job.Forgiven || !strings.HasPrefix(failure.Error, ErrUnknownKind.Error()) {
			break
		}
		n++
	}
	return n
}
