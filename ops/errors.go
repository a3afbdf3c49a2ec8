package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"skidway/internal/filter"
	"skidway/workers/stats"
)

// Errors returns the groups of errors of a queue that were seen last, at most limit of them, or
// only those of a kind if that is not empty. The error is a [NoQueueError] if there is no such
// queue.
func (c *Client) Errors(ctx context.Context, name, kind string, limit int) (groups []stats.ErrorGroup, err error) {
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := stats.Errors(ctx, c.queues, q.Name(), stats.MaxErrorGroups)
	for _, group := range all {
		if (kind == "" || kind == group.Kind) && len(groups) < limit {
			groups = append(groups, c.redactor.group(group))
		}
	}
	return groups, err
}

// GroupMatch returns a filter expression for the jobs that have an error of a group.
func GroupMatch(group stats.ErrorGroup) string {
	return "kind == " + filter.Quote(group.Kind) + " && shape == " + filter.Quote(group.Shape)
}

// A QueueError is a group of errors of a queue, with its counts of 24 hours in UTC and their sums.
type QueueError struct {
	Queue string
	stats.ErrorGroup
	DayHours, DayDeaths []int64 // parts of Hours and Deaths
	DayFailed, DayDead  int64
	New                 bool // whether its first attempt failed after [ErrorFilter].Since
}

// ErrorFilter selects what [Client.ErrorsIn] returns. The zero value selects all.
type ErrorFilter struct {
	Kind  string
	Text  string // a part of the shape or of the latest error, in upper or lower case
	Limit int    // of the groups that are read of each queue; zero means 100

	HoursBack int // how many hours ago the 24 hours of the counts ended; those of a time over a day ago are not kept

	Since  time.Time // groups whose first attempt failed later are new; zero means all
	Until  time.Time // groups whose first attempt failed later are left out; zero means none
	Newest bool      // the order: by the first attempt, the latest first, instead of by deaths
}

// An ErrorReport is groups of errors of several queues.
type ErrorReport struct {
	Groups     []QueueError // by deaths in 24 hours, then by failed attempts, then the latest first
	New        int          // groups that are new
	Examined   int          // groups that were read, whether the filter selects them or not
	Unreadable []error      // why groups of some queues can't be read
}

// errorReaders is the number of queues that are read at the same time.
const errorReaders = 8

// ErrorsIn returns the groups of errors that were seen last in queues. The error is that of a
// Redis that can't be reached; a queue that can't be read is in the report.
func (c *Client) ErrorsIn(ctx context.Context, names []string, f ErrorFilter) (*ErrorReport, error) {
	found, failed := make([][]stats.ErrorGroup, len(names)), make([]error, len(names))
	var reading sync.WaitGroup
	for reader := range min(errorReaders, len(names)) {
		reading.Go(func() {
			for i := reader; i < len(names); i += errorReaders {
				found[i], failed[i] = stats.Errors(ctx, c.queues, names[i], cmp.Or(f.Limit, 100))
			}
		})
	}
	reading.Wait()
	report := &ErrorReport{}
	for i, name := range names {
		if err := failed[i]; err != nil && (ctx.Err() != nil || unreachable(err)) {
			return nil, err
		} else if err != nil {
			report.Unreadable = append(report.Unreadable, err)
		}
		report.Examined += len(found[i])
		for _, group := range found[i] {
			if group = c.redactor.group(group); f.Matches(group) {
				found := dayOf(name, group, f.HoursBack)
				if found.New = group.First.After(f.Since); found.New {
					report.New++
				}
				report.Groups = append(report.Groups, found)
			}
		}
	}
	slices.SortStableFunc(report.Groups, func(a, b QueueError) int {
		if f.Newest && !a.First.Equal(b.First) {
			return b.First.Compare(a.First)
		}
		return cmp.Or(cmp.Compare(b.DayDead, a.DayDead), cmp.Compare(b.DayFailed, a.DayFailed), b.Last.Compare(a.Last))
	})
	return report, nil
}

// Matches reports whether the filter selects a group.
func (f ErrorFilter) Matches(group stats.ErrorGroup) bool {
	text := strings.ToLower(f.Text)
	return (f.Until.IsZero() || !group.First.After(f.Until)) && (f.Kind == "" || f.Kind == group.Kind) && (strings.Contains(strings.ToLower(group.Shape), text) || strings.Contains(strings.ToLower(group.Error), text))
}

// dayOf returns a group with the counts of the 24 hours that ended some hours ago, as far as they are kept.
func dayOf(name string, group stats.ErrorGroup, hoursBack int) QueueError {
	end := stats.ErrorHours - min(max(0, hoursBack), stats.ErrorHours-dayHours)
	e := QueueError{Queue: name, ErrorGroup: group, DayHours: group.Hours[end-dayHours : end], DayDeaths: group.Deaths[end-dayHours : end]}
	for i := range e.DayHours {
		e.DayFailed += e.DayHours[i]
		e.DayDead += e.DayDeaths[i]
	}
	return e
}

// MostFailing returns the names of the queues with the most failed attempts in 24 hours, at most max.
func (o *Overview) MostFailing(max int) (names []string) {
	failed := func(q *SampledQueue) (n int64) {
		for _, hour := range q.Failed {
			n += hour
		}
		return n
	}
	queues := slices.SortedStableFunc(slices.Values(o.Queues), func(a, b *SampledQueue) int { return cmp.Compare(failed(b), failed(a)) })
	for _, q := range queues[:min(max, len(queues))] {
		names = append(names, q.Name)
	}
	return names
}

// mostFailures returns the group with most failed attempts in this and the last hour.
func mostFailures(groups []stats.ErrorGroup) (most *stats.ErrorGroup) {
	recent := func(g *stats.ErrorGroup) int64 {
		return g.Hours[stats.ErrorHours-1] + g.Hours[stats.ErrorHours-2]
	}
	for i := range groups {
		if most == nil || recent(&groups[i]) > recent(most) {
			most = &groups[i]
		}
	}
	return most
}
