package queue

import (
	"cmp"
	"math"
	"time"
)

// Options of a job. The zero value: run as soon as possible, in [DefaultQueue], at
// Normal priority.
type Options struct {
	// Queue is the queue's name: 1 to 128 letters, digits, '.', '_' or '-'.
	// Empty means [DefaultQueue].
	Queue string

	Priority Priority

	// Delay is the time until the job is due, by Redis's clock, in whole
	// milliseconds. It must not be negative.
	Delay time.Duration

	// At is the time at which the job is due; a time in the past means now.
	// Only one of Delay and At may be set.
	At time.Time

	// MaxAttempts is the number of failed attempts after which the job is dead.
	// Zero means the worker's default, [DefaultMaxAttempts].
	MaxAttempts int

	// Timeout bounds one attempt, in whole milliseconds. Zero means the worker's
	// default, [DefaultTimeout].
	Timeout time.Duration

	// Deadline ends an attempt; a job that would start later is dead instead.
	// The zero value means none.
	Deadline time.Time

	// Unique prevents a second job with the same key. The zero value has no key.
	Unique Unique

	// Retain is how long the job is kept with its outcome and result after it has
	// finished. Zero keeps nothing but counters.
	Retain time.Duration

	// Durable makes the call that adds the job wait until Redis confirms that the job
	// survives a crash of its server: that it is on disk (with appendonly, from Redis
	// 7.2 on), or on a replica, or both where the server has both. A server that can
	// confirm neither adds nothing, with a [skidway.UnfitServerError]. A job that was
	// added and not confirmed within [Config.DurableTimeout] has a
	// [skidway.UnconfirmedError]. Such calls do not share round trips with others.
	Durable bool

	// RequestKey, of at most 512 bytes, makes a call that adds jobs repeatable: for 24 hours, a later
	// call with the same key adds nothing and returns the same ids, with [Result.Repeated]. All jobs
	// of the call must have the same key, digest and queue. A later call with another RequestDigest,
	// which stands for the jobs, adds nothing and has a [DuplicateError] without an Owner. A queue
	// remembers its last 100,000 calls, of 32 MiB together. A call whose jobs are all duplicates is
	// forgotten, if it was sent at once. Middleware must pass on the same jobs for the same call; it
	// may change their headers.
	RequestKey, RequestDigest string

	// Headers are stored with the job unchanged, for trace ids or tenants: at most
	// 64 of them, of 4 KiB together.
	Headers map[string]string

	// Then are jobs, at most 16, that are added when this one succeeds, by the
	// script that finishes it. Jobs for another queue pass through a job of kind
	// [Forward] in this one. Each may have Then of its own. Their args are JSON;
	// {{.result}} in their strings stands for this job's result, see
	// workers.SetResult. Middleware does not see them. A job whose unique key is held
	// by another job than this one is not added: the worker logs it, [Counts.Duplicates]
	// counts it, and this job has it as its Reason and an [EventDuplicate].
	Then []NewJob
}

// A Unique is a key of a queue that at most one job holds.
type Unique struct {
	Key   string // at most 256 bytes; empty: not unique
	Scope Scope
	For   time.Duration // how long, with [ForDuration]
}

// A Scope is the time for which a job holds its unique key. A job that is deleted
// releases it in every scope.
type Scope int8

// The scopes.
const (
	UntilFinished Scope = iota // until the job succeeds, is discarded, is cancelled or is dead
	WhileWaiting               // until a worker takes the job
	ForDuration                // for [Unique.For] after the job was added, also when it has ended
)

const (
	maxUniqueKey  = 256
	maxRequestKey = 512
	maxHeaders    = 64
	maxHeaderSize = 4 << 10

	// maxDelay keeps times exact as doubles, and keeps a typing error from hiding a
	// job forever.
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
	o.Durable = o.Durable || defaults.Durable
	return o
}

// validate returns an error if the options are invalid, apart from Then.
func (o Options) validate() error {
	if err := checkNewName("queue", o.Queue); err != nil {
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
	case !o.Deadline.IsZero() && time.Until(o.Deadline) > maxDelay:
		return invalid("deadline %s: it is more than 100 years away", o.Deadline.Format(time.RFC3339))
	case o.Retain < 0 || o.Retain > maxDelay:
		return invalid("retain %s: want zero to 100 years", o.Retain)
	case len(o.Headers) > maxHeaders || headerSize(o.Headers) > maxHeaderSize:
		return invalid("headers: at most %d, of %d bytes together", maxHeaders, maxHeaderSize)
	case len(o.RequestKey) > maxRequestKey || o.RequestKey == "" && o.RequestDigest != "":
		return invalid("a request key of %d bytes: want 1 to %d", len(o.RequestKey), maxRequestKey)
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
