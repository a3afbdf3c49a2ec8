package queue

import (
	"context"
	"fmt"
	"time"
)

// What a queue keeps where its [Retention] doesn't say; place.lua has the same.
const (
	DefaultKeptJobs  = 100_000
	DefaultKeptBytes = 256 << 20
	DefaultDeadAge   = 90 * 24 * time.Hour
)

// A Retention says how much a queue keeps of jobs that have ended. The zero value
// is the default.
type Retention struct {
	Dead    RetentionLimit // jobs that failed for good
	Results RetentionLimit // what became of jobs with [Options.Retain]
}

// A Keep bounds what is kept: whatever goes beyond any of its fields is dropped,
// oldest first, or where it is results those that end soonest.
type RetentionLimit struct {
	Jobs  int   // zero: [DefaultKeptJobs]
	Bytes int64 // of what Redis holds of the jobs; zero: [DefaultKeptBytes]

	// Age is since the job ended, in whole milliseconds. Zero: for the dead
	// [DefaultDeadAge], for results as long as the job wants it. Results
	// that somebody waits for stay for half a minute at least.
	Age time.Duration
}

// SetRetention says how much the queue keeps from now on, for all its clients
// and workers; the last call counts. What is there already, and now too much, is
// dropped bit by bit: by what is kept next and by the next [PoolQueue.Tidy]. A
// shorter age for results holds for those to come.
func (q *Queue) SetRetention(ctx context.Context, r Retention) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("queue %s: %w", q.name, err)
	}
	args := make([]any, 0, 6)
	for _, keep := range r.each {
		args = append(args, keep.Jobs, keep.Bytes, keep.Age.Milliseconds())
	}
	if err := q.register(ctx); err != nil {
		return err
	}
	_, err := q.run(ctx, retentionScript, args...)
	return err
}

// Check says what is wrong with it; that error wraps [ErrInvalid].
func (r Retention) Validate() error {
	for name, keep := range r.each {
		if keep.Jobs < 0 || keep.Bytes < 0 || keep.Age < 0 {
			return fmt.Errorf("%w: retention: %s: %d jobs, %d bytes, %s: they can't be below zero", ErrInvalid, name, keep.Jobs, keep.Bytes, keep.Age)
		}
		if keep.Age > 0 && keep.Age < time.Millisecond {
			return fmt.Errorf("%w: retention: %s: an age of %s is less than a millisecond", ErrInvalid, name, keep.Age)
		}
	}
	return nil
}

// each gives the parts by name, in the order of retention.lua.
func (r Retention) each(yield func(string, RetentionLimit) bool) {
	_ = yield("dead", r.Dead) && yield("results", r.Results)
}
