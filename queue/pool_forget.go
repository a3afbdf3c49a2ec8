package queue

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// ForgetQueues deletes queues that no client and no worker has used for longer than idle,
// at most limit of them, and returns their names. It keeps queues that have a job in any
// state, a schedule, a pause, a setting, a limit or a unique key, and looks at them again
// after another time idle. It is safe to call concurrently, and while jobs are added.
func (c *Client) ForgetQueues(ctx context.Context, idle time.Duration, limit int) (forgotten []string, err error) {
	reply, err := unusedScript.Run(ctx, c.db, registryKeys(c.prefix), millis(idle), limit)
	if err != nil {
		return nil, err
	}
	var kept []string
	for _, name := range reply.Texts() {
		q, err := c.ForPool(name)
		if err == nil { // else it is a name that another client has listed
			if err = q.Tidy(ctx); err == nil {
				err = q.remove(ctx, false, idle)
			}
		}
		if ctx.Err() != nil {
			return forgotten, context.Cause(ctx)
		}
		if err != nil {
			kept = append(kept, name)
			continue
		}
		forgotten = append(forgotten, name)
	}
	if len(kept) > 0 {
		err = c.Register(ctx, kept...)
	}
	return forgotten, err
}

// Exists reports whether Redis has anything of the queue beside its name in the list of all
// queues.
func (q *PoolQueue) Exists(ctx context.Context) (exists bool, err error) {
	err = q.client.db.Retry(ctx, func() error {
		n, err := q.client.db.Exists(ctx, allKeys(q.keys)...).Result()
		exists = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("queue %s: %w", q.name, err)
	}
	return exists, nil
}

// Register adds queues to the list of all queues, and records that they are in use: workers
// call it for queues that they serve by name, and for those that they have jobs of, in case
// that Redis has lost the list.
func (c *Client) Register(ctx context.Context, queues ...string) error {
	for names := range slices.Chunk(queues, maxRegister) {
		if _, err := registerScript.Run(ctx, c.db, registryKeys(c.prefix), anys(names)...); err != nil {
			return err
		}
	}
	return nil
}
