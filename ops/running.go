package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"skidway/internal/rdb"
	"skidway/workers/stats"
)

// A RunningJob is a job whose handler runs.
type RunningJob struct {
	Queue string
	stats.RunningJob
}

// Running is what the handlers of workers do.
type Running struct {
	Jobs []RunningJob // the longest first, at most 100 of a worker and queue
	More int          // jobs that are not among them

	// Silent are workers that hold jobs and have not reported: they hang, or are of a release that
	// does not report.
	Silent []string
}

// reportWait bounds the time until the workers have reported what they run.
const reportWait = 2 * time.Second

// Running asks the workers of a queue, or of all queues for an empty name, which handlers run. It
// blocks until they have reported, at most for 2 s. They go on reporting, every 5 s for 30 s. The
// error is a [NoQueueError] if there is no such queue.
func (c *Client) Running(ctx context.Context, name string) (*Running, error) {
	names, err := c.QueueNames(ctx, name)
	if err != nil {
		return nil, err
	}
	running := &Running{}
	silent := map[string]bool{}
	deadline := time.Now().Add(reportWait)
	for _, name := range names {
		if err := c.addRunning(ctx, name, running, silent, deadline); err != nil {
			return nil, err
		}
	}
	for pool := range silent {
		running.Silent = append(running.Silent, pool)
	}
	slices.Sort(running.Silent)
	slices.SortFunc(running.Jobs, func(a, b RunningJob) int { return cmp.Or(cmp.Compare(b.For, a.For), strings.Compare(a.ID, b.ID)) })
	return running, nil
}

// addRunning adds the jobs of one queue, and the workers that have not reported.
func (c *Client) addRunning(ctx context.Context, name string, running *Running, silent map[string]bool, deadline time.Time) error {
	q, err := c.queues.Queue(name)
	if err != nil {
		return nil // another client has listed a name that is none
	}
	leases, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	holders := map[string]bool{}
	for _, lease := range leases {
		if lease.Held > 0 && !lease.Dead {
			holders[lease.Pool()] = true
		}
	}
	if len(holders) == 0 {
		return nil
	}
	if err := stats.Watch(ctx, c.queues, name); err != nil {
		return err
	}
	for backoff := (rdb.Backoff{First: 10 * time.Millisecond, Max: 200 * time.Millisecond}); ; {
		reports, err := stats.Reports(ctx, c.queues, name)
		if err != nil {
			return err
		}
		missing := len(holders)
		for _, report := range reports {
			if holders[report.Pool] && report.Age <= 2*stats.ReportEvery {
				missing--
			}
		}
		if missing > 0 && time.Now().Before(deadline) {
			if err := backoff.Sleep(ctx); err != nil {
				return err
			}
			continue
		}
		for _, report := range reports {
			if report.Age > 2*stats.ReportEvery {
				continue
			}
			delete(holders, report.Pool)
			running.More += report.More
			for _, job := range report.Jobs {
				running.Jobs = append(running.Jobs, RunningJob{name, job})
			}
		}
		for pool := range holders {
			silent[pool] = true
		}
		return nil
	}
}
