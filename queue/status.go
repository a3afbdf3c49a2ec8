package queue

import (
	"context"
	"fmt"
	"time"
)

// A Depth has the numbers of a queue's jobs by state.
type Depth struct {
	Waiting, Active, Delayed, Dead int
	Finished                       int // with a result that is kept

	// WaitingBy and ActiveBy divide Waiting and Active by priority.
	WaitingBy, ActiveBy map[Priority]int

	Paused bool

	// Of a paused queue: since when, and who paused it why, if that is known.
	PausedAt             time.Time
	PausedBy, PausedNote string

	// Oldest is how long the first waiting job has been in its line; zero if no
	// job waits.
	Oldest time.Duration

	// NextDue is when the next delayed job is due; zero if there is none.
	NextDue time.Time

	// Time is when the jobs were counted, by the clock of the Redis that has the queue.
	Time time.Time
}

// Depth counts the jobs of the queue at one moment. Its cost does not depend on their
// number, but Redis copies the first waiting job of each line, whose args may be large.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	reply, err := q.run(ctx, depthScript)
	if err != nil {
		return Depth{}, err
	}
	depth := Depth{
		Paused:  reply.Int(0) > 0,
		Delayed: int(reply.Int(1)), Dead: int(reply.Int(2)), Finished: int(reply.Int(3)),
		WaitingBy: map[Priority]int{}, ActiveBy: map[Priority]int{},
		Oldest: time.Duration(max(0, reply.Int(5))) * time.Millisecond,
		Time:   time.UnixMilli(reply.Int(6)),
	}
	if reply.Text(4) != "" {
		depth.NextDue = time.UnixMilli(reply.Int(4))
	}
	for at := line(1); at <= lineCount; at++ {
		i := 7 + 2*int(at-1)
		waiting, active := int(reply.Int(i)), int(reply.Int(i+1))
		depth.Waiting += waiting
		depth.Active += active
		depth.WaitingBy[at.priority()] += waiting
		depth.ActiveBy[at.priority()] += active
	}
	if depth.Paused {
		end := 7 + 2*int(lineCount)
		depth.PausedAt, depth.PausedBy, depth.PausedNote = time.UnixMilli(reply.Int(0)), reply.Text(end), reply.Text(end+1)
	}
	return depth, nil
}

// Counts are the numbers of events in the life of a queue's jobs.
type Counts struct {
	Enqueued   int64 // jobs added, also by XADD (there not with the embedded Redis)
	Succeeded  int64
	Discarded  int64
	Cancelled  int64
	Failed     int64 // failed attempts
	Retried    int64 // failed attempts that were followed by a delay and another one
	Dead       int64
	Revived    int64 // dead jobs that [Client.Retry] let run again
	Deleted    int64
	Crashed    int64 // deaths of a worker, for each job that it ran
	LostLeases int64 // deaths of workers
	Dropped    int64 // dead jobs that were dropped by the queue's [Retention]
	Duplicates int64 // jobs that were to follow another one, and whose unique key was held
}

// counterNames are the names of the counters in Redis.
var counterNames = []struct {
	name string
	of   func(*Counts) *int64
}{
	{"enqueued", func(c *Counts) *int64 { return &c.Enqueued }},
	{"done", func(c *Counts) *int64 { return &c.Succeeded }},
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
	{"duplicates", func(c *Counts) *int64 { return &c.Duplicates }},
}

// Named returns the counts by their names in Redis, such as "done".
func (c Counts) Named() map[string]int64 {
	named := make(map[string]int64, len(counterNames))
	for _, counter := range counterNames {
		named[counter.name] = *counter.of(&c)
	}
	return named
}

// DayCounts are the counts of one day.
type DayCounts struct {
	Day time.Time // its start, in UTC
	Counts
}

// counterDays is the number of days for which counts by day are kept.
const counterDays = 90

// Counters returns the counts since the queue was first used, and those of the latest days,
// at most 90: today's first, in UTC by Redis's clock.
func (q *Queue) Counters(ctx context.Context, days int) (total Counts, byDay []DayCounts, err error) {
	if days < 0 || days > counterDays {
		return Counts{}, nil, fmt.Errorf("%w: %d days: want 0 to %d", ErrInvalid, days, counterDays)
	}
	args := []any{days}
	for _, counter := range counterNames {
		args = append(args, counter.name)
	}
	reply, err := q.run(ctx, countersScript, args...)
	if err != nil {
		return Counts{}, nil, err
	}
	read := func(period int) (counts Counts) {
		for i, counter := range counterNames {
			*counter.of(&counts) = reply.Int(1 + period*len(counterNames) + i)
		}
		return counts
	}
	for back := range days {
		day := time.Unix((reply.Int(0)-int64(back))*86400, 0).UTC()
		byDay = append(byDay, DayCounts{day, read(back + 1)})
	}
	return read(0), byDay, nil
}

// A WorkerInfo describes a lease of a queue: a worker that holds jobs of it. [Client.Pools]
// returns the pools that serve it.
type WorkerInfo struct {
	Name  string        // of the lease: that of the pool, a dot and a number
	Lease time.Duration // until its lease expires; negative if it is late
	Held  int           // number of active jobs that it holds
	Solo  string        // id of the job that it runs solo; empty if there is none

	// Dead reports whether the worker was declared dead or is unknown. Its jobs are
	// being handed back.
	Dead bool
}

// Workers returns the workers that hold jobs of the queue, or did lately: first living ones by
// the time that their lease expires, then dead ones.
func (q *Queue) Workers(ctx context.Context) ([]WorkerInfo, error) {
	reply, err := q.run(ctx, workersScript)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for i := 0; i+4 < reply.Len(); i += 5 {
		worker := WorkerInfo{
			Name:  reply.Text(i),
			Lease: time.Duration(reply.Int(i+1)) * time.Millisecond,
			Dead:  reply.Int(i+2) == 1,
			Held:  int(reply.Int(i + 3)),
		}
		if solo := reply.Text(i + 4); solo != "" {
			worker.Solo = globalID(q.name, solo)
		}
		workers = append(workers, worker)
	}
	return workers, nil
}
