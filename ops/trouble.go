package ops

import (
	"cmp"
	"slices"
	"time"

	"skidway/distribute"
	"skidway/queue"
)

// A Trouble is a condition that an operator should know of: a diagnosis of a queue, or what is
// wrong with a worker, a schedule, a channel or the Redis. One of the pointers says what it is
// about.
type Trouble struct {
	Rank  Rank   // [Problem] or [Warning]; [Off] for a paused queue, which is on purpose
	Name  string // of a [Diagnosis], or "unreadable", "paused", "schedules", "vanished", "missed", "damaged", "full", "gone" or "finding"
	Since time.Time

	Queue    *SampledQueue
	Worker   *queue.PoolInfo
	Schedule *queue.CronScheduleInfo
	Channel  *SampledChannel
	Laggard  *distribute.Laggard // of the channel, for which it waits
	Finding  *Finding
}

// missedAfter is how late a schedule must be to be reported.
const missedAfter = time.Minute

// troubles collects what is wrong, the worst first, and of those the newest.
func (o *Overview) troubles() (found []Trouble) {
	for _, q := range o.Queues {
		switch {
		case q.Err != nil:
			found = append(found, Trouble{Rank: Problem, Name: "unreadable", Queue: q})
		case q.Depth.Paused:
			found = append(found, Trouble{Rank: Off, Name: "paused", Since: q.Depth.PausedAt, Queue: q})
		}
		if q.SchedulesErr != nil {
			found = append(found, Trouble{Rank: Problem, Name: "schedules", Queue: q})
		}
		for _, d := range q.troubles() {
			found = append(found, Trouble{Rank: d.Rank, Name: d.Name, Since: d.Since, Queue: q})
		}
	}
	for i := range o.Vanished {
		found = append(found, Trouble{Rank: Warning, Name: "vanished", Since: o.Now.Add(o.Vanished[i].Expires), Worker: &o.Vanished[i]})
	}
	for i := range o.Schedules {
		s := &o.Schedules[i]
		switch {
		case s.Err != nil:
			found = append(found, Trouble{Rank: Problem, Name: "damaged", Schedule: s})
		case !s.Next.IsZero() && o.Now.Sub(s.Next) > missedAfter:
			found = append(found, Trouble{Rank: Warning, Name: "missed", Since: s.Next, Schedule: s})
		}
	}
	for i := range o.Channels {
		found = append(found, o.Channels[i].troubles()...)
	}
	for i := range o.Findings {
		found = append(found, Trouble{Rank: o.Findings[i].Rank, Name: "finding", Finding: &o.Findings[i]})
	}
	slices.SortStableFunc(found, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(rankOrder[a.Rank], rankOrder[b.Rank]), b.Since.Compare(a.Since))
	})
	return found
}

// rankOrder has the order in which troubles are listed.
var rankOrder = map[Rank]int{Problem: 0, Warning: 1, Off: 2}

// troubles returns what is wrong with a channel: the subscriber without a worker that holds up
// most, as a problem if the window is full, or shippers wait for room.
func (c *SampledChannel) troubles() []Trouble {
	var worst *distribute.Laggard
	for _, l := range c.Status.Laggards() {
		if l.Gone() && (worst == nil || l.Bytes > worst.Bytes) {
			worst = &l
		}
	}
	if worst == nil {
		return nil
	}
	trouble := Trouble{Rank: Warning, Name: "gone", Channel: c, Laggard: worst}
	if !worst.Lost {
		trouble.Since = c.Status.Now.Add(-worst.Idle)
	}
	if c.Status.Full() || c.Status.ShippersWaiting > 0 {
		trouble.Rank, trouble.Name = Problem, "full"
	}
	return []Trouble{trouble}
}
