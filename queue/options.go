package queue

import (
	"cmp"
	"math"
	"time"
)

// Defaults of a job and of [Options].
const (
	DefaultQueue       = "default"
	DefaultMaxAttempts = 25
	DefaultTimeout     = 30 * time.Minute
)

// Options say how a job is to be run. The zero value: now, in [DefaultQueue],
// at Normal priority.
type Options struct {
	// Queue is its name: 1 to 128 letters, digits, '.', '_' or '-'. Empty
	// means [DefaultQueue].
	Queue string

	Priority Priority

	// Delay makes the job wait, by Redis's clock, in whole milliseconds. Below
	// zero is refused.
	Delay time.Duration

	// At makes the job wait until then; a time in the past is now. At most
	// one of Delay and At may be given.
	At time.Time

	// MaxAttempts is how often it may fail before it is dead; zero leaves
	// it to the worker ([DefaultMaxAttempts] unless it says otherwise).
	MaxAttempts int

	// Timeout bounds one attempt, in whole milliseconds; zero leaves it to
	// the worker ([DefaultTimeout] unless it says otherwise).
	Timeout time.Duration

	// Deadline is when running it makes no sense any more: an attempt ends
	// then, and one that would start later is dead instead. Zero: none.
	Deadline time.Time

	// Unique keeps a second job with the same key out. The zero value does
	// not.
	Unique Unique

	// Retain keeps what became of the job (its outcome and result) this
	// long after it has finished; zero keeps nothing but counters.
	Retain time.Duration

	// Headers go with the job, untouched: traces, tenants. At most 64, of
	// 4 KiB together.
	Headers map[string]string

	// Then are jobs that are enqueued when this one has succeeded, by the
	// same script that finishes it; those of other queues pass through a job
	// of kind [Forward] in this one. At most 16, each of which may have such
	// jobs of its own. Their args are JSON, in whose texts {{.result}}
	// stands for this job's result; see package workers. Middleware does not
	// see them.
	Then []NewJob
}

// A Unique holds a key of its queue for a job.
type Unique struct {
	Key   string // at most 256 bytes; empty: not unique
	Scope Scope
	For   time.Duration // how long, with [ForDuration]
}

// A Scope says how long a unique key is held. A job that is deleted or purged
// gives it back in every scope.
type Scope int8

// The scopes.
const (
	UntilFinished Scope = iota // until the job succeeds, is discarded, cancelled or dead
	WhileWaiting               // until a worker takes it
	ForDuration                // for [Unique.For] from the enqueue on, whatever becomes of the job
)

const (
	maxUniqueKey  = 256
	maxHeaders    = 64
	maxHeaderSize = 4 << 10

	// maxDelay keeps times exact as doubles and lets no typing error hide a
	// job for ever.
	maxDelay = 100 * 365 * 24 * time.Hour
)

// withDefaults returns the options with the name of their queue.
func (o Options) withDefaults() Options {
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	return o
}

// or returns the options with zero fields taken from defaults.
func (o Options) or(defaults Options) Options {
	if o.Delay == 0 && o.At.IsZero() {
		o.Delay, o.At = defaults.Delay, defaults.At
	}
	if o.Deadline.IsZero() {
		o.Deadline = defaults.Deadline
	}
	if o.Headers == nil {
		o.Headers = defaults.Headers
	}
	if o.Then == nil {
		o.Then = defaults.Then
	}
	o.Queue = cmp.Or(o.Queue, defaults.Queue)
	o.Priority = cmp.Or(o.Priority, defaults.Priority)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, defaults.MaxAttempts)
	o.Timeout = cmp.Or(o.Timeout, defaults.Timeout)
	o.Unique = cmp.Or(o.Unique, defaults.Unique)
	o.Retain = cmp.Or(o.Retain, defaults.Retain)
	return o
}

// validate reports what is wrong with options, beside the jobs that follow.
func (o Options) validate() error {
	if err := checkName("queue", o.Queue); err != nil {
		return err
	}
	switch {
	case !o.Priority.valid():
		return invalid("priority %d: want High, Normal or Low", int8(o.Priority))
	case o.Delay < 0:
		return invalid("delay %s: it can't be below zero", o.Delay)
	case o.Delay != 0 && !o.At.IsZero():
		return invalid("delay %s and time %s: give one of them", o.Delay, o.At.Format(time.RFC3339))
	case o.Delay > maxDelay || !o.At.IsZero() && time.Until(o.At) > maxDelay:
		return invalid("the delay is more than 100 years")
	case o.MaxAttempts < 0 || o.MaxAttempts > math.MaxInt32:
		return invalid("max attempts %d: want zero to %d", o.MaxAttempts, math.MaxInt32)
	case o.Timeout < 0 || o.Timeout > 0 && o.Timeout < time.Millisecond || o.Timeout > maxDelay:
		return invalid("timeout %s: want zero, or 1ms to 100 years", o.Timeout)
	case !o.Deadline.IsZero() && o.Deadline.UnixMilli() <= 0:
		return invalid("deadline %s: it lies before 1970", o.Deadline.Format(time.RFC3339))
	case o.Retain < 0 || o.Retain > maxDelay:
		return invalid("retain %s: want zero to 100 years", o.Retain)
	case len(o.Headers) > maxHeaders || headerSize(o.Headers) > maxHeaderSize:
		return invalid("headers: at most %d, of %d bytes together", maxHeaders, maxHeaderSize)
	}
	return o.Unique.validate()
}

func (u Unique) validate() error {
	switch {
	case u.Key == "" && u != (Unique{}):
		return invalid("unique without a key")
	case len(u.Key) > maxUniqueKey:
		return invalid("unique key of %d bytes: at most %d", len(u.Key), maxUniqueKey)
	case u.Scope < UntilFinished || u.Scope > ForDuration:
		return invalid("unique scope %d is unknown", u.Scope)
	case (u.Scope == ForDuration) != (u.For != 0) || u.For < 0 || u.For > 0 && u.For < time.Millisecond || u.For > maxDelay:
		return invalid("unique for %s: a duration goes with ForDuration, of at least 1ms", u.For)
	}
	return nil
}

func headerSize(headers map[string]string) int {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
	}
	return size
}
