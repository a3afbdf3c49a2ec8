package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
)

// A Schedule is a schedule of a queue with its next times.
type Schedule struct {
	queue.CronScheduleInfo
	Upcoming []time.Time // the next three; fewer if it does not fire so often, none while it is paused
	Missed   bool        // it should have fired over a minute ago
}

// Late reports whether a schedule fired over a minute after its time: nothing watched its queue then.
func Late(f queue.Firing) bool { return !f.Manual && f.Fired.Sub(f.Due) > missedAfter }

// upcomingTimes is the number of times in [Schedule.Upcoming].
const upcomingTimes = 3

// A ScheduleReport is the schedules of several queues.
type ScheduleReport struct {
	Schedules  []Schedule // first damaged ones, then those that were missed, then by their next time
	Unreadable []error    // why the schedules of some queues can't be read
}

// Schedules returns the schedules of queues. The error is that of a Redis that can't be reached; a
// queue whose schedules can't be read is in the report.
func (c *Client) Schedules(ctx context.Context, names []string) (*ScheduleReport, error) {
	names, err := queue.ScheduledQueues(ctx, c.queues, names)
	if err != nil {
		return nil, err
	}
	found, failed := make([][]Schedule, len(names)), make([]error, len(names))
	err = forEach(ctx, names, func(ctx context.Context, i int) error {
		found[i], failed[i] = c.schedules(ctx, names[i])
		if err := failed[i]; err != nil && (ctx.Err() != nil || unreachable(err)) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	report := &ScheduleReport{slices.Concat(found...), slices.DeleteFunc(failed, func(err error) bool { return err == nil })}
	rank := func(s Schedule) int {
		switch {
		case s.Err != nil:
			return 0
		case s.Missed:
			return 1
		case s.Next.IsZero():
			return 3
		}
		return 2
	}
	slices.SortStableFunc(report.Schedules, func(a, b Schedule) int {
		return cmp.Or(rank(a)-rank(b), a.Next.Compare(b.Next), strings.Compare(a.Name, b.Name))
	})
	return report, nil
}

// schedules returns the schedules of one queue.
func (c *Client) schedules(ctx context.Context, name string) (all []Schedule, err error) {
	now, err := c.Now(ctx, name)
	if err != nil {
		return nil, err
	}
	infos, err := delayed.Schedules(ctx, c.queues, name)
	for _, info := range infos {
		s := Schedule{CronScheduleInfo: info, Missed: !info.Next.IsZero() && now.Sub(info.Next) > missedAfter}
		if info.Err == nil && !info.Paused {
			s.Upcoming, _ = delayed.Next(info.Expr, info.Zone, now, upcomingTimes) // it has been parsed
		}
		all = append(all, s)
	}
	return all, err
}
