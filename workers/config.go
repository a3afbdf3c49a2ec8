package workers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
	"skidway/workers/stats"
)

// Defaults of [Config].
const (
	DefaultConcurrency = 16
	DefaultGrace       = 10 * time.Second
	DefaultDrain       = 25 * time.Second
)

// Config configures a [Pool]. Zero values mean the defaults; a value that is not
// allowed is an error of [Pool.Run].
type Config struct {
	// Queues are served in proportion to their weights: while all have jobs, so
	// are the numbers of jobs that are run. A Strict pool fetches from a queue
	// only when those before it are empty. Empty means [queue.DefaultQueue].
	Queues []Queue
	Strict bool

	// Concurrency is the maximal number of handlers that run at a time; zero
	// means [DefaultConcurrency]. With one, the jobs of a queue run in the
	// queue's order. Otherwise jobs are prefetched while handlers are quick, as
	// many as keep the slots busy for 5 ms, at most 400. Those are handed back
	// when no slot was free for 200 ms.
	//
	// Jobs whose last attempt failed get at most a quarter of the slots while other
	// jobs wait, and one slot less than all while none waits; at least one.
	Concurrency int

	// Lease is the time after which the jobs of a silent worker go to other
	// workers; zero means [queue.DefaultLease].
	Lease time.Duration

	// Timeout of an attempt and MaxAttempts of a job apply where neither the
	// job nor its kind has one; zero means [queue.DefaultTimeout] and
	// [queue.DefaultMaxAttempts].
	Timeout     time.Duration
	MaxAttempts int

	// Backoff returns how long a failed job waits for its next attempt; nil
	// means the zero [delayed.Backoff].
	Backoff delayed.Policy

	// Grace is the time that a handler has to return after its context has
	// ended. Then it is abandoned: its job ends without it. As many abandoned
	// handlers as there are slots cost nothing, each one more costs a slot until
	// it returns. Zero means [DefaultGrace].
	Grace time.Duration

	// Drain is the time that running handlers have to return when the context
	// of [Pool.Run] ends or the pool is stopped; zero means [DefaultDrain].
	Drain time.Duration

	// Crashes is the number of deaths of workers after which a job is dead; zero
	// means [queue.DefaultCrashes]. Only deaths count that leave no other job of
	// its quarantined group as their cause, and the last only if no other job
	// ran beside it. The pool starts no other beside a job that has one death
	// left, for 20 s, or 80 s with three deaths: it is twice as long each further
	// time that the only job of a group is quarantined. The documentation of the
	// package describes quarantine.
	Crashes int

	// Stats is how much is counted for the statistics of the queues, see package stats; empty
	// means [stats.Full].
	Stats stats.Mode

	// IsFailure reports whether an error uses up an attempt; nil means that
	// every error does.
	IsFailure func(error) bool

	// Middleware wraps all handlers, the first outermost.
	Middleware []Middleware

	// Hooks are called when jobs start and end.
	Hooks Hooks

	// Logger logs what an operator should know; nil means [slog.Default].
	Logger *slog.Logger

	// Name is shown with the worker; empty means host name and process id.
	Name string
}

// A Queue configures how a pool serves one queue, or all queues whose names match
// a pattern.
type Queue struct {
	// Name is a queue's name, or a pattern as of [path.Match], such as
	// "tenant-*". Queues that match and are created later are served too.
	Name string

	// Weight is the queue's share of the jobs while several queues have some;
	// zero means 1. A strict pool ignores it.
	Weight int

	// Concurrency is the maximal number of handlers of this queue that run at
	// a time; zero means that of the pool.
	Concurrency int
}

func (q Queue) pattern() bool { return strings.ContainsAny(q.Name, "*?[") }

