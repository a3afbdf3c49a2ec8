package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway"
	"skidway/queue"
)

// Config configures a [Client]. The zero value is ready to use.
type Config struct {
	// Rules replace rows of [DefaultRules], by their names.
	Rules []Rule

	// Redact hides values from all that a client returns of jobs, and from the filters of its
	// searches and operations. See [DefaultRedactKeys].
	Redact Redact
}

// A Client reads the state of queues and workers. It is safe for concurrent use.
type Client struct {
	queues     *queue.Client
	rules      []Rule
	budget     *budget          // of searches
	now        func() time.Time // by which a page of a search ends
	redactor   *Redactor        // nil: nothing is hidden
	operations *Operations
}

// NewClient returns a client for the Redis of a client of the queues. A nil config means the
// defaults. Nothing is sent to Redis.
func NewClient(queues *queue.Client, config *Config) (*Client, error) {
	if config == nil {
		config = &Config{}
	}
	rules, err := mergeRules(config.Rules)
	if err != nil {
		return nil, err
	}
	redactor, err := newRedactor(config.Redact)
	if err != nil {
		return nil, err
	}
	c := &Client{queues: queues, rules: rules, budget: newBudget(searchShare), now: time.Now, redactor: redactor}
	c.operations = &Operations{c, newBudget(operationShare)}
	return c, nil
}

// A NoQueueError reports that there is no queue of a name.
type NoQueueError struct {
	Name  string
	Known []string // the queues that there are
}

func (e *NoQueueError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no queue %s, and no other: is it the right Redis and --prefix?", e.Name)
	}
	return fmt.Sprintf("there is no queue %s, only %s", e.Name, JoinNames(e.Known, 20))
}

// Queue returns a queue that is known or has jobs. The error is a [NoQueueError] for any other
// name: it may be mistyped.
func (c *Client) Queue(ctx context.Context, name string) (*queue.Queue, error) {
	q, err := c.queues.Queue(name)
	if err != nil {
		return nil, err
	}
	names, err := c.queues.Queues(ctx)
	if err != nil || slices.Contains(names, q.Name()) {
		return q, err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return nil, err
	}
	if Jobs(depth) > 0 {
		return q, nil // its jobs were added by plain XADD
	}
	return nil, &NoQueueError{q.Name(), names}
}

// QueueNames returns the name of a queue that must exist, or of all queues for the empty name.
func (c *Client) QueueNames(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return c.queues.Queues(ctx)
	}
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	return []string{q.Name()}, nil
}

// Now is [queue.Client.Now].
func (c *Client) Now(ctx context.Context, name string) (time.Time, error) {
	return c.queues.Now(ctx, name)
}

// Jobs returns the number of jobs in all states.
func Jobs(depth queue.Depth) int {
	return depth.Waiting + depth.Active + depth.Delayed + depth.Dead + depth.Finished
}

// unreachable reports whether an error is that of a Redis that can't be reached.
func unreachable(err error) bool {
	var away *skidway.UnreachableError
	return errors.As(err, &away)
}

// JoinNames lists names, and the number of those above a maximum.
func JoinNames(names []string, max int) string {
	if len(names) <= max {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:max], ", "), len(names)-max)
}
