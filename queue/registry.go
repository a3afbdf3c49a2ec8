package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"skidway/internal/rdb"
)

// register notes the queue in the list of all, once a process.
func (q *Queue) register(ctx context.Context) error {
	if q.known.Load() {
		return nil
	}
	if _, err := registerScript.Run(ctx, q.client.db, registryKeys(q.client.prefix), q.name); err != nil {
		return fmt.Errorf("queue %s: %w", q.name, err)
	}
	q.known.Store(true)
	return nil
}

// Queues lists the names of all queues that a client or worker of Skidway has
// used, in order.
func (c *Client) Queues(ctx context.Context) ([]string, error) {
	var names []string
	err := c.db.Retry(ctx, func() (err error) {
		names, err = c.db.SMembers(ctx, registryKeys(c.prefix)[0]).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

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
