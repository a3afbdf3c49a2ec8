package workers

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
)

// Defaults of [Config].
const (
	DefaultConcurrency = 16
	DefaultGrace       = 10 * time.Second
	DefaultDrain       = 25 * time.Second
)

// Config of a [Pool]. The zero value serves the default queue.
type Config struct {
	// Queues are served in this order if Strict, else by their weights.
	// Empty: [queue.DefaultQueue].
	Queues []Queue
	Strict bool

	// Concurrency is the most handlers that run at once; zero means
	// [DefaultConcurrency].
	Concurrency int

	// Lease is how long the worker may be silent before its jobs go to
	// others; zero means [queue.DefaultLease].
	Lease time.Duration

	// Timeout of an attempt and MaxAttempts of a job where neither job nor
	// kind says; zero means [queue.DefaultTimeout] and
	// [queue.DefaultMaxAttempts].
	Timeout     time.Duration
	MaxAttempts int

	// Backoff says how long a failed job waits for its next attempt; nil
	// means the zero [delayed.Backoff].
	Backoff delayed.Policy

	// Grace is how long a handler may go on when its context has ended. Then
	// it is left behind: its job goes on without it. Zero means
	// [DefaultGrace].
	Grace time.Duration

	// Drain is how long running handlers get when [Pool.Run]'s context ends
	// or the worker is stopped from another process; zero means
	// [DefaultDrain].
	Drain time.Duration

	// Crashes is how often a job may crash its worker while it runs alone
	// before it is dead; zero means [queue.DefaultCrashes].
	Crashes int

	// IsFailure says which errors use up an attempt; nil: all.
	IsFailure func(error) bool

	// Middleware goes around all handlers, the first outermost.
	Middleware []Middleware

	// Hooks are told what happens.
	Hooks Hooks

	// Logger is told what a person should know; nil: slog.Default().
	Logger *slog.Logger

	// Name is shown with the worker; empty: host name and process id.
	Name string
}

// A Queue says how a pool serves one queue, or all whose names match a pattern.
type Queue struct {
	// Name is a queue's name, or a pattern as of path.Match ("tenant-*").
	// Queues that match and appear later are served too.
	Name string

	// Weight is the queue's share of jobs while several have some; zero
	// means 1. Not used if the pool is strict.
	Weight int

	// Concurrency is the most handlers of this queue at once; zero: that of
	// the pool.
	Concurrency int
}

func (q Queue) pattern() bool { return strings.ContainsAny(q.Name, "*?[") }

// Hooks are called by the pool's goroutines and should be quick. Any may be nil.
type Hooks struct {
	// Started is called before a handler is.
	Started func(job *queue.Job)

	// Ended is called when it is clear what becomes of the job.
	Ended func(job *queue.Job, report Report)

	// LeaseLost is called when the pool was silent for so long that its jobs
	// of a queue went to others.
	LeaseLost func(queue string)

	// Exhausted is called when a job has failed for good, before it is dead.
	Exhausted func(ctx context.Context, job *queue.Job, err error)
}

// A Report is how an attempt ended.
type Report struct {
	As       queue.As
	Err      error         // what the handler returned
	Duration time.Duration // of the handler
	Wait     time.Duration // until the next attempt, if there is one
}

// validate returns an error that names the first field whose value is not allowed.
func (c *Config) validate() error {
	for _, field := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"Concurrency", c.Concurrency, c.Concurrency < 0},
		{"MaxAttempts", c.MaxAttempts, c.MaxAttempts < 0},
		{"Crashes", c.Crashes, c.Crashes < 0},
		{"Lease", c.Lease, c.Lease < 0},
		{"Timeout", c.Timeout, c.Timeout < 0},
		{"Grace", c.Grace, c.Grace < 0},
		{"Drain", c.Drain, c.Drain < 0},
	} {
		if field.negative {
			return fmt.Errorf("%w: %s is %v: it can't be below zero", queue.ErrInvalid, field.name, field.value)
		}
	}
	for _, q := range c.Queues {
		if err := q.validate(); err != nil {
			return err
		}
	}
	return nil
}

// withDefaults returns the configuration with its defaults.
func (c Config) withDefaults() Config {
	if len(c.Queues) == 0 {
		c.Queues = []Queue{{Name: queue.DefaultQueue}}
	}
	c.Queues = slices.Clone(c.Queues)
	for i := range c.Queues {
		setDefault(&c.Queues[i].Weight, 1)
	}
	setDefault(&c.Concurrency, DefaultConcurrency)
	setDefault(&c.Lease, queue.DefaultLease)
	setDefault(&c.Timeout, queue.DefaultTimeout)
	setDefault(&c.MaxAttempts, queue.DefaultMaxAttempts)
	setDefault(&c.Crashes, queue.DefaultCrashes)
	setDefault(&c.Grace, DefaultGrace)
	setDefault(&c.Drain, DefaultDrain)
	if c.Backoff == nil {
		c.Backoff = delayed.Backoff{}.Policy()
	}
	if c.IsFailure == nil {
		c.IsFailure = func(error) bool { return true }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func (q Queue) validate() error {
	if q.Weight < 0 || q.Concurrency < 0 {
		return fmt.Errorf("%w: queue %s: weight %d, concurrency %d: they can't be below zero", queue.ErrInvalid, q.Name, q.Weight, q.Concurrency)
	}
	if q.pattern() {
		if _, err := path.Match(q.Name, ""); err != nil {
			return fmt.Errorf("%w: queue pattern %q: %w", queue.ErrInvalid, q.Name, err)
		}
		return nil
	}
	_, err := queue.QueueOf(q.Name + ":0:d1")
	if err != nil {
		return fmt.Errorf("%w: queue %.140q: use 1 to 128 letters, digits, '.', '_' or '-', or a pattern", queue.ErrInvalid, q.Name)
	}
	return nil
}
