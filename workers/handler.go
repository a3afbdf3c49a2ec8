package workers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
)

// A Handler runs jobs of one kind, whatever the type of their args. It must be safe
// for concurrent use and return soon after its context has ended. Its error decides
// the outcome of the attempt: nil means that the job has succeeded; [Snooze],
// [Discard], [Dead] and [RetryAfter] make errors with another outcome; after any
// other error, or a panic, the job is retried while it has attempts left.
type Handler func(ctx context.Context, job *queue.Job) error

// Middleware returns a handler that calls next.
type Middleware func(next Handler) Handler

// A Job is a job whose args have type A. Its other fields are those of the
// [queue.Job], whose own Args are the JSON that was stored.
type Job[A queue.Args] struct {
	*queue.Job
	Args A
}

// A Kind has the settings of one kind of jobs. Zero values mean those of the
// pool's [Config].
type Kind struct {
	Timeout     time.Duration  // of an attempt, where the job has none
	MaxAttempts int            // of a job that has none
	Backoff     delayed.Policy // returns how long a failed job waits
}

// Handle makes the pool run the jobs of A's kind by handler, which must be safe
// for concurrent use and return soon after its context has ended; see [Handler]
// for what its error means. It replaces an earlier handler of the kind and may be
// called while the pool runs. A job whose args are not the JSON of an A is dead at
// once; so is one whose args have a method Check that returns an error.
func Handle[A queue.Args](p *Pool, handler func(ctx context.Context, job *Job[A]) error) {
	HandleKind(p, Kind{}, handler)
}

// HandleKind is [Handle] with settings of the kind.
func HandleKind[A queue.Args](p *Pool, kind Kind, handler func(ctx context.Context, job *Job[A]) error) {
	var zero A
	p.HandleRaw(zero.Kind(), Typed(handler), kind)
}

// HandleRaw makes the pool run the jobs of the kind with this name by handler, which
// decodes their args itself, see [queue.Raw]. [Handle] is for args that have a type.
func (p *Pool) HandleRaw(name string, handler Handler, settings Kind) {
	if settings.Timeout <= 0 {
		settings.Timeout = p.config.Timeout
	}
	if settings.MaxAttempts <= 0 {
		settings.MaxAttempts = p.config.MaxAttempts
	}
	if settings.Backoff == nil {
		settings.Backoff = p.config.Backoff
	}
	for _, wrap := range slices.Backward(p.config.Middleware) {
		handler = wrap(handler)
	}
	p.executor.kinds.Store(name, &registration{Kind: settings, handler: handler})
}

// Typed returns a [Handler] that decodes the args of its jobs as [Handle] does.
func Typed[A queue.Args](handler func(ctx context.Context, job *Job[A]) error) Handler {
	return func(ctx context.Context, job *queue.Job) error {
		typed := Job[A]{Job: job}
		err := json.Unmarshal(job.Args, &typed.Args)
		if args, ok := any(typed.Args).(interface{ Check() error }); ok && err == nil {
			err = args.Check()
		}
		if err != nil {
			return Dead(fmt.Errorf("args of %s: %w", job.Kind, err))
		}
		return handler(ctx, &typed)
	}
}

// FieldError is the error of one field of args, as the method Check of the built-in
// kinds returns it. It matches [queue.ErrInvalid].
type FieldError struct {
	Field   string // the name in JSON
	Problem string // what is wrong, and what is allowed
}

func (e *FieldError) Error() string { return "field " + e.Field + ": " + e.Problem }

// Is makes it match [queue.ErrInvalid].
func (e *FieldError) Is(target error) bool { return target == queue.ErrInvalid }

// A registration is a Kind with its defaults and its handler with all middleware.
type registration struct {
	Kind
	handler Handler
	unknown bool // there is no handler
}

// last reports whether the job has no attempt left if this one fails.
func (k *registration) last(job *queue.Job) bool {
	if k.unknown {
		return unknownTries(job)+1 >= unknownAttempts
	}
	maxAttempts := k.MaxAttempts
	if job.MaxAttempts > 0 {
		maxAttempts = job.MaxAttempts
	}
	return job.Attempts-job.Forgiven+1 >= maxAttempts
}

func (k *registration) timeout(job *queue.Job) time.Duration {
	if job.Timeout > 0 {
		return job.Timeout
	}
	return k.Timeout
}

// IdempotencyKey returns a text that is the same for each attempt of the job, and differs
// from that of all other jobs, also of those in another Redis unless one is a copy of the
// other. Services that drop repeated requests can recognize them by it. It begins with the
// job's id, and blocks until Redis has answered. ctx must be a handler's; another one is
// an error.
func IdempotencyKey(ctx context.Context) (string, error) {
	a, err := attemptOf(ctx)
	if err != nil {
		return "", err
	}
	salt, err := a.queue.queue.Salt(ctx)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(salt + a.job.ID))
	return fmt.Sprintf("%s.%x", a.job.ID, digest[:8]), nil
}

// ErrUnknownKind is the error of a job whose kind the pool has no handler for.
var ErrUnknownKind = errors.New("this worker has no handler for the kind")

// unknownAttempts is how often in a row jobs of an unknown kind are tried, whatever
// attempts they have, with waits of up to five minutes: in the nine minutes that it
// takes, a deployment may bring the handler.
const unknownAttempts = 10

func unknownKind() *registration {
	return &registration{
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

// unknownTries returns how many of the latest attempts in a row found no handler.
func unknownTries(job *queue.Job) (n int) {
	for _, failure := range slices.Backward(job.Errors) {
		if failure.Attempt <= job.Forgiven || !strings.HasPrefix(failure.Error, ErrUnknownKind.Error()) {
			break
		}
		n++
	}
	return n
}
