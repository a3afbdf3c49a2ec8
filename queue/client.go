package queue

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
)

// DefaultMaxPayload is the most bytes of a job's args.
const DefaultMaxPayload = 1 << 20

// Config of a [Client]. The zero value is ready to use.
type Config struct {
	// MaxPayload is the most bytes of a job's args, before they are packed;
	// zero means [DefaultMaxPayload].
	MaxPayload int

	// PackFrom is the size in bytes from which args are compressed (zstd)
	// where that makes them smaller; zero: never.
	PackFrom int

	// Middleware goes around every job that is added, the first outermost.
	Middleware []Middleware
}

// Middleware sees all jobs that are added, in batches as they were given. It may
// change them, refuse some with a Result of its own, or look at what became of
// them. It must return a Result for each job, in order.
type Middleware func(ctx context.Context, inserts []Insert, next func(context.Context, []Insert) []Result) []Result

// A Client adds jobs to queues of one Redis and looks at them. It is safe for
// concurrent use; one a process is enough.
type Client struct {
	db     *rdb.DB
	config Config
	prefix string

	mu     sync.Mutex
	queues map[string]*Queue
}

// New makes a client. It talks to Redis only when it is used.
func New(db *rdb.DB, config Config) (*Client, error) {
	if config.MaxPayload < 0 || config.PackFrom < 0 {
		return nil, fmt.Errorf("%w: MaxPayload %d, PackFrom %d: they can't be below zero", ErrInvalid, config.MaxPayload, config.PackFrom)
	}
	if config.MaxPayload == 0 {
		config.MaxPayload = DefaultMaxPayload
	}
	return &Client{db: db, config: config, prefix: db.Prefix(), queues: map[string]*Queue{}}, nil
}

// A Queue is one queue of a client's. It is safe for concurrent use.
type Queue struct {
	client *Client
	name   string
	keys   []string
	plain  []string // those that take part when plain jobs are added

	known    atomic.Bool // the registry knows the queue
	combiner combiner
	endings  listeners
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

// millis is a duration as Redis counts, rounded up.
func millis(d time.Duration) int64 {
	return int64(min(d, math.MaxInt64-time.Millisecond)+time.Millisecond-1) / int64(time.Millisecond)
}
