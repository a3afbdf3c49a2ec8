package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway"
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

func (c Config) withDefaults() Config {
	c.MaxPayload = cmp.Or(c.MaxPayload, DefaultMaxPayload)
	return c
}

func (c Config) validate() error {
	switch {
	case c.MaxPayload < 0:
		return invalid("MaxPayload %d: it must not be negative", c.MaxPayload)
	case c.PackFrom < 0:
		return invalid("PackFrom %d: it must not be negative", c.PackFrom)
	}
	return nil
}

// Middleware sees all jobs that are added, in batches as they were given. It may
// change them, refuse some with a Result of its own, or look at what became of
// them. It must return a Result for each job, in order.
type Middleware func(ctx context.Context, inserts []Insert, next func(context.Context, []Insert) []Result) []Result

// A Client adds jobs to queues of one Redis and looks at them. It is safe for
// concurrent use; one a process is enough.
type Client struct {
	db     *skidway.DB
	ownsDB bool // Open made it
	config Config
	prefix string

	mu     sync.Mutex
	queues map[string]*Queue
}

// Open connects to the Redis at url as [skidway.Open] does and returns a client
// whose Close method closes that connection. A nil config means the defaults. It
// blocks until Redis has answered, at most for some seconds.
func Open(ctx context.Context, url string, config *Config) (*Client, error) {
	db, err := skidway.Open(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	client, err := NewClient(db, config)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	client.ownsDB = true
	return client, nil
}

// NewClient returns a client that uses db, which the caller closes. A nil config
// means the defaults. Nothing is sent to Redis.
func NewClient(db *skidway.DB, config *Config) (*Client, error) {
	var c Config
	if config != nil {
		c = *config
	}
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Client{db: db, config: c, prefix: db.Prefix(), queues: map[string]*Queue{}}, nil
}

// Close closes the connection to Redis if [Open] made it; otherwise it does
// nothing. The client must not be used afterwards.
func (c *Client) Close() error {
	if !c.ownsDB {
		return nil
	}
	return c.db.Close()
}

// DB returns the connection that the client uses.
func (c *Client) DB() *skidway.DB { return c.db }

// A Queue is one queue of a client's. It is safe for concurrent use.
type Queue struct {
	client *Client
	name   string
	keys   []string
	plain  []string // those that take part when plain jobs are added

	known   atomic.Bool // the registry knows the queue
	batcher batcher
	endings listeners
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
