package delayed

import (
	"context"
	"fmt"
	"time"

	"skidway/queue"
)

// Schedule adds a job that waits until at, by Redis's clock; a time in the past
// is now. It is [queue.Client.Enqueue] with that time, and an error that wraps
// [queue.ErrInvalid] if at is zero or options have another time or a delay.
func Schedule(ctx context.Context, client *queue.Client, args queue.Args, at time.Time, options queue.Options) (id string, err error) {
	switch {
	case at.IsZero():
		return "", fmt.Errorf("schedule a job: %w: the time is missing (a job for now is added by Enqueue)", queue.ErrInvalid)
	case !options.At.IsZero():
		return "", fmt.Errorf("schedule a job: %w: options have a time, %s, of their own", queue.ErrInvalid, options.At.Format(time.RFC3339))
	}
	options.At = at
	return client.Enqueue(ctx, args, options)
}

// Cancel ends a delayed job: it does not run, and gives its unique key back. A
// job in another state is left alone, with an error that wraps
// [queue.ErrState].
func Cancel(ctx context.Context, client *queue.Client, id string) error {
	return client.CancelDelayed(ctx, id)
}

// Reschedule gives a delayed job another time, by Redis's clock; one in the past
// is now. A job in another state is left alone, with an error that wraps
// [queue.ErrState].
func Reschedule(ctx context.Context, client *queue.Client, id string, at time.Time) error {
	if at.IsZero() {
		return fmt.Errorf("reschedule %s: %w: the time is missing (RunNow is for now)", id, queue.ErrInvalid)
	}
	return client.Reschedule(ctx, id, at)
}

// RunNow puts a delayed job into the due line of its priority, whatever its
// time. A job in another state is left alone, with an error that wraps
// [queue.ErrState]; dead ones are for [queue.Client.Retry].
func RunNow(ctx context.Context, client *queue.Client, id string) error {
	return client.RetryDelayed(ctx, id)
}

// List gives the delayed jobs of a queue, scheduled ones and those that wait for
// another attempt, in the order of their times.
func List(ctx context.Context, client *queue.Client, name string, options queue.ListOptions) (queue.Page, error) {
	q, err := client.Queue(name)
	if err != nil {
		return queue.Page{}, err
	}
	return q.List(ctx, queue.Delayed, options)
}
