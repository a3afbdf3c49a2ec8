package queue

import (
	"context"
	"fmt"
	"time"
)

// A Depth says how many jobs a queue has in each state.
type Depth struct {
	Waiting  ByPriority
	Active   ByPriority
	Delayed  int
	Dead     int
	Finished int // whose result is kept

	Paused bool

	// Oldest is for how long the first of the waiting jobs has been in its
	// line; zero when none waits.
	Oldest time.Duration

	// NextDue is when the next delayed job is due; zero when there is none.
	NextDue time.Time
}

// Of is the number of jobs of a state, zero for one that is none.
func (d *Depth) Of(state State) int {
	switch state {
	case Waiting:
		return d.Waiting.Total()
	case Active:
		return d.Active.Total()
	case Delayed:
		return d.Delayed
	case Dead:
		return d.Dead
	case Finished:
		return d.Finished
	}
	return 0
}

// ByPriority is a number of jobs of each priority.
type ByPriority struct {
	High, Normal, Low int
}

// Total is the number of jobs of all priorities.
func (n ByPriority) Total() int { return n.High + n.Normal + n.Low }

func (n *ByPriority) add(p Priority, jobs int) {
	switch p {
	case High:
		n.High += jobs
	case Normal:
		n.Normal += jobs
	case Low:
		n.Low += jobs
	}
}

// Depth counts the jobs of the queue, as of one moment. It costs the same
// however many there are.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	reply, err := q.run(ctx, depthScript)
	if err != nil {
		return Depth{}, err
	}
	depth := Depth{
		Paused:  reply.Int(0) == 1,
		Delayed: int(reply.Int(1)), Dead: int(reply.Int(2)), Finished: int(reply.Int(3)),
		Oldest: time.Duration(max(0, reply.Int(5))) * time.Millisecond,
	}
	if reply.Text(4) != "" {
		depth.NextDue = time.UnixMilli(reply.Int(4))
	}
	for at := line(1); at <= lineCount; at++ {
		i := 6 + 2*int(at-1)
		depth.Waiting.add(at.priority(), int(reply.Int(i)))
		depth.Active.add(at.priority(), int(reply.Int(i+1)))
	}
	return depth, nil
}

// Counts are how often things happened to jobs of a queue.
type Counts struct {
	Enqueued   int64 // added by clients of Skidway; who adds jobs by XADD counts for himself
	Succeeded  int64 // succeeded
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

// A WorkerInfo is what a queue knows of one incarnation of a worker.
type WorkerInfo struct {
	Name  string
	About []byte        // what it says of itself, see [Lease.Describe]
	Lease time.Duration // what its lease has left; below zero: it is late
	Held  int           // active jobs that it has
	Solo  string        // id of the job that it runs with no other beside it; empty: none

	// Dead: it was silent for too long, or nobody knows it. Its jobs are
	// handed back.
	Dead bool
}

// Workers lists the workers of the queue: first those whose lease ends first,
// then the dead ones that still have jobs.
func (q *Queue) Workers(ctx context.Context) ([]WorkerInfo, error) {
	reply, err := q.run(ctx, workersScript)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for i := 0; i+5 < reply.Len(); i += 6 {
		worker := WorkerInfo{
			Name:  reply.Text(i),
			Lease: time.Duration(reply.Int(i+1)) * time.Millisecond,
			Dead:  reply.Int(i+2) == 1,
			Held:  int(reply.Int(i + 3)),
			About: []byte(reply.Text(i + 5)),
		}
		if alone := reply.Text(i + 4); alone != "" {
			worker.Solo = globalID(q.name, alone)
		}
		workers = append(workers, worker)
	}
	return workers, nil
}
