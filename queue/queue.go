package queue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"skidway/internal/rdb"
)

// A Queue is one queue of a client. It has the operations for people and programs that
// inspect and control a queue; jobs are added by [Client.Enqueue]. It is safe for
// concurrent use.
type Queue struct {
	client *Client
	name   string
	keys   []string
	plain  []string // keys of enqueue_plain.lua

	registered atomic.Int64 // when the queue was last added to the registry, in ns since 1970; 0 if never
	used       atomic.Int64 // when a call last needed it there, likewise
	largest    atomic.Int64 // size of the largest record that was stored by id, as last read; 0 if never
	adder      adder
	batcher    batcher
	waiters    waiters
}

// Queue returns the queue of a name; an empty name means [DefaultQueue]. Queues need not be
// created. Nothing is sent to Redis.
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
	if len(c.queues) >= maxQueues {
		for other := range c.queues { // any one: who uses it goes on with it
			delete(c.queues, other)
			break
		}
	}
	keys := queueKeys(c.prefix, name)
	q := &Queue{client: c, name: name, keys: keys, plain: plainKeys(keys)}
	q.adder.init(q)
	c.queues[name] = q
	return q, nil
}

// maxQueues bounds the queues that a client remembers, with about 4 KB each: servers are asked for any
// name.
const maxQueues = 4096

// find returns the queue and the local id of a job.
func (c *Client) find(id string) (*Queue, string, error) {
	name, local, err := splitID(id)
	if err != nil {
		return nil, "", err
	}
	q, err := c.Queue(name)
	return q, local, err
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// run runs a script with the keys of the queue.
func (q *Queue) run(ctx context.Context, s *rdb.Script, args ...any) (rdb.Reply, error) {
	return q.runOn(ctx, s, q.keys, args...)
}

// runOn runs a script with other keys.
func (q *Queue) runOn(ctx context.Context, s *rdb.Script, keys []string, args ...any) (rdb.Reply, error) {
	reply, err := s.Run(ctx, q.client.db, keys, args...)
	if err != nil {
		return rdb.Reply{}, q.explain(err)
	}
	return reply, nil
}

// explain adds the name of the queue to an error of a script.
func (q *Queue) explain(err error) error {
	var format *FormatError
	switch {
	case errors.Is(err, ErrLeaseLost):
		return err
	case errors.As(err, &format):
		format.Queue = q.name
		return err
	}
	return fmt.Errorf("queue %s: %w", q.name, err)
}

// Pause stops workers from taking jobs of the queue: when it returns, no worker
// takes another one. Active jobs continue, and jobs can still be added. The depth has
// who pauses it and a note for others, of at most 128 and 256 bytes; both may be empty. A paused
// queue stays paused since its first pause, and a later name and note replace those before.
func (q *Queue) Pause(ctx context.Context, by, note string) error {
	switch {
	case len(by) > 128:
		return invalid("pause of queue %s: the name of who pauses it has %d bytes: want at most 128", q.name, len(by))
	case len(note) > 256:
		return invalid("pause of queue %s: the note has %d bytes: want at most 256", q.name, len(note))
	}
	return q.setPaused(ctx, SignalPause, by, note)
}

// Resume undoes Pause and wakes the workers.
func (q *Queue) Resume(ctx context.Context) error { return q.setPaused(ctx, SignalResume, "", "") }

func (q *Queue) setPaused(ctx context.Context, signal SignalKind, by, note string) error {
	if err := q.register(ctx); err != nil {
		return err
	}
	_, err := q.run(ctx, pauseScript, string(signal), by, note)
	return err
}
