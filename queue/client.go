package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// Defaults and bounds.
const (
	DefaultQueue      = "default"
	DefaultMaxPayload = 1 << 20 // bytes, see [Config.MaxPayload]

	// FromNow is the cursor for [Queue.Events] after the latest event.
	FromNow = "$"

	defaultListLimit      = 100
	maxListLimit          = 1000 // jobs of one [Page]
	defaultDurableTimeout = 5 * time.Second
)

// Config of a [Client]. The zero value is ready to use.
type Config struct {
	// MaxPayload is the maximum size of a job's args in bytes, before they are
	// compressed. Zero means [DefaultMaxPayload].
	MaxPayload int

	// PackFrom is the size in bytes from which args are compressed (zstd) if
	// that makes them smaller. Zero means never.
	PackFrom int

	// DurableTimeout is how long a call that adds jobs with [Options.Durable] waits for
	// each confirmation of Redis, in whole milliseconds. Zero means 5 s.
	DurableTimeout time.Duration

	// Middleware wraps every call that adds jobs; the first is the outermost.
	Middleware []Middleware
}

func (c Config) withDefaults() Config {
	c.MaxPayload = cmp.Or(c.MaxPayload, DefaultMaxPayload)
	c.DurableTimeout = cmp.Or(c.DurableTimeout, defaultDurableTimeout)
	return c
}

func (c Config) validate() error {
	switch {
	case c.MaxPayload < 0:
		return invalid("MaxPayload %d: it can't be below zero", c.MaxPayload)
	case c.PackFrom < 0:
		return invalid("PackFrom %d: it can't be below zero", c.PackFrom)
	case c.DurableTimeout < time.Millisecond:
		return invalid("DurableTimeout %s: want at least 1ms", c.DurableTimeout)
	}
	return nil
}

// Middleware wraps the adding of jobs. It receives the jobs of one call, and may
// change them, refuse some with a Result of its own, or inspect the results of next.
// It must return one Result for each job, in order.
type Middleware func(ctx context.Context, jobs []NewJob, next func(context.Context, []NewJob) []Result) []Result

// A Client adds jobs to the queues of one Redis, and inspects and changes them. It is
// safe for concurrent use; a process needs only one.
type Client struct {
	handle *skidway.DB
	db     *rdb.DB // of handle
	ownsDB bool    // Open made it
	config Config
	prefix string

	addMany func(context.Context, []NewJob) []Result // enqueueMany with all middleware

	nativeFrom, skipRefused int // the constants; less in tests

	listAbsence rdb.Absence // of the master with the list of open leases

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
	client := &Client{handle: db, db: handle.Conn(db), config: c, prefix: db.Prefix(), nativeFrom: nativeFrom, skipRefused: skipRefused, queues: map[string]*Queue{}}
	client.addMany = wrapped(client.enqueueMany, c.Middleware)
	return client, nil
}

// wrapped returns a function that adds jobs with middleware around it.
func wrapped(add func(context.Context, []NewJob) []Result, around []Middleware) func(context.Context, []NewJob) []Result {
	for _, middleware := range slices.Backward(around) {
		inner := add
		add = func(ctx context.Context, jobs []NewJob) []Result {
			results := middleware(ctx, jobs, inner)
			for len(results) < len(jobs) {
				results = append(results, Result{Err: errors.New("middleware returned no result for this job")})
			}
			return results
		}
	}
	return add
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
func (c *Client) DB() *skidway.DB { return c.handle }

// Queues returns the names of all queues that a client or worker of Skidway has used,
// in alphabetical order.
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
