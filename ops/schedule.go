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

// Schedules returns the schedules of queues: first those that can't be read, then those that were
// missed, then by their next time.
func (c *Client) Schedules(ctx context.Context, names []string) (all []Schedule, err error) {
	for _, name := range names {
		now, err := c.Now(ctx, name)
		if err != nil {
			return nil, err
		}
		infos, err := delayed.Schedules(ctx, c.queues, name)
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			s := Schedule{CronScheduleInfo: info, Missed: !info.Next.IsZero() && now.Sub(info.Next) > missedAfter}
			if info.Err == nil && !info.Paused {
				s.Upcoming, _ = delayed.Next(info.Expr, info.Zone, now, upcomingTimes) // it has been parsed
			}
			all = append(all, s)
		}
	}
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
	slices.SortStableFunc(all, func(a, b Schedule) int {
		return cmp.Or(rank(a)-rank(b), a.Next.Compare(b.Next), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}
