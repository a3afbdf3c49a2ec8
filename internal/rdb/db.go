package rdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Defaults of [Options].
const (
	DefaultURL      = "redis://127.0.0.1:6379/0"
	DefaultPrefix   = "skidway"
	DefaultPatience = 30 * time.Second
	DefaultPoolSize = 100
)

// Options configure a connection. The zero value is ready to use.
type Options struct {
	// Prefix starts every key, so that several applications can share a
	// Redis. Empty means [DefaultPrefix]. Letters, digits, '.', '_', '-'
	// and ':' are allowed, at most 64.
	Prefix string

	// Patience bounds how long an idempotent call keeps trying while Redis
	// is away. Zero means [DefaultPatience]; below zero, no second try.
	Patience time.Duration

	// PoolSize is the maximum of connections to one server; zero means
	// [DefaultPoolSize]. They are opened on demand. A blocked [DB.Wait] uses one,
	// also for up to 5 s after it was cancelled.
	PoolSize int
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// withDefaults returns the options with defaults in place of zero values.
func (o Options) withDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	o.PoolSize = cmp.Or(o.PoolSize, DefaultPoolSize)
	return o
}

func (o Options) validate() error {
	if err := CheckPrefix(o.Prefix); err != nil {
		return fmt.Errorf("prefix %w", err)
	}
	if o.PoolSize < 0 {
		return fmt.Errorf("PoolSize %d: it can't be below zero", o.PoolSize)
	}
	return nil
}

// CheckPrefix returns the error of an invalid [Options.Prefix].
func CheckPrefix(prefix string) error {
	if !prefixPattern.MatchString(prefix) {
		return fmt.Errorf("%q: use 1 to 64 letters, digits, '.', '_', '-' or ':'", prefix)
	}
	return nil
}

// A DB is a connection pool to one Redis, be it a single server, a
// Sentinel-led group, a Cluster or the embedded one. It is safe for concurrent
// use. Commands called on the client itself are sent once and never repeated;
// see the package's retry rule.
type DB struct {
	redis.UniversalClient

	options  Options
	name     string // the URL without secrets
	embedded *embedded
	durable  func() (redis.UniversalClient, error) // for [Script.RunDurable]: its connections are blocked meanwhile
	restarts *restarts
	waits    sync.WaitGroup
	readsMu  sync.Mutex
	reads    map[string]*read // that are blocked, by their marks
	closing  bool             // no more of them may start

	readBackoff Backoff // between blocked reads that fail; guarded by readsMu
}

// Open connects to the Redis at url and makes sure that it answers. A url of
// the form @FILE is read from that file. It blocks until the first answer or
// the dial timeout (5 s); a Redis that does not answer is an
// [UnreachableError].
func Open(ctx context.Context, url string, options Options) (*DB, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	url, err := readURL(url)
	if err != nil {
		return nil, err
	}
	db := &DB{options: options, name: redact(url), readBackoff: Backoff{Max: time.Second}}
	if strings.HasPrefix(url, "embedded:") {
		if db.embedded, url, err = startEmbedded(); err != nil {
			return nil, err
		}
	}
	db.restarts = &restarts{opened: time.Now()}
	if db.UniversalClient, err = dial(url, options, ioTimeout, db.restarts); err != nil {
		db.closeEmbedded()
		return nil, err
	}
	_, db.restarts.cluster = db.UniversalClient.(*redis.ClusterClient)
	db.durable = sync.OnceValues(func() (redis.UniversalClient, error) { return dial(url, options, noTimeout, db.restarts) })
	if err := db.Ping(ctx).Err(); err != nil {
		_ = db.Close()
		return nil, db.explain(err)
	}
	return db, nil
}

// Close ends every connection, waits for blocked reads to return and, for an
// embedded server, drops all it held.
func (db *DB) Close() error {
	db.readsMu.Lock()
	db.closing = true
	db.readsMu.Unlock()
	err := db.UniversalClient.Close()
	if durable, dialErr := db.durable(); dialErr == nil {
		err = errors.Join(err, durable.Close()) // also if it was never used: no call may use it now
	}
	db.closeEmbedded()
	db.waits.Wait()
	return err
}

func (db *DB) closeEmbedded() {
	if db.embedded != nil {
		db.embedded.close()
	}
}

// Wrap and Unwrap convert between a DB and the *skidway.DB around it. The root package
// sets them when it is initialized: this package can't import that one, and a function
// there would put DB into the public API. Package handle has typed forms of them.
var (
	Wrap   func(*DB) any
	Unwrap func(handle any) *DB
)

// Prefix returns the prefix of all keys.
func (db *DB) Prefix() string { return db.options.Prefix }

// Embedded reports whether the server lives in this process and keeps nothing.
func (db *DB) Embedded() bool { return db.embedded != nil }

// String returns the URL that was opened, without user names and passwords.
func (db *DB) String() string { return db.name }
