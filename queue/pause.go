package queue

import (
	"context"
)

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
