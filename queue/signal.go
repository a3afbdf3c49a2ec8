package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// A Signal tells the workers of a queue something at once. Signals only hurry:
// what counts is in the queue's other keys.
type Signal struct {
	Do     string // one of the Signal constants
	Job    string // with SignalCancel: the job's id
	Worker string // with SignalQuiet and SignalStop: whose; empty: every worker's
}

// What signals tell.
const (
	SignalDue    = "due"    // a delayed job is due before all others
	SignalPause  = "pause"  // the queue was paused
	SignalResume = "resume" // and resumed
	SignalCancel = "cancel" // a running job is wanted no more
	SignalQuiet  = "quiet"  // the worker shall take no more jobs
	SignalStop   = "stop"   // the worker shall end, gently
)

// maxSignals is about how many signals a queue remembers. A worker that was
// away for more of them misses some.
const maxSignals = 1000

// Signal sends a signal to the workers of the queue.
func (q *Queue) Signal(ctx context.Context, signal Signal) error {
	values := []string{"do", signal.Do}
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
	// A signal that comes twice does no harm.
	err := q.client.db.Retry(ctx, func() error {
		return q.client.db.XAdd(ctx, &redis.XAddArgs{Stream: q.keys[keyControl], MaxLen: maxSignals, Approx: true, Values: values}).Err()
	})
	if err != nil {
		return fmt.Errorf("queue %s: signal %s: %w", q.name, signal.Do, err)
	}
	return nil
}

// Signals gives the signals after mark and the mark to go on with: wait at it
// with [rdb.DB.Wait]. A mark without an ID starts now.
func (q *Queue) Signals(ctx context.Context, mark rdb.Mark) ([]Signal, rdb.Mark, error) {
	key := q.keys[keyControl]
	if mark.ID == "" {
		last, err := q.lastEntry(ctx, key)
		if err != nil {
			return nil, mark, fmt.Errorf("queue %s: read signals: %w", q.name, err)
		}
		return nil, rdb.Mark{Key: key, ID: last}, nil
	}
	entries, err := q.entriesAfter(ctx, key, mark.ID, maxSignals)
	if err != nil {
		return nil, mark, fmt.Errorf("queue %s: read signals: %w", q.name, err)
	}
	var signals []Signal
	for _, entry := range entries {
		mark.ID = entry.ID
		do, _ := entry.Values["do"].(string)
		local, _ := entry.Values["id"].(string)
		worker, _ := entry.Values["worker"].(string)
		signal := Signal{Do: do, Worker: worker}
		if local != "" {
			signal.Job = globalID(q.name, local)
		}
		signals = append(signals, signal)
	}
	return signals, mark, nil
}

// Pause lets no worker take another job of the queue, from the moment it
// returns. Jobs that run go on; others can still be added. Pausing twice is
// fine.
func (q *Queue) Pause(ctx context.Context) error { return q.pause(ctx, SignalPause) }

// Resume undoes Pause, and wakes the workers.
func (q *Queue) Resume(ctx context.Context) error { return q.pause(ctx, SignalResume) }

func (q *Queue) pause(ctx context.Context, do string) error {
	if err := q.register(ctx); err != nil {
		return err
	}
	_, err := q.run(ctx, pauseScript, do)
	return err
}
