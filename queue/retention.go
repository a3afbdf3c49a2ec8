package queue

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Retention bounds what a queue keeps of dead and finished jobs. The zero value means the
// defaults.
type Retention struct {
	Dead    RetentionLimit // of dead jobs
	Results RetentionLimit // of finished jobs with [Options.Retain]

	// IfVersion is the version, from [Queue.Retention], that [Queue.SetRetention] replaces: if there
	// is another one, the error is [ErrChanged]. Empty means any.
	IfVersion string
}

// A RetentionLimit bounds the jobs that are kept. Jobs beyond any of its fields are dropped:
// the oldest dead jobs, the results that expire first. Results that expire within half a
// minute, for which clients may wait, may be as many and as large again. The defaults are in
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
	if err := q.register(ctx); err != nil {
		return err
	}
	args := make([]any, 0, 7)
	for _, keep := range r.each {
		args = append(args, keep.Jobs, keep.Bytes, keep.Age.Milliseconds())
	}
	reply, err := q.run(ctx, retentionScript, append(args, r.IfVersion)...)
	if err == nil && reply.Word == "moved" {
		err = fmt.Errorf("retention of queue %s: %w", q.name, ErrChanged)
	}
	return err
}

// Retention returns the retention of the queue as it was set, zero fields mean the defaults, and its
// version.
func (q *Queue) Retention(ctx context.Context) (r Retention, version string, err error) {
	var fields []string
	for archive := range r.each {
		fields = append(fields, archive+"_most", archive+"_most_bytes", archive+"_most_ms")
	}
	db := q.client.db
	err = db.Retry(ctx, func() error {
		values, err := db.HMGet(ctx, q.keys[keyMeta], fields...).Result()
		if err != nil {
			return err
		}
		var numbers [6]int64
		texts := make([]string, len(fields))
		for i, value := range values {
			text, _ := value.(string)
			texts[i] = cmp.Or(text, "0")
			numbers[i], _ = strconv.ParseInt(text, 10, 64) // missing or damaged: zero, the default
		}
		for i, limit := range []*RetentionLimit{&r.Dead, &r.Results} {
			*limit = RetentionLimit{Jobs: int(numbers[3*i]), Bytes: numbers[3*i+1], Age: time.Duration(numbers[3*i+2]) * time.Millisecond}
		}
		version = strings.Join(texts, ".")
		return nil
	})
	if err != nil {
		return Retention{}, "", fmt.Errorf("retention of queue %s: %w", q.name, err)
	}
	return r, version, nil
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