// Hooks are called by the pool's goroutines and should return quickly. Each may be
// nil.
type Hooks struct {
	// Started is called before a handler is called.
	Started func(job *queue.Job)

	// Ended is called when the outcome of an attempt is decided.
	Ended func(job *queue.Job, report Report)

	// Written is called after a write of outcomes of a queue to Redis that began at a
	// time. After an error, which is nil if they were written, the same outcomes are
	// written again, unless the lease is lost.
	Written func(queue string, outcomes []queue.Completion, began time.Time, err error)

	// LeaseLost is called when the pool could not renew its lease of a queue
	// in time, so that its jobs of that queue go to other workers.
	LeaseLost func(queue string)

	// Exhausted is called when a job has failed for good, before it is dead.
	Exhausted func(ctx context.Context, job *queue.Job, err error)
}

// A Report describes how an attempt ended.
type Report struct {
	Disposition queue.Disposition
	Err         error         // that the handler returned
	Duration    time.Duration // of the handler
	Wait        time.Duration // until the next attempt, if there is one
}

// Validate returns an error that wraps [queue.ErrInvalid] and names the first
// field whose value is not allowed, nil if there is none. [Pool.Run] calls it.
func (c *Config) Validate() error {
	for _, field := range []struct {
		name  string
		value int64
		text  any
	}{
		{"Concurrency", int64(c.Concurrency), c.Concurrency},
		{"MaxAttempts", int64(c.MaxAttempts), c.MaxAttempts},
		{"Crashes", int64(c.Crashes), c.Crashes},
		{"Lease", int64(c.Lease), c.Lease},
		{"Timeout", int64(c.Timeout), c.Timeout},
		{"Grace", int64(c.Grace), c.Grace},
		{"Drain", int64(c.Drain), c.Drain},
	} {
		if field.value < 0 {
			return fmt.Errorf("%w: %s is %v: it must not be negative", queue.ErrInvalid, field.name, field.text)
		}
	}
	if !slices.Contains([]stats.Mode{"", stats.Full, stats.Queues, stats.Off}, c.Stats) {
		return fmt.Errorf("%w: Stats is %q: want %s, %s or %s", queue.ErrInvalid, c.Stats, stats.Full, stats.Queues, stats.Off)
	}
	for i, q := range c.Queues {
		if err := q.validate(fmt.Sprintf("Queues[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (q Queue) validate(place string) error {
	switch {
	case q.Weight < 0:
		return fmt.Errorf("%w: %s.Weight of %s is %d: it must not be negative", queue.ErrInvalid, place, q.Name, q.Weight)
	case q.Concurrency < 0:
		return fmt.Errorf("%w: %s.Concurrency of %s is %d: it must not be negative", queue.ErrInvalid, place, q.Name, q.Concurrency)
	case q.pattern():
		if _, err := path.Match(q.Name, ""); err != nil {
			return fmt.Errorf("%w: %s.Name is %q: %w", queue.ErrInvalid, place, q.Name, err)
		}
		return nil
	}
	if queue.CheckQueueName(q.Name) != nil {
		return fmt.Errorf("%w: %s.Name is %.140q: use 1 to 128 letters, digits, '.', '_' or '-', or a pattern", queue.ErrInvalid, place, q.Name)
	}
	return nil
}

// withDefaults returns the configuration with its defaults.
func (c Config) withDefaults() Config {
	c.Queues = slices.Clone(c.Queues)
	if len(c.Queues) == 0 {
		c.Queues = []Queue{{Name: queue.DefaultQueue}}
	}
	for i := range c.Queues {
		c.Queues[i].Weight = cmp.Or(c.Queues[i].Weight, 1)
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.Lease = cmp.Or(c.Lease, queue.DefaultLease)
	c.Timeout = cmp.Or(c.Timeout, queue.DefaultTimeout)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, queue.DefaultMaxAttempts)
	c.Crashes = cmp.Or(c.Crashes, queue.DefaultCrashes)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Backoff == nil {
		c.Backoff = delayed.Backoff{}.Policy()
	}
	if c.IsFailure == nil {
		c.IsFailure = func(error) bool { return true }
	}
	return c
}
