package delayed

import (
	"context"
	"fmt"
	"time"

	"skidway/queue"
)

// AddSchedule adds a schedule, or replaces the one of the same name. It takes effect at
// once. changed is false if the same schedule was stored already. An error wraps
// [queue.ErrInvalid] if the schedule is not allowed, [queue.ErrChanged] if IfVersion does not
// match, and is a [queue.RevisionError] if
// the stored one has a higher revision. [queue.PoolQueue.RemoveSchedule] removes one.
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

// PauseSchedule makes a schedule add no jobs until ResumeSchedule. It does nothing if the schedule
// is paused already; the error is [queue.ErrNoSchedule] if there is none, [queue.ErrChanged] if it
// does not have the version ifVersion, which may be empty as in [queue.CronSchedule].
func PauseSchedule(ctx context.Context, q *queue.PoolQueue, name, ifVersion string) error {
	return q.PauseSchedule(ctx, name, ifVersion, true, nil)
}

// ResumeSchedule undoes PauseSchedule. The schedule fires at its next time from now; those that
// passed meanwhile are skipped.
func ResumeSchedule(ctx context.Context, q *queue.PoolQueue, name, ifVersion string) error {
	return q.PauseSchedule(ctx, name, ifVersion, false, func(s queue.CronSchedule, after time.Time) (time.Time, error) {
		table, err := parseTimetable(s.Expr, s.Zone)
		if err != nil {
			return time.Time{}, err
		}
		return table.next(after), nil
	})
}

// Schedule returns a schedule of a queue, with its version. The error is [queue.ErrNoSchedule] if there
// is none.
func Schedule(ctx context.Context, client *queue.Client, queueName, name string) (queue.CronScheduleInfo, error) {
	q, err := client.ForPool(queueName)
	if err != nil {
		return queue.CronScheduleInfo{}, err
	}
	info, err := q.Schedule(ctx, name)
	if err == nil && info.Err == nil {
		_, info.Err = parseTimetable(info.Expr, info.Zone)
	}
	return info, err
}

// Schedules returns all schedules of a queue, sorted by name, with their next and last
// firings. A schedule has an Err if its expression or its zone cannot be parsed.
func Schedules(ctx context.Context, client *queue.Client, name string) ([]queue.CronScheduleInfo, error) {
	q, err := client.ForPool(name)
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
