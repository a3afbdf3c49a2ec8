package delayed

import (
	"context"
	"fmt"
	"time"

	"skidway/queue"
)

// AddSchedule stores a schedule, in place of the one of its name if there is one,
// and it takes effect at once. changed is false where the same was there. An
// error that wraps [queue.ErrInvalid] says what is wrong with it, a
// [queue.RevisionError] that the configuration of another worker goes before.
// See [queue.Client.PutSchedule].
func AddSchedule(ctx context.Context, client *queue.Client, s queue.Schedule) (changed bool, err error) {
	table, err := parseTimetable(s.Expr, s.Zone)
	if err != nil {
		return false, fmt.Errorf("schedule %.140s: %w", s.Name, err)
	}
	return client.PutSchedule(ctx, s, func(after time.Time) (time.Time, error) { return table.next(after), nil })
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
func Schedules(ctx context.Context, client *queue.Client, name string) ([]queue.ScheduleInfo, error) {
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
