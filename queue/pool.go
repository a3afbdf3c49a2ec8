package queue

import (
	"context"
	"skidway/internal/rdb"
	"time"
)

// A PoolQueue is a [Queue] with the operations that a pool of workers needs:
// leases, fetching and finishing jobs, recovery, due jobs and schedules, and the
// signals of operators. [workers.Pool] and package delayed use it; programs that
// only add and inspect jobs don't need it. It is safe for concurrent use.
type PoolQueue struct {
	*Queue
}

// ForPool returns the queue of a name for use by a pool of workers. An empty name
// means [DefaultQueue]. Nothing is sent to Redis.
func (c *Client) ForPool(name string) (*PoolQueue, error) {
	q, err := c.Queue(name)
	if err != nil {
		return nil, err
	}
	return &PoolQueue{q}, nil
}

// A StreamCursor is a place in a stream of Redis: a line of a queue or its
// signals. [skidway.DB.Wait] blocks until an entry is added after one of some
// cursors.
type StreamCursor = rdb.Mark

// AwaitQueues blocks until a queue was used for the first time after mark was
// given, timeout has passed or ctx is done, and returns the mark for the next
// call. The first mark is "".
func (c *Client) AwaitQueues(ctx context.Context, mark string, timeout time.Duration) (string, error) {
	stream := registryKeys(c.prefix)[1]
	if mark != "" {
		if _, err := c.db.Wait(ctx, timeout, rdb.Mark{Key: stream, ID: mark}); err != nil {
			return mark, err
		}
	}
	last, err := c.db.XRevRangeN(ctx, stream, "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return max(mark, "0"), err
	}
	return last[0].ID, nil
}
