package rdb

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"skidway/internal/hyperloglog"
)

// embedded is a miniredis that serves this process alone: it listens on
// loopback behind a random password.
type embedded struct{ server *miniredis.Miniredis }

func startEmbedded() (*embedded, string, error) {
	redis := miniredis.NewMiniRedis()
	redis.ClockTTL(true) // without it keys never expire by themselves
	password := rand.Text()
	redis.RequireAuth(password)
	if err := redis.Start(); err != nil {
		return nil, "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	redis.Server().SetPreHook(mergeSketches(redis.Server()))
	return &embedded{redis}, "redis://:" + password + "@" + redis.Addr(), nil
}

// mergeSketches returns a hook that serves PFMERGE of strings in the formats of Redis: miniredis has
// sketches of its own, which no other command reads. Outside of a script it is not atomic.
func mergeSketches(s *server.Server) server.Hook {
	return func(peer *server.Peer, command string, keys ...string) bool {
		if command != "PFMERGE" || len(keys) == 0 {
			return false
		}
		call := func(args ...string) string {
			var out bytes.Buffer
			w := bufio.NewWriter(&out)
			inner := server.NewPeer(w)
			inner.Ctx = peer.Ctx
			s.Dispatch(inner, args)
			_ = w.Flush() // into memory
			reply, _ := server.ParseReply(bufio.NewReader(&out))
			text, _ := reply.(string)
			return text
		}
		merged := new(hyperloglog.Sketch)
		for _, key := range keys {
			text := call("GET", key)
			if text == "" {
				continue
			}
			sketch, err := hyperloglog.Parse([]byte(text))
			if err != nil {
				peer.WriteError("WRONGTYPE Key is not a valid HyperLogLog string value.")
				return true
			}
			merged.Merge(sketch)
		}
		call("SET", keys[0], string(merged.Encode()))
		peer.WriteOK()
		return true
	}
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
