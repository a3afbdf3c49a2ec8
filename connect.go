package skidway

import (
	"context"

	"skidway/internal/rdb"
)

// A DB is a pool of connections to one Redis. It is safe for concurrent use. Its
// Close method closes the connections, its Redis method returns the client of
// go-redis that Skidway uses.
type DB = rdb.DB

// Options of [Open]. The zero value is ready to use.
type Options = rdb.Options

// Errors that every call to Redis may return, to be matched with errors.As.
type (
	// UnreachableError: Redis can't be reached, or stayed away too long.
	UnreachableError = rdb.UnreachableError

	// OutcomeUnknownError: a change was sent but its answer was lost.
	OutcomeUnknownError = rdb.OutcomeUnknownError

	// UnfitServerError: the server is too old, or set up to lose data.
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
	db, err := rdb.Open(ctx, url, *options)
	if err != nil {
		return nil, err
	}
	if _, err := db.Check(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
