package queue

import (
	"context"
	"fmt"
	"time"
)

// Counts are how often things happened to jobs of a queue.
type Counts struct {
	Enqueued   int64 // added by clients of Skidway; who adds jobs by XADD counts for himself
	Done       int64 // succeeded
	Discarded  int64
	Cancelled  int64
	Failed     int64 // attempts that failed
	Retried    int64 // and were to be made again
	Dead       int64
	Revived    int64 // dead ones let run again by [Client.Retry]
	Deleted    int64
	Crashed    int64 // times that a worker died with a job in hand
	LostLeases int64 // workers that died
	Dropped    int64 // dead ones dropped since there were too many, too large or too old
}

// counterNames gives the counters their names in Redis.
var counterNames = []struct {
	name string
	of   func(*Counts) *int64
}{
	{"enqueued", func(c *Counts) *int64 { return &c.Enqueued }},
	{"done", func(c *Counts) *int64 { return &c.Done }},
	{"discarded", func(c *Counts) *int64 { return &c.Discarded }},
	{"cancelled", func(c *Counts) *int64 { return &c.Cancelled }},
	{"failed", func(c *Counts) *int64 { return &c.Failed }},
	{"retried", func(c *Counts) *int64 { return &c.Retried }},
	{"dead", func(c *Counts) *int64 { return &c.Dead }},
	{"revived", func(c *Counts) *int64 { return &c.Revived }},
	{"deleted", func(c *Counts) *int64 { return &c.Deleted }},
	{"crashed", func(c *Counts) *int64 { return &c.Crashed }},
	{"lost_leases", func(c *Counts) *int64 { return &c.LostLeases }},
	{"dead_dropped", func(c *Counts) *int64 { return &c.Dropped }},
}

// Named gives the counts by their names in Redis, as "done".
func (c Counts) Named() map[string]int64 {
	named := make(map[string]int64, len(counterNames))
	for _, counter := range counterNames {
		named[counter.name] = *counter.of(&c)
	}
	return named
}

// DayCounts are the counts of one day.
type DayCounts struct {
	Day time.Time // its begin, UTC
	Counts
}

// Counters are the counts of a queue.
type Counters struct {
	Total Counts      // since the queue was first used
	Days  []DayCounts // the latest first, today included
}

// CounterDays is for how many days counts are kept by day.
const CounterDays = 90

// Counters gives the counts of all time and of the latest days, at most
// [CounterDays]. Days are UTC's, by Redis's clock.
func (q *Queue) Counters(ctx context.Context, days int) (Counters, error) {
	if days < 0 || days > CounterDays {
		return Counters{}, fmt.Errorf("%w: %d days: want 0 to %d", ErrInvalid, days, CounterDays)
	}
	args := []any{days}
	for _, counter := range counterNames {
		args = append(args, counter.name)
	}
	reply, err := q.run(ctx, countersScript, args...)
	if err != nil {
		return Counters{}, err
	}
	read := func(period int) (counts Counts) {
		for i, counter := range counterNames {
			*counter.of(&counts) = reply.Int(1 + period*len(counterNames) + i)
		}
		return counts
	}
	counters := Counters{Total: read(0)}
	for back := range days {
		day := time.Unix((reply.Int(0)-int64(back))*86400, 0).UTC()
		counters.Days = append(counters.Days, DayCounts{day, read(back + 1)})
	}
	return counters, nil
}

// Tidy drops what is too old: results whose time is over, dead jobs and counts
// by day of more than [CounterDays] days, unique keys that nobody holds any
// more. Workers call it now and then; any number may, at any time. It goes in
// steps.
func (q *Queue) Tidy(ctx context.Context) error {
	for cursor, more := "0", true; more; {
		reply, err := q.run(ctx, tidyScript, cursor, maxTidy)
		if err != nil {
			return err
		}
		cursor = reply.Text(0)
		more = cursor != "" || reply.Int(1) == 1
	}
	return nil
}

// maxTidy is how much of each sort one step drops.
const maxTidy = 100
