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
	return client.Enqueue(ctx, args, &options)
}

// Cancel ends a delayed job: it does not run, and gives its unique key back. A
// job in another state is left alone, with an error that wraps
// [queue.ErrState].
func Cancel(ctx context.Context, client *queue.Client, id string) error {
	_, err := client.Cancel(ctx, id, queue.OnlyIf(queue.Delayed))
	return err
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
	return client.Retry(ctx, id, queue.OnlyIf(queue.Delayed))
}

// List gives the delayed jobs of a queue, scheduled ones and those that wait for
// another attempt, in the order of their times.
func List(ctx context.Context, client *queue.Client, name string, options queue.ListOptions) (queue.Page, error) {
	q, err := client.Queue(name)
	if err != nil {
		return queue.Page{}, err
	}
	return q.List(ctx, queue.Delayed, &options)
}

// AddSchedule stores a schedule, in place of the one of its name if there is one,
// and it takes effect at once. changed is false where the same was there. An
// error that wraps [queue.ErrInvalid] says what is wrong with it, a
// [queue.RevisionError] that the configuration of another worker goes before.
// See [queue.PoolQueue.PutSchedule].
func AddSchedule(ctx context.Context, client *queue.Client, s queue.CronSchedule) (changed bool, err error) {
	table, err := parseTimetable(s.Expr, s.Zone)
	if err != nil {
		return false, fmt.Errorf("schedule %.140s: %w", s.Name, err)
	}
	q, err := client.ForPool(s.Queue)
	if err != nil {
		return false, fmt.Errorf("schedule %.140s: %w", s.Name, err)
	}
	return q.PutSchedule(ctx, s, func(after time.Time) (time.Time, error) { return table.next(after), nil })
}

// RemoveSchedule ends a schedule at once; jobs that it has added stay. The error
// wraps [queue.ErrNoSchedule] where there is none.
func RemoveSchedule(ctx context.Context, client *queue.Client, name, schedule string) error {
	q, err := client.Queue(name)
	if err != nil {
		return err
	}
	return q.RemoveSchedule(ctx, schedule)
}

// Schedules gives all schedules of a queue, by name, with their next and last
// firings. One whose expression or zone can't be understood here has an Err.
func Schedules(ctx context.Context, client *queue.Client, name string) ([]queue.CronScheduleInfo, error) {
	q, err := client.Queue(name)
	if err != nil {
		return nil, err
	}
	infos, err := q.Schedules(ctx)
	for i := range infos {
		if infos[i].Err == nil {
			_, infos[i].Err = parseTimetable(infos[i].Expr, infos[i].Zone)
		}
	}
	return infos, err
}

// FireNow lets a schedule fire once more, now, and gives the id of the job. The
// times at which it fires stay as they are. The error wraps
// [queue.ErrNoSchedule] where there is none, and is a [queue.DuplicateError]
// where another job holds the unique key. A call whose answer was lost is
// repeated without adding another job.
func FireNow(ctx context.Context, client *queue.Client, name, schedule string) (id string, err error) {
	q, err := client.Queue(name)
	if err != nil {
		return "", err
	}
	return q.RunSchedule(ctx, schedule)
}
