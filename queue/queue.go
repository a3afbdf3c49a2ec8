package queue

import (
	"context"
	"errors"
	"fmt"
	"skidway/internal/rdb"
	"sync/atomic"
)

// A Queue is one queue of a client's. It is safe for concurrent use.
type Queue struct {
	client *Client
	name   string
	keys   []string
	plain  []string // those that take part when plain jobs are added

	known   atomic.Bool // the registry knows the queue
	batcher batcher
	waiters waiters
}

// Queue gives a queue by name. A queue needs not be created: it is there when a
// job is in it.
func (c *Client) Queue(name string) (*Queue, error) {
	if name == "" {
		name = DefaultQueue
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[name]; q != nil {
		return q, nil
	}
	if err := checkName("queue", name); err != nil {
		return nil, err
	}
	keys := queueKeys(c.prefix, name)
	q := &Queue{client: c, name: name, keys: keys, plain: plainKeys(keys)}
	c.queues[name] = q
	return q, nil
}

// find gives the queue and the local id of a job.
func (c *Client) find(id string) (*Queue, string, error) {
	name, local, err := splitID(id)
	if err != nil {
		return nil, "", err
	}
	q, err := c.Queue(name)
	return q, local, err
}

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

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

// run runs a script with the keys of the queue.
func (q *Queue) run(ctx context.Context, s *rdb.Script, args ...any) (rdb.Reply, error) {
	return q.runOn(ctx, s, q.keys, args...)
}

// runOn is run with other keys.
func (q *Queue) runOn(ctx context.Context, s *rdb.Script, keys []string, args ...any) (rdb.Reply, error) {
	reply, err := s.Run(ctx, q.client.db, keys, args...)
	if err == nil {
		return reply, nil
	}
	var newer *FormatError
	switch {
	case errors.As(err, &newer):
		newer.Queue = q.name
	case !errors.Is(err, ErrLeaseLost):
		err = fmt.Errorf("queue %s: %w", q.name, err)
	}
	return rdb.Reply{}, err
}
