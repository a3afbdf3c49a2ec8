package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/internal/rdb"
)

const embeddedURL = "embedded:"

// url is where the Redis is that several processes share.
func (a *app) url() string {
	for _, url := range []string{a.redis, os.Getenv("SKIDWAY_REDIS"), os.Getenv("REDIS_URL")} {
		if url != "" {
			return url
		}
	}
	return rdb.DefaultURL
}

// open connects and refuses a server that is not fit.
func (a *app) open(ctx context.Context, url string) (*rdb.DB, error) {
	return openAt(ctx, url, a.prefix)
}

func openAt(ctx context.Context, url, prefix string) (*rdb.DB, error) {
	db, err := rdb.Open(ctx, url, rdb.Options{Prefix: prefix})
	if err != nil {
		return nil, openError(err)
	}
	if _, err := db.Check(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openError tells a URL or prefix that makes no sense from a server that is
// away or refuses.
func openError(err error) error {
	var away *rdb.UnreachableError
	var answer redis.Error
	switch {
	case errors.As(err, &away):
		return err
	case errors.As(err, &answer):
		return fmt.Errorf("redis refuses this connection: %w: check user, password and database in the URL", err)
	}
	return &usageError{err}
}

// opener is distribute.Open, which makes a channel that there is not, or
// distribute.OpenExisting.
type opener func(context.Context, *rdb.DB, string) (*distribute.Channel, error)

// withShared opens the Redis that several processes share for as long as f runs.
// alone says what else to do, for those who have only the embedded one.
func (a *app) withShared(ctx context.Context, alone string, f func(*rdb.DB) error) (err error) {
	db, err := a.open(ctx, a.url())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if db.Embedded() {
		return wrongUsage("the embedded Redis ends with this process, so nobody else would see what is in it: give --redis the URL of a server%s", alone)
	}
	return f(db)
}

// withChannel opens the shared Redis and a channel in it for as long as f runs.
func (a *app) withChannel(ctx context.Context, open opener, name string, f func(*distribute.Channel) error) error {
	return a.withShared(ctx, ", or count in one process with 'skidway logs count'", func(db *rdb.DB) error {
		channel, err := open(ctx, db, name)
		if err != nil {
			return valueError(err)
		}
		return f(channel)
	})
}

// valueError makes it wrong usage to give a channel or subscriber a name that it
// can't have, or a window that is too small.
func valueError(err error) error {
	var name *distribute.InvalidNameError
	var window *distribute.InvalidWindowError
	if errors.As(err, &name) || errors.As(err, &window) {
		return &usageError{err}
	}
	return err
}
