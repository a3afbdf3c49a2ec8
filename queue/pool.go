package queue

import (
	"context"
	"crypto/rand"
	"time"

	"skidway/internal/rdb"
)

// Defaults that workers apply.
const (
	DefaultMaxAttempts = 25               // attempts of a job
	DefaultTimeout     = 30 * time.Minute // of one attempt
	DefaultLease       = 10 * time.Second // time without a heartbeat after which a worker is dead
	DefaultCrashes     = 3                // crashes while running solo after which a job is dead
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

// Salt returns random text that is set by the first call for the queue. It differs
// between queues of the same name in two Redises, or with two prefixes, whose jobs may
// have the same ids, unless one Redis was restored from a copy of the other. It is read
// each time: Redis may lose it.
func (q *PoolQueue) Salt(ctx context.Context) (string, error) {
	reply, err := q.run(ctx, saltScript, rand.Text())
	return reply.Text(0), err
}

// A StreamCursor is a position in a stream of Redis: a line of a queue or its signals.
type StreamCursor struct {
	Key string // of the stream
	ID  string // of the entry before the position
}

// AwaitStreams blocks until an entry is added after one of the cursors, timeout has
// passed or ctx is done. It returns the keys of streams that have new entries, not
// necessarily of all. If the connection breaks it returns none, early and without an
// error: the caller's next read returns the error.
func (c *Client) AwaitStreams(ctx context.Context, timeout time.Duration, cursors ...StreamCursor) (keys []string, err error) {
	marks := make([]rdb.Mark, len(cursors))
	for i, cursor := range cursors {
		marks[i] = rdb.Mark(cursor)
	}
	return c.db.WaitKeys(ctx, timeout, marks...)
}

// AwaitQueues blocks until a queue was used for the first time after cursor was returned,
// timeout has passed or ctx is done, and returns the cursor for the next call. The first
// cursor is "".
func (c *Client) AwaitQueues(ctx context.Context, cursor string, timeout time.Duration) (string, error) {
	stream := registryKeys(c.prefix)[1]
	if cursor != "" {
		if _, err := c.db.Wait(ctx, timeout, rdb.Mark{Key: stream, ID: cursor}); err != nil {
			return cursor, err
		}
	}
	last, err := c.db.XRevRangeN(ctx, stream, "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return max(cursor, "0"), err
	}
	return last[0].ID, nil
}

// CheckQueueName returns an error, which wraps [ErrInvalid], if name can't be the name of
// a queue.
func CheckQueueName(name string) error { return checkName("queue", name) }
