package queue

import (
	"context"
	_ "embed"
	"time"

	"skidway/internal/rdb"
)

//go:embed lua/depth.lua
var depthSource string

var depthScript = newScript(rdb.NewIdempotentScript, "count jobs", withPlaces+depthSource)

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
	a, err := depthScript.run(ctx, q)
	if err != nil {
		return Depth{}, err
	}
	depth := Depth{
		Paused:  a.number(1) == 1,
		Delayed: int(a.number(2)), Dead: int(a.number(3)), Finished: int(a.number(4)),
		Oldest: time.Duration(max(0, a.number(6))) * time.Millisecond,
	}
	if a.text(5) != "" {
		depth.NextDue = time.UnixMilli(a.number(5))
	}
	for at := line(1); at <= lineCount; at++ {
		i := 7 + 2*int(at-1)
		depth.Waiting.add(at.priority(), int(a.number(i)))
		depth.Active.add(at.priority(), int(a.number(i+1)))
	}
	return depth, nil
}
