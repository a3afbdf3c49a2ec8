package rdb

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"skidway/internal/hyperloglog"
)

// embedded is a miniredis that serves this process alone: it listens on
// loopback behind a random password.
type embedded struct {
	server *miniredis.Miniredis

	clockMu sync.Mutex
	stopped bool      // the clock stands where SetEmbeddedTime has set it
	clock   time.Time // what it shows
	next    time.Time // when it is set again
}

func startEmbedded() (*embedded, string, error) {
	redis := miniredis.NewMiniRedis()
	e := &embedded{server: redis}
	e.advance()
	redis.ClockTTL(true) // without it keys never expire by themselves
	password := rand.Text()
	redis.RequireAuth(password)
	if err := redis.Start(); err != nil {
		return nil, "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	merge := mergeSketches(redis.Server())
	redis.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		e.advance()
		return merge(peer, command, args...)
	})
	return e, "redis://:" + password + "@" + redis.Addr(), nil
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

// advance sets the server's clock to the time, before a command. Each time that it moves, miniredis
// goes through all keys for those that expire: that takes at most a fifth of the time. During a
// script the clock stands still, as that of Redis does.
func (e *embedded) advance() {
	started := time.Now()
	now := started.Truncate(time.Millisecond)
	if !e.clockMu.TryLock() {
		return
	}
	defer e.clockMu.Unlock()
	if e.stopped || !now.After(e.clock) || started.Before(e.next) || !e.server.TryLock() {
		return
	}
	e.server.Unlock() // it is locked while a script runs, whose commands come here too
	e.clock = now
	e.server.SetTime(now)
	e.server.DB(0) // keys expire
	ended := time.Now()
	e.next = ended.Add(4 * ended.Sub(started))
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
	e := db.embedded
	e.clockMu.Lock()
	defer e.clockMu.Unlock()
	e.stopped = true
	e.server.SetTime(now)
	return nil
}
