package skidway

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// A DB is a pool of connections to one Redis. It is safe for concurrent use.
type DB struct{ conn *rdb.DB }

// Options of [Open]. The zero value is ready to use.
type Options struct {
	// Prefix starts every key, so that several applications can share a Redis.
	// Empty means "skidway". Letters, digits, '.', '_', '-' and ':' are allowed, at
	// most 64.
	Prefix string

	// Patience bounds how long a call that may be repeated is retried while Redis
	// is away. Zero means 30 s; below zero, it is not retried.
	Patience time.Duration

	// PoolSize is the maximum number of connections to one server. Zero means 100.
	// They are opened on demand. A call that blocks until there is something new
	// uses one, also for up to some seconds after it was cancelled.
	PoolSize int
}

// Errors that every call to Redis may return, to be matched with errors.As.
type (
	// UnreachableError is the error for a Redis that could not be reached, or did
	// not come back in time. Its field Name is the server's URL without secrets, Err
	// is the cause.
	UnreachableError = rdb.UnreachableError

	// OutcomeUnknownError is the error for a change whose reply was lost: it may
	// have happened or not. Its field Op is the operation, Err is the cause.
	OutcomeUnknownError = rdb.OutcomeUnknownError

	// UnconfirmedError is the error for a change that has happened, but of which Redis
	// has not confirmed in time that it survives a crash of its server. It must not be
	// repeated. Its field Op is the operation, ID names what was added, Err is why it is
	// not confirmed.
	UnconfirmedError = rdb.UnconfirmedError

	// UnfitServerError is the error for a server that is too old, or configured to
	// lose data, or that can't confirm a durable change. Its field Reason describes
	// which, and what to change.
	UnfitServerError = rdb.UnfitServerError
)

// Open connects to the Redis at url and checks that it is fit for use: version
// 7.0 or newer, and not configured to evict keys when its memory is full. Nil
// options mean the defaults. Forms of the URL:
//
//	redis://[user:password@]host:port/db   rediss://… (TLS)   unix:///socket?db=N
//	redis+sentinel://h1:p,h2:p/master/db   redis+cluster://h1:p,h2:p
//	embedded:                              inside this process; keeps nothing
//	@FILE                                  the URL is the first line of FILE
//
// It blocks until Redis has answered, at most for some seconds.
func Open(ctx context.Context, url string, options *Options) (*DB, error) {
	if options == nil {
		options = &Options{}
	}
	db, err := rdb.Open(ctx, url, rdb.Options(*options))
	if err != nil {
		return nil, err
	}
	if _, err := db.Check(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return &DB{db}, nil
}

// Close closes the connections and waits until all blocked reads have returned. The data
// of an embedded Redis is lost.
func (db *DB) Close() error { return db.conn.Close() }

// Prefix returns the prefix of all keys, see [Options].
func (db *DB) Prefix() string { return db.conn.Prefix() }

// Redis returns the client of go-redis that Skidway uses, for other commands. It sends
// each of them once and never retries. The caller must not close it.
func (db *DB) Redis() redis.UniversalClient { return db.conn.UniversalClient }

// String returns the URL that was opened, without user name and password.
func (db *DB) String() string { return db.conn.String() }

func init() {
	rdb.Wrap = func(conn *rdb.DB) any { return &DB{conn} }
	rdb.Unwrap = func(handle any) *rdb.DB { return handle.(*DB).conn }
}
