package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A RecoverResult is the result of [PoolQueue.Recover].
type RecoverResult struct {
	Returned int  // jobs quarantined or handed back, or ended because they were cancelled or malformed
	Dead     int  // jobs that this call made dead for too many crashes
	More     bool // whether there is more to do
	Spares   bool // whether an amnesty may spare leases of dead workers: call again when it is over

	// Known has those of the workers named by the caller that have a lease or are being
	// recovered.
	Known []string
}

// Recover quarantines the jobs of dead workers, and hands back those of workers that have
// closed their leases, at most 100 per call. A full scan also recovers workers without a lease;
// it takes longer, and finds what Redis lost and what was changed by hand. A job is dead when
// [Job.Crashes] reaches crashes; zero means [DefaultCrashes]. It is safe to call concurrently.
//
// Only workers that serve the queue may call it: a lease that expires while they do belongs to
// a dead worker.
func (q *PoolQueue) Recover(ctx context.Context, crashes int, fullScan bool, workers ...string) (RecoverResult, error) {
	if crashes == 0 {
		crashes = DefaultCrashes
	}
	args := append([]any{maxRecover, crashes, flag(fullScan)}, anys(workers)...)
	reply, err := q.run(ctx, recoverScript, args...)
	result := RecoverResult{Returned: int(reply.Int(0)), Dead: int(reply.Int(1)), More: reply.Int(2) == 1, Spares: reply.Int(3) == 1}
	for i, worker := range workers {
		if reply.Int(4+i) == 1 {
			result.Known = append(result.Known, worker)
		}
	}
	return result, err
}

// maxRecover and maxMove bound one call of recover and move to about 1 ms.
const (
	maxRecover = 100
	maxMove    = 250
)

// A MoveResult is the result of [PoolQueue.MoveDue].
type MoveResult struct {
	Jobs  int           // jobs that were moved
	More  bool          // whether other jobs are due already
	Next  time.Duration // the time after which to call again; negative if no job is delayed
	Waker bool          // whether this caller should call again at that time; other callers do so a little later
}

// MoveDue moves delayed jobs that are due into their lines, in the order of their times,
// at most 250 per call. It is safe to call concurrently: callerID, which must be unique,
// distinguishes the callers. [delayed.Mover] calls it on time.
func (q *PoolQueue) MoveDue(ctx context.Context, callerID string) (MoveResult, error) {
	reply, err := q.run(ctx, moveScript, maxMove, callerID)
	if err != nil {
		return MoveResult{}, fmt.Errorf("move due jobs: %w", err)
	}
	next := time.Duration(reply.Int(1)) * time.Microsecond
	return MoveResult{Jobs: int(reply.Int(0)), Next: next, More: next == 0, Waker: reply.Int(2) == 1}, nil
}

// Tidy deletes expired data: results and dead jobs past their retention, counts by day
// older than 90 days, unique keys whose duration is over. Workers call it now and then; it is
// safe to call concurrently. It works in steps.
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

// maxTidy is the number of items of each sort that one step deletes.
const maxTidy = 100

// CountDue returns the number of delayed jobs that are due before a time.
func (q *PoolQueue) CountDue(ctx context.Context, before time.Time) (n int, err error) {
	db := q.client.db
	err = db.Retry(ctx, func() error {
		due, err := db.ZCount(ctx, q.keys[keyShelves[Delayed]], "-inf", "("+strconv.FormatInt(before.UnixMilli(), 10)).Result()
		n = int(due)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("queue %s: count due jobs: %w", q.name, err)
	}
	return n, nil
}
