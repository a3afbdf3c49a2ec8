package rdb

import (
	"crypto/rand"
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a miniredis that serves this process alone: it listens on
// loopback behind a password that nobody else knows.
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
