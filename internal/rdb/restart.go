package rdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrServerChanged is the error of a call with a context of [DB.ExpectServer] that was not sent,
// because Redis was restarted or replaced by another server.
var ErrServerChanged = errors.New("redis was restarted or replaced by another server, which may have lost writes")

// restarts counts how often Redis was restarted, or replaced by another server: it may lack what
// was written before. Each process of Redis has a random run id, which each new connection reads
// before it is used. A server whose ACL refuses INFO is never known to have changed. A node of a
// Cluster that is met for the first time counts if it was started later than the client, or was
// a replica once.
type restarts struct {
	cluster bool
	opened  time.Time // when the client was
	count   atomic.Int64

	mu      sync.Mutex
	runIDs  map[string]bool // of the latest server, or of all masters of a Cluster with their replication
	latest  time.Time       // when the count rose; zero if it has not
	watches map[*Watch]bool // that run
}

// An informer is a connection to a server, or a client of it.
type informer interface {
	Info(ctx context.Context, sections ...string) *redis.StringCmd
}

// connected reads the run id of the server of a new connection.
func (r *restarts) connected(ctx context.Context, conn *redis.Conn) error {
	_, err := r.compare(ctx, conn)
	return err
}

// compare reads the run id of a server. known reports whether the server has answered and is no
// replica in a Cluster, whose run id does not count.
func (r *restarts) compare(ctx context.Context, server informer) (known bool, err error) {
	text, err := server.Info(ctx, "server", "replication").Result()
	if err != nil && !isAnswer(err) {
		return false, err // the answer may still come, before that of the next command
	}
	info := ParseInfo(text)
	id := info["run_id"]
	if r.cluster {
		if err == nil && info["role"] != "master" {
			return false, r.check(ctx)
		}
		id += "/" + info["master_replid"] // another one after a promotion
	}
	if err == nil && id != "" && info["redis_mode"] != "sentinel" {
		uptime, _ := strconv.Atoi(info["uptime_in_seconds"])
		younger := time.Duration(uptime+1)*time.Second < time.Since(r.opened)
		r.add(id, younger || strings.Trim(info["master_replid2"], "0") != "")
	}
	return true, r.check(ctx)
}

// add adds a run id. changed reports whether a node of a Cluster that is new has restarted.
func (r *restarts) add(runID string, changed bool) {
	var watches []*Watch
	defer func() {
		for _, w := range watches {
			w.forget(func(string, *watchNode) bool { return true }) // their marks may be ahead of Redis
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runIDs[runID] {
		return
	}
	if len(r.runIDs) > 0 && (changed || !r.cluster) {
		r.count.Add(1)
		r.latest = time.Now()
		watches = slices.Collect(maps.Keys(r.watches))
	}
	if r.runIDs == nil || !r.cluster {
		r.runIDs = map[string]bool{}
	}
	r.runIDs[runID] = true
}

// watch makes a restart call the functions of all groups of a watch, until stop is called.
func (r *restarts) watch(w *Watch) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches == nil {
		r.watches = map[*Watch]bool{}
	}
	r.watches[w] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watches, w)
	}
}

// since reports whether Redis was restarted after a time.
func (r *restarts) since(t time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.Before(r.latest)
}

type expectedRestarts struct{}

// check returns ErrServerChanged if ctx expects another number of restarts.
func (r *restarts) check(ctx context.Context) error {
	if expected, ok := ctx.Value(expectedRestarts{}).(int64); ok && expected != r.count.Load() {
		return ErrServerChanged
	}
	return nil
}

// Restarts returns how often new connections have found that Redis was restarted, or replaced by
// another server.
func (db *DB) Restarts() int64 { return db.restarts.count.Load() }

// ExpectServer returns a context for scripts that must reach the server that Redis was when
// [DB.Restarts] returned a number: after a change they return [ErrServerChanged]. A script that is
// sent by an old connection while a new one notices the change is not refused.
func ExpectServer(ctx context.Context, restarts int64) context.Context {
	return context.WithValue(ctx, expectedRestarts{}, restarts)
}
