package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Signals returns the signals after a cursor, and the cursor for the next call;
// a [Watch] calls a function when another signal comes. A cursor without an ID
// stands for the latest signal, and so does one that is ahead of it: Redis came
// back older, or with a clock that is behind.
func (q *PoolQueue) Signals(ctx context.Context, cursor StreamCursor) ([]Signal, StreamCursor, error) {
	key := q.keys[keyControl]
	cursor.read = time.Now()
	if cursor.ID == "" {
		last, err := lastEntry(ctx, q.client.db, key)
		if err != nil {
			return nil, cursor, fmt.Errorf("queue %s: read signals: %w", q.name, err)
		}
		return nil, StreamCursor{Key: key, ID: last, read: cursor.read}, nil
	}
	entries, err := entriesAfter(ctx, q.client.db, key, cursor.ID, maxSignals)
	if err != nil {
		return nil, cursor, fmt.Errorf("queue %s: read signals: %w", q.name, err)
	}
	if len(entries) == 0 {
		last, err := lastEntry(ctx, q.client.db, key)
		if err != nil {
			return nil, cursor, fmt.Errorf("queue %s: read signals: %w", q.name, err)
		}
		if compareEntries(last, cursor.ID) < 0 {
			cursor.ID = last
		}
	}
	var signals []Signal
	for _, entry := range entries {
		cursor.ID = entry.ID
		kind, _ := entry.Values["do"].(string)
		local, _ := entry.Values["id"].(string)
		worker, _ := entry.Values["worker"].(string)
		signal := Signal{Kind: SignalKind(kind), Worker: worker, entry: entry.ID}
		if local != "" {
			signal.Job = globalID(q.name, local)
		}
		signals = append(signals, signal)
	}
	return signals, cursor, nil
}

// A Signal informs the workers of a queue without delay. Workers that miss a
// signal find out later: the state is in the queue's other keys, except for
// SignalQuiet and SignalStop.
type Signal struct {
	Kind   SignalKind
	Job    string // with SignalCancel: the job's id
	Worker string // with SignalQuiet and SignalStop: the worker; empty means all

	entry string // of the stream of signals
}

// Precedes reports whether the signal was sent before the job was delivered to any worker: it is about
// an earlier run of the job.
func (s Signal) Precedes(job *Job) bool {
	sent, _, _ := strings.Cut(s.entry, "-")
	added, _, _ := strings.Cut(job.entry, "-")
	return sent != "" && compareEntries(sent, added) < 0
}

// A SignalKind is the subject of a [Signal].
type SignalKind string

// The kinds of signals.
const (
	SignalDue      SignalKind = "due"      // a delayed job is due earlier than all others
	SignalPause    SignalKind = "pause"    // the queue was paused
	SignalResume   SignalKind = "resume"   // the queue was resumed
	SignalCancel   SignalKind = "cancel"   // an active job was cancelled
	SignalQuiet    SignalKind = "quiet"    // the worker is to take no more jobs
	SignalStop     SignalKind = "stop"     // the worker is to stop gracefully
	SignalSchedule SignalKind = "schedule" // a schedule was added, changed or removed
	SignalWatch    SignalKind = "watch"    // workers are to report which handlers run, for some time
)

// maxSignals is about how many signals a queue remembers. A worker that was away during
// more of them misses some.
const maxSignals = 1000

// Signal sends a signal to the workers of the queue, also if Redis is full.
func (q *PoolQueue) Signal(ctx context.Context, signal Signal) error {
	values := []any{string(signal.Kind)}
	if signal.Job != "" {
		_, local, err := splitID(signal.Job)
		if err != nil {
			return err
		}
		values = append(values, "id", local)
	}
	if signal.Worker != "" {
		values = append(values, "worker", signal.Worker)
	}
	_, err := q.run(ctx, signalScript, values...)
	return err
}

// MaxEvents is the maximum number of events that a queue keeps.
const MaxEvents = 1_000_000

// EventsKept returns about how many events the queue keeps, zero if it keeps none.
func (q *PoolQueue) EventsKept(ctx context.Context) (kept int, err error) {
	db := q.client.db
	err = db.Retry(ctx, func() (err error) {
		kept, err = db.HGet(ctx, q.keys[keyMeta], "events").Int()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("queue %s: read events: %w", q.name, err)
	}
	return kept, nil
}
