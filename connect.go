package skidway

import (
	"context"

	"skidway/internal/rdb"
)

// A DB is a pool of connections to one Redis. All packages take it; it is safe
// for concurrent use and closed with its Close method.
type DB = rdb.DB

// Options say how to connect. The zero value is ready to use.
type Options = rdb.Options

// Errors of every call that talks to Redis, to be matched with errors.As.
type (
	// UnreachableError: Redis could not be reached, or stayed away too long.
	UnreachableError = rdb.UnreachableError

	// OutcomeUnknownError: a change was sent but its answer was lost.
	OutcomeUnknownError = rdb.OutcomeUnknownError

	// UnfitServerError: the server would lose what is entrusted to it.
	UnfitServerError = rdb.UnfitServerError
)

// Connect connects to the Redis at url and makes sure that it is fit for use: of
// version 7.0 or newer, and not set to drop keys when memory is short. Forms of
// the URL:
//
//	redis://[user:password@]host:port/db   rediss://… (TLS)   unix:///socket?db=N
//	redis+sentinel://h1:p,h2:p/master/db   redis+cluster://h1:p,h2:p
//	embedded:                              inside this process; keeps nothing
//	@FILE                                  the URL is the first line of FILE
//
// It blocks until Redis has answered, at most for some seconds.
func Connect(ctx context.Context, url string, options Options) (*DB, error) {
	db, err := rdb.Open(ctx, url, options)
	if err != nil {
		return nil, err
	}
	if _, err := db.Check(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
