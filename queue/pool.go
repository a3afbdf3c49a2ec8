package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"skidway/internal/rdb"
)

// Defaults that workers apply.
const (
	DefaultMaxAttempts = 25               // attempts of a job
	DefaultTimeout     = 30 * time.Minute // of one attempt
	DefaultLease       = 10 * time.Second // time without a heartbeat after which a worker is dead
	DefaultCrashes     = 3                // deaths of workers that count, after which a job is dead
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

// Server returns the address of the master of a Cluster that has the queue. It is empty where there
// is no Cluster, or the master is not known.
func (q *PoolQueue) Server(ctx context.Context) string {
	server, _ := q.client.db.MasterOf(ctx, q.keys[keyMeta])
	return server
}

// Key returns the name of a key of another package for the queue. It is on the slot of the queue's
// own keys, whose names it must not have.
func (q *Queue) Key(name string) string { return strings.TrimSuffix(q.keys[keyMeta], "meta") + name }

// A StreamCursor is a position in a stream of Redis: a line of a queue or its signals.
type StreamCursor struct {
	Key string // of the stream
	ID  string // of the entry before the position

	read time.Time // before it was read from Redis
}

// A Watch calls functions when streams of queues get new entries. It needs few
// connections, however many streams there are. It is safe for concurrent use.
type Watch struct{ watch *rdb.Watch }

// NewWatch returns a watch without streams. It does nothing before [Watch.Run]. A nil log
// means [slog.Default].
func (c *Client) NewWatch(log *slog.Logger) *Watch { return &Watch{c.db.NewWatch(log)} }

// Run watches until ctx is done. It must be called once.
func (w *Watch) Run(ctx context.Context) { w.watch.Run(ctx) }

// Set makes the watch call notify once when an entry is added after one of the cursors, or
// may have been added: the caller reads the streams, and calls Set again. An earlier Set
// with the same ID, which must be comparable, is replaced. There must be a cursor, and
// the streams must be those of one queue. notify must not block.
func (w *Watch) Set(id any, notify func(), cursors ...StreamCursor) {
	marks := make([]rdb.Mark, len(cursors))
	for i, cursor := range cursors {
		marks[i] = rdb.Mark{Key: cursor.Key, ID: cursor.ID}
	}
	w.watch.Set(id, cursors[0].read, marks, notify)
}

// Remove makes the watch forget an ID. Its function may be called once more.
func (w *Watch) Remove(id any) { w.watch.Remove(id) }

// QueuesCursor returns a cursor after which an entry is added when a queue is used for the
// first time.
func (c *Client) QueuesCursor(ctx context.Context) (StreamCursor, error) {
	stream, read := registryKeys(c.prefix)[1], time.Now()
	last, err := lastEntry(ctx, c.db, stream)
	return StreamCursor{Key: stream, ID: last, read: read}, err
}

// Now returns the time by the clock of the Redis with a queue, or with the list of queues and workers
// for an empty name. The masters of a Cluster have clocks of their own.
func (c *Client) Now(ctx context.Context, name string) (time.Time, error) {
	key := registryKeys(c.prefix)[0]
	if name != "" {
		q, err := c.Queue(name)
		if err != nil {
			return time.Time{}, err
		}
		key = q.keys[keyMeta]
	}
	now, err := c.db.TimeOf(ctx, key)
	if err != nil {
		return now, fmt.Errorf("read the time: %w", err)
	}
	return now, nil
}

// CheckQueueName returns an error, which wraps [ErrInvalid], if name can't be the name of
// a queue.
func CheckQueueName(name string) error { return checkName("queue", name) }

// CheckJobID returns an error, which wraps [ErrInvalid], if id can't be the id of a job.
func CheckJobID(id string) error {
	_, _, err := splitID(id)
	return err
}
