package ops

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
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

// reportWait bounds the time until the workers have reported what they run, from when all of them
// have been asked.
const reportWait = 2 * time.Second

// Running asks the workers of a queue, or of all queues for an empty name, which handlers run. It
// blocks until they have been asked and have reported, at most 2 s after the last was asked. They go
// on reporting, every 5 s for 30 s. The error is a [NoQueueError] if there is no such queue.
func (c *Client) Running(ctx context.Context, name string) (*Running, error) {
	names, err := c.QueueNames(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.RunningIn(ctx, names)
}

// RunningIn is [Client.Running] for the queues with these names.
func (c *Client) RunningIn(ctx context.Context, names []string) (*Running, error) {
	queues, err := askRunning(ctx, c.queues, names)
	if err != nil {
		return nil, err
	}
	if err := queues.await(ctx, c.queues); err != nil {
		return nil, err
	}
	running := &Running{}
	silent := map[string]bool{}
	for _, q := range queues {
		for _, report := range q.reports {
			running.More += report.More
			for _, job := range report.Jobs {
				running.Jobs = append(running.Jobs, RunningJob{q.name, job})
			}
		}
		for pool := range q.missing {
			silent[pool] = true
		}
	}
	running.Silent = slices.Sorted(maps.Keys(silent))
	slices.SortFunc(running.Jobs, func(a, b RunningJob) int { return cmp.Or(cmp.Compare(b.For, a.For), strings.Compare(a.ID, b.ID)) })
	return running, nil
}

// An askedQueue is a queue whose workers were asked what they run.
type askedQueue struct {
	name    string
	missing map[string]bool    // pools that hold jobs and have not reported
	reports []stats.PoolReport // the latest
}

// askedQueues are the queues of one question.
type askedQueues []*askedQueue

// askRunning asks the workers of the queues of which jobs are held.
func askRunning(ctx context.Context, client *queue.Client, names []string) (asked askedQueues, err error) {
	for _, name := range names {
		q, err := client.Queue(name)
		if err != nil {
			continue // another client has listed a name that is none
		}
		leases, err := q.Workers(ctx)
		if err != nil {
			return nil, err
		}
		holders := map[string]bool{}
		for _, lease := range leases {
			if lease.Held > 0 && !lease.Dead {
				holders[lease.Pool()] = true
			}
		}
		if len(holders) == 0 {
			continue
		}
		if err := stats.Watch(ctx, client, name); err != nil {
			return nil, err
		}
		asked = append(asked, &askedQueue{name: name, missing: holders})
	}
	return asked, nil
}

// await reads the reports of all queues together, until none is missing or the wait is over.
func (queues askedQueues) await(ctx context.Context, client *queue.Client) error {
	deadline := time.Now().Add(reportWait)
	for backoff := (rdb.Backoff{First: 10 * time.Millisecond, Max: 200 * time.Millisecond}); ; {
		last, waiting := !time.Now().Before(deadline), false
		for _, q := range queues {
			if len(q.missing) == 0 {
				continue
			}
			if err := q.read(ctx, client); err != nil {
				return err
			}
			waiting = waiting || len(q.missing) > 0
		}
		if !waiting || last {
			return nil
		}
		if err := backoff.Sleep(ctx); err != nil {
			return err
		}
	}
}

// read reads the reports that are not out of date.
func (q *askedQueue) read(ctx context.Context, client *queue.Client) error {
	reports, err := stats.Reports(ctx, client, q.name)
	q.reports = slices.DeleteFunc(reports, func(report stats.PoolReport) bool { return report.Age > 2*stats.ReportEvery })
	for _, report := range q.reports {
		delete(q.missing, report.Pool)
	}
	return err
}
