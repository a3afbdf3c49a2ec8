package workers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// Handlers of the chaos tests note each call in Redis before they do anything
// else, on a connection that no test disturbs.

// A chaosRun is one call of a handler.
type chaosRun struct {
	job   string // its id
	turn  string // which of the calls that the job needs
	lease string // that the job was held under
}

func notesKey(db *rdb.DB) string { return db.Prefix() + ":{chaos}:notes" }

func note(ctx context.Context, db *rdb.DB, job *queue.Job, turn string) error {
	// The call's own number tells a note that was written twice, since an
	// answer got lost, from a second call.
	values := []string{"job", job.ID, "turn", turn, "lease", job.Worker, "call", rand.Text()}
	return db.Retry(ctx, func() error {
		return db.XAdd(ctx, &redis.XAddArgs{Stream: notesKey(db), Values: values}).Err()
	})
}

// gateKey is a list. A handler of kind hold goes on when something is in it.
func gateKey(db *rdb.DB, worker string) string { return db.Prefix() + ":{chaos}:gate:" + worker }

// addChaosKinds gives a pool the handlers of the chaos tests.
func addChaosKinds(pool *workers.Pool, notes *rdb.DB, worker string) {
	ctx := context.Background() // notes are written whatever becomes of the job
	handle := func(kind string, handler func(job *queue.Job) (turn string, then error)) {
		pool.Handle(kind, func(_ context.Context, job *queue.Job) error {
			turn, then := handler(job)
			if err := note(ctx, notes, job, turn); err != nil {
				return fmt.Errorf("note the call: %w", err)
			}
			return then
		}, workers.Kind{})
	}
	handle("plain", func(*queue.Job) (string, error) { return "only", nil })
	handle("fails-once", func(job *queue.Job) (string, error) {
		if job.Attempts == 0 {
			return "first", workers.RetryAfter(5*time.Millisecond, errors.New("once"))
		}
		return "second", nil
	})
	handle("snoozes-once", func(job *queue.Job) (string, error) {
		key := notesKey(notes) + ":" + job.ID
		seen, err := notes.SetNX(ctx, key, job.Worker, 0).Result()
		if err != nil {
			return "first", err
		}
		if seen {
			return "first", workers.Snooze(5 * time.Millisecond)
		}
		return "second", nil
	})
	pool.Handle("hold", func(_ context.Context, job *queue.Job) error {
		if err := note(ctx, notes, job, "only"); err != nil {
			return err
		}
		word, err := notes.BLPop(ctx, 0, gateKey(notes, worker)).Result()
		if err != nil {
			return err
		}
		if word[1] == "fail" {
			return errors.New("told to fail")
		}
		return nil
	}, workers.Kind{})
	pool.Handle("poison", func(_ context.Context, job *queue.Job) error {
		if err := note(ctx, notes, job, "only"); err != nil {
			return err
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it arrives in a moment
	}, workers.Kind{})
}

// A runLog reads what handlers have noted.
type runLog struct {
	db   *rdb.DB
	last string // entry
	runs []chaosRun
	jobs map[string]bool // that have run
	call map[string]bool
}

func newRunLog(db *rdb.DB) *runLog {
	return &runLog{db: db, last: "0", jobs: map[string]bool{}, call: map[string]bool{}}
}

// until reads on until a condition holds.
func (l *runLog) until(t testing.TB, ctx context.Context, holds func() bool) {
	t.Helper()
	for !holds() {
		var found []redis.XStream
		err := l.db.Retry(ctx, func() (err error) {
			found, err = l.db.XRead(ctx, &redis.XReadArgs{Streams: []string{notesKey(l.db), l.last}, Count: 1000, Block: time.Second}).Result()
			return err
		})
		if ctx.Err() != nil {
			t.Fatalf("waited in vain, %d jobs have run: %v", len(l.jobs), context.Cause(ctx))
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		for _, stream := range found {
			for _, entry := range stream.Messages {
				l.add(entry)
			}
		}
	}
}

// rest reads what is there.
func (l *runLog) rest(t testing.TB) {
	t.Helper()
	entries, err := l.db.XRange(context.Background(), notesKey(l.db), "("+l.last, "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		l.add(entry)
	}
}

func (l *runLog) add(entry redis.XMessage) {
	l.last = entry.ID
	text := func(name string) string { s, _ := entry.Values[name].(string); return s }
	if call := text("call"); !l.call[call] {
		l.call[call] = true
		l.jobs[text("job")] = true
		l.runs = append(l.runs, chaosRun{text("job"), text("turn"), text("lease")})
	}
}
