package queue

import (
	"context"
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
