package ops

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"skidway/queue"
	"skidway/workers/stats"
)

// A QueueStatus is the state of a queue.
type QueueStatus struct {
	Name  string
	Time  time.Time // when it was read, by the clock of its Redis
	Depth queue.Depth
	Total queue.Counts // since its first use
	Today queue.Counts // in UTC

	Workers int // living workers that serve it
	Slots   int // of those workers that are neither quiet nor stopping
	Free    int // of those slots: they hold no job of any queue, and the worker may run another one of this queue

	// LastWorker is when the lease of the last worker that served it ended; zero if that is not
	// known, also while a worker serves it.
	LastWorker time.Time

	sampledTaken *int64 // of a status from the statistics: a more exact number for taken

	// Err is why the queue can't be read, such as one of a newer release. Then the other fields
	// but Name are zero.
	Err error
}

// Statuses returns the states of the queues with these names; nil means all queues. A queue that
// can't be read has an Err, the others are returned still.
func (c *Client) Statuses(ctx context.Context, names []string) (statuses []QueueStatus, err error) {
	if names == nil {
		if names, err = c.queues.Queues(ctx); err != nil {
			return nil, err
		}
	}
	pools, err := c.pools(ctx)
	if err != nil {
		return nil, err
	}
	statuses = make([]QueueStatus, len(names))
	err = forEach(ctx, names, func(ctx context.Context, i int) error {
		status, err := c.status(ctx, names[i], pools)
		if err != nil {
			if ctx.Err() != nil || unreachable(err) {
				return err
			}
			status = QueueStatus{Name: names[i], Err: err}
		}
		statuses[i] = status
		return nil
	})
	if err != nil {
		return nil, err
	}
	return statuses, nil
}

// readsAtOnce is the number of queues of which one call reads at the same time: the time that it
// takes is that of the network more than that of Redis.
const readsAtOnce = 8

// forEach calls a function with the index of each queue, of several at the same time, until one
// returns an error, and returns the first error.
func forEach(ctx context.Context, names []string, read func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i := range names {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return read(ctx, i)
		})
	}
	return group.Wait()
}

// A poolList is all pools at a time by the clock of Redis.
type poolList struct {
	pools []queue.PoolInfo
	held  map[string]map[string]int // jobs that they hold, by the names of pool and queue
	at    time.Time
}

func (c *Client) pools(ctx context.Context) (list poolList, err error) {
	if list.pools, err = c.queues.Pools(ctx); err != nil {
		return list, err
	}
	if list.held, err = queue.HeldByPools(ctx, c.queues); err != nil {
		return list, err
	}
	list.at, err = c.Now(ctx, "")
	return list, err
}

// status returns the state of one queue.
func (c *Client) status(ctx context.Context, name string, pools poolList) (status QueueStatus, err error) {
	q, err := c.queues.Queue(name)
	if err != nil {
		return status, err
	}
	status.Name = q.Name()
	if status.Depth, err = q.Depth(ctx); err != nil {
		return status, err
	}
	status.Time = status.Depth.Time
	status.addPools(pools)
	total, days, err := q.Counters(ctx, 1)
	if err != nil {
		return status, err
	}
	status.Total, status.Today = total, days[0].Counts
	return status, nil
}

// addPools counts the workers that serve the queue, and their slots.
func (s *QueueStatus) addPools(list poolList) {
	for _, pool := range list.pools {
		if !pool.Serves(s.Name) {
			continue
		}
		if ended := s.Time.Add(pool.Expires); pool.Expires < 0 && ended.After(s.LastWorker) {
			s.LastWorker = ended
		}
		if pool.Expires >= 0 {
			s.Workers++
			if pool.TakesJobs() {
				s.Slots += pool.Concurrency
				s.Free += pool.Free(s.Name, list.held[pool.Name])
			}
		}
	}
	if s.Workers > 0 {
		s.LastWorker = time.Time{}
	}
}

// Note returns what is wrong with the queue in a few words, or "".
func (s *QueueStatus) Note() string {
	switch {
	case s.Err != nil:
		return s.Err.Error()
	case s.Depth.Paused:
		return "paused: 'skidway queues resume " + s.Name + "' resumes it"
	case s.Workers == 0 && s.Depth.Waiting+s.Depth.Delayed > 0:
		return "no worker serves it"
	}
	return ""
}

// maxReportDays is the number of days of which a [Report] has counts.
const maxReportDays = 7

// A Report describes one queue.
type Report struct {
	QueueStatus
	Days      []queue.DayCounts // of the last seven days, today's first
	Workers   []*Worker         // that serve it
	Findings  []string          // whether its jobs run, and if not, why and what to do; the most important one first
	Diagnoses []Diagnosis       // that its state and its statistics show

	// Unreadable are why other queues can't be read, so that the jobs which their workers hold
	// are not known.
	Unreadable []error
}

// Report returns the state of a queue, and why its jobs do not run if they do not. The error is
// a [NoQueueError] if there is no such queue.
func (c *Client) Report(ctx context.Context, name string) (*Report, error) {
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	pools, err := c.pools(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{}
	if report.QueueStatus, err = c.status(ctx, q.Name(), pools); err != nil {
		return nil, err
	}
	if _, report.Days, err = q.Counters(ctx, maxReportDays); err != nil {
		return nil, err
	}
	fleet, err := c.Fleet(ctx, &FleetOptions{})
	if err != nil {
		return nil, err
	}
	report.Workers, report.Unreadable = fleet.Serving(q.Name()), fleet.Unreadable
	report.Findings = explain(&report.QueueStatus, report.Workers)
	series, err := c.Stats(ctx, q.Name(), stats.Hour)
	if err != nil {
		return nil, err
	}
	report.Diagnoses = c.Diagnose(history(series, report.QueueStatus))
	return report, nil
}
