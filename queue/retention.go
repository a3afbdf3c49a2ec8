package queue

import (
	"context"
	"fmt"
	"time"
)

// A Retention bounds what a queue keeps of dead and finished jobs. The zero value means the
// defaults.
type Retention struct {
	Dead    RetentionLimit // of dead jobs
	Results RetentionLimit // of finished jobs with [Options.Retain]
}

// A RetentionLimit bounds the jobs that are kept. Jobs beyond any of its fields are dropped:
// the oldest dead jobs, the results that expire first. The defaults are in
// lua/place.lua.
type RetentionLimit struct {
	Jobs  int   // zero means 100,000
	Bytes int64 // of the jobs' records in Redis; zero means 256 MiB

	// Age is the time since the job ended, in whole milliseconds. Zero means 90
	// days for dead jobs, and [Options.Retain] for results. Results for which a
	// client waits are kept for at least half a minute.
	Age time.Duration
}

// SetRetention sets the retention of the queue, for all its clients and workers; the last
// call wins. Jobs beyond the new limits are dropped step by step, when other jobs are kept
// and by [PoolQueue.Tidy]. A shorter age of results applies to new results.
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

// Validate returns an error, which wraps [ErrInvalid], if a limit is invalid.
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

// each yields the limits with their names, in the order of retention.lua.
func (r Retention) each(yield func(string, RetentionLimit) bool) {
	_ = yield("dead", r.Dead) && yield("results", r.Results)
}
