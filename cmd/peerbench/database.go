package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// errInUse is the error of a database with keys, which a measurement would delete.
var errInUse = errors.New("the database is not empty")

// A database is an empty logical database of a Redis server.
type database struct {
	peer    asynq.RedisClientOpt // for asynq
	client  *redis.Client        // for the measurements
	version string
}

// openEmpty connects to the database at a URL and refuses one that has keys,
// with errInUse.
func openEmpty(ctx context.Context, address string) (*database, error) {
	o, err := redis.ParseURL(address)
	if err != nil {
		var inURL *url.Error
		if errors.As(err, &inURL) {
			err = inURL.Err // the rest repeats the address, which may have a password
		}
		return nil, usageError{fmt.Errorf("--redis: want redis://HOST:PORT/DB or unix:///PATH?db=DB: %w", err)}
	}
	db := &database{peer: asynq.RedisClientOpt{
		Network: o.Network, Addr: o.Addr, Username: o.Username, Password: o.Password, DB: o.DB,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolSize: o.PoolSize, TLSConfig: o.TLSConfig,
	}}
	o.ReadTimeout = time.Minute // deleting millions of keys takes a while
	o.MinIdleConns, o.PoolSize = 1, 1
	db.client = redis.NewClient(o)
	if err := db.check(ctx); err != nil {
		return nil, errors.Join(err, db.client.Close())
	}
	return db, nil
}

func (db *database) check(ctx context.Context) error {
	server, err := db.info(ctx, "server")
	if err != nil {
		return err
	}
	db.version = server["redis_version"]
	keys, err := db.client.DBSize(ctx).Result()
	if err != nil {
		return fmt.Errorf("count keys: %w", err)
	}
	if keys > 0 {
		return fmt.Errorf("%w: database %d has %d keys, and measuring would delete them; choose another database, or empty this one with FLUSHDB if it is not needed", errInUse, db.peer.DB, keys)
	}
	return nil
}

// info returns one section of the server's INFO.
func (db *database) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := db.client.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("ask Redis about itself: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			values[key] = value
		}
	}
	return values, nil
}

// number returns one number of a section.
func (db *database) number(ctx context.Context, section, key string) (float64, error) {
	values, err := db.info(ctx, section)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(values[key], 64)
	if err != nil {
		return 0, fmt.Errorf("read %s from Redis: %w", key, err)
	}
	return n, nil
}

// empty deletes all keys and waits for the end of it, so that it does not slow the next
// measurement down. It does so even after ctx has ended.
func (db *database) empty(ctx context.Context) error {
	if err := db.client.Do(context.WithoutCancel(ctx), "FLUSHDB", "SYNC").Err(); err != nil {
		return fmt.Errorf("empty database %d: %w", db.peer.DB, err)
	}
	return nil
}

func (db *database) close() error { return db.client.Close() }
