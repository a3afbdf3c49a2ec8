package queue

import (
	"context"
	"fmt"
	"time"
)

// A Recovered says what [PoolQueue.Recover] did.
type RecoverResult struct {
	Returned int  // jobs handed back, to run again
	Dead     int  // jobs that had crashed their worker too often
	More     bool // there is more to do
}

// DefaultCrashes is how many crashes while it ran alone make a job dead.
const DefaultCrashes = 3

// Recover hands jobs of dead workers back, at most a hundred a call. sweep looks also for
// jobs that are held by nobody known, which takes longer and finds nothing
// unless somebody has tampered with keys. crashes zero means [DefaultCrashes].
// Any number of workers may call it.
func (q *PoolQueue) Recover(ctx context.Context, crashes int, sweep bool) (RecoverResult, error) {
	if crashes == 0 {
		crashes = DefaultCrashes
	}
	look := 0
	if sweep {
		look = 1
	}
	reply, err := q.run(ctx, recoverScript, maxRecover, crashes, look)
	return RecoverResult{Returned: int(reply.Int(0)), Dead: int(reply.Int(1)), More: reply.Int(2) == 1}, err
}

// maxRecover and maxMove keep the scripts at about a millisecond: a job costs
// them more than the others.
const (
	maxRecover = 100
	maxMove    = 200
)

// A Moved says what [PoolQueue.MoveDue] did.
type MoveResult struct {
	Jobs  int           // that are in their line now
	More  bool          // others are due already
	Next  time.Duration // until the next one is due; below zero: there is none
	Waker bool          // the caller is the one to come back at that time; others do so a little later
}

// MoveDue moves delayed jobs whose time has come into their lines, in the order
// of their times and at most some hundred a call. Any number of callers may do
// so; who tells them apart. [delayed.Mover] does it on time.
func (q *PoolQueue) MoveDue(ctx context.Context, who string) (MoveResult, error) {
	reply, err := q.run(ctx, moveScript, maxMove, who)
	if err != nil {
		return MoveResult{}, fmt.Errorf("move due jobs: %w", err)
	}
	next := time.Duration(reply.Int(1)) * time.Millisecond
	return MoveResult{Jobs: int(reply.Int(0)), Next: next, More: next == 0, Waker: reply.Int(2) == 1}, nil
}

// Tidy drops what is too old: results whose time is over, dead jobs and counts
// by day of more than [CounterDays] days, unique keys that nobody holds any
// more. Workers call it now and then; any number may, at any time. It goes in
// steps.
func (q *PoolQueue) Tidy(ctx context.Context) error {
	for cursor, more := "0", true; more; {
		reply, err := q.run(ctx, tidyScript, cursor, maxTidy)
		if err != nil {
			return err
		}
		cursor = reply.Text(0)
		more = cursor != "" || reply.Int(1) == 1
	}
	return nil
}

// maxTidy is how much of each sort one step drops.
const maxTidy = 100
