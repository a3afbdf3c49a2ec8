package queue

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The registry is the list of all queues. A client registers each queue before its first
// use, and again every registerEvery while it uses it: Redis may have lost the list. That
// may take registerTimeout, and its errors are ignored: the list may be on a node of a
// Redis Cluster that is away, while the queue is on another.
const (
	registerEvery   = time.Minute
	registerTimeout = time.Second

	maxRegister = 250 // names in one call
)

// register adds the queue to the registry, unless this process has done so within
// registerEvery. It adds all other queues that were used since then in the same call.
func (q *Queue) register(ctx context.Context) error {
	now, last := time.Now().UnixNano(), q.registered.Load()
	q.used.Store(now)
	if last > 0 {
		sinceLast := now - last // below 0 if the clock was set back
		if 0 <= sinceLast && sinceLast < int64(registerEvery) || !q.registered.CompareAndSwap(last, now) {
			return nil
		}
		again, cancel := context.WithTimeout(ctx, registerTimeout)
		defer cancel()
		_ = q.client.Register(again, append(markRegistered(q.client, now), q.name)...)
		return nil
	}
	if err := q.client.Register(ctx, q.name); err != nil {
		return fmt.Errorf("queue %s: %w", q.name, err)
	}
	q.registered.Store(now)
	return nil
}

// markRegistered returns the names of the queues of a client that were used after their latest
// registration, and records that they are registered now.
func markRegistered(c *Client, now int64) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.queues {
		last := q.registered.Load()
		if last > 0 && last < now && q.used.Load() > last && q.registered.CompareAndSwap(last, now) {
			names = append(names, q.name)
		}
	}
	return names
}

func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// A client may add a job for registerEvery after it has registered the queue, and a bit
// longer while Redis is away. So a name may leave the registry only if nothing has
// registered it for unusedFor, and within removeWithin after the script that found the
// queue empty: no job can have been added in between.
const (
	unusedFor    = 3 * time.Minute
	removeWithin = 30 * time.Second
)

// An inUseError is the [ErrState] of a queue that can't be deleted, with its use.
type inUseError string

func (e inUseError) Error() string        { return string(e) }
func (e inUseError) Is(target error) bool { return target == ErrState }

// Why a queue is not deleted, or not as a whole.
const (
	errUsed      = inUseError("a client or worker has used it within the last three minutes")
	errNameStays = inUseError("it has nothing any more, but a client used it meanwhile, so its name stays")
)

// Delete deletes the queue with its settings, counters and unique keys, and removes it
// from the list of all queues. It returns an [ErrState], and changes nothing, if the queue has
// a job in any state or a schedule, if a living pool serves it by its name or holds jobs of it,
// or if a client or worker has used it within the last three minutes. A queue that is used
// later is created again.
func (q *Queue) Delete(ctx context.Context) error {
	pools, err := q.client.LivingPools(ctx, q.name)
	for _, pool := range pools {
		if slices.Contains(pool.Queues, q.name) { // a pattern alone does not keep a queue
			return inUseError(fmt.Sprintf("queue %s is not deleted: worker %s serves it by its name", q.name, pool.Name))
		}
	}
	unused := false
	if err == nil {
		unused, err = q.unregister(ctx, false)
	}
	if err == nil && !unused {
		err = errUsed
	}
	if err == nil {
		err = q.remove(ctx, true, 0)
	}
	if err != nil {
		return fmt.Errorf("queue %s is not deleted: %w", q.name, err)
	}
	return nil
}

// remove deletes the keys of the queue and then its name in the registry.
func (q *Queue) remove(ctx context.Context, withSettings bool, idle time.Duration) error {
	began := time.Now()
	reply, err := q.runOn(ctx, forgetScript, allKeys(q.keys), flag(withSettings), millis(idle))
	if err != nil {
		return err
	}
	if reply.Word == "state" {
		return inUseError("it has " + reply.Text(0))
	}
	removed := false
	if time.Since(began) <= removeWithin {
		removed, err = q.unregister(ctx, true)
	}
	if err == nil && !removed {
		err = errNameStays
	}
	return err
}

// unregister reports whether nothing has registered the queue for unusedFor, and removes
// its name from the registry if so.
func (q *Queue) unregister(ctx context.Context, remove bool) (unused bool, err error) {
	reply, err := unregisterScript.Run(ctx, q.client.db, registryKeys(q.client.prefix), q.name, millis(unusedFor), flag(remove))
	return reply.Int(0) == 1, err
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
