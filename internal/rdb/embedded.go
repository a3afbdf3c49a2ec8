package rdb

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a miniredis that serves this process alone: it listens on
// loopback behind a random password.
type embedded struct{ server *miniredis.Miniredis }

func startEmbedded() (*embedded, string, error) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true) // without it keys never expire by themselves
	password := rand.Text()
	server.RequireAuth(password)
	if err := server.Start(); err != nil {
		return nil, "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	return &embedded{server}, "redis://:" + password + "@" + server.Addr(), nil
}

func (e *embedded) close() { e.server.Close() }

// SetEmbeddedTime sets the clock of an embedded server: what scripts read, what
// entries of streams are named after and what keys expire by. From then on it
// stands still until the next call. Blocked reads go by the real clock as ever.
// A server that is not embedded has its own clock: that is an error.
func (db *DB) SetEmbeddedTime(now time.Time) error {
	if db.embedded == nil {
		return errors.New("set the time of " + db.name + ": only an embedded server's can be set")
	}
	db.embedded.server.SetTime(now)
	return nil
}
