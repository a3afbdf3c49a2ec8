package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Signal informs the workers of a queue without delay. Workers that miss a
// signal find out later: the state is in the queue's other keys, except for
// SignalQuiet and SignalStop.
type Signal struct {
	Kind   SignalKind
	Job    string // with SignalCancel: the job's id
	Worker string // with SignalQuiet and SignalStop: whose; empty: every worker's
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
)

// maxSignals is about how many signals a queue remembers. A worker that was away
// during more of them misses some.
const maxSignals = 1000

// Signal sends a signal to the workers of the queue.
func (q *Queue) Signal(ctx context.Context, signal Signal) error {
	values := []string{"do", string(signal.Kind)}
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
		return fmt.Errorf("queue %s: signal %s: %w", q.name, signal.Kind, err)
	}
	return nil
}

// Pause stops workers from taking jobs of the queue: when it returns, no worker
// takes another one. Active jobs continue, and jobs can still be added. Pausing a
// paused queue changes nothing.
func (q *Queue) Pause(ctx context.Context) error { return q.setPaused(ctx, SignalPause) }

// Resume undoes Pause and wakes the workers.
func (q *Queue) Resume(ctx context.Context) error { return q.setPaused(ctx, SignalResume) }

func (q *Queue) setPaused(ctx context.Context, signal SignalKind) error {
	if err := q.register(ctx); err != nil {
		return err
	}
	_, err := q.run(ctx, pauseScript, string(signal))
	return err
}
