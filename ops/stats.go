package ops

import (
	"context"
	"slices"
	"time"

	"skidway/queue"
	"skidway/workers/stats"
)

// Stats returns the statistics of a queue. The error is a [NoQueueError] if there is no such
// queue.
func (c *Client) Stats(ctx context.Context, name string, back stats.Range) (*stats.Series, error) {
	return c.StatsUntil(ctx, name, back, time.Time{})
}

// StatsUntil is Stats of a range that ends at a time, as of [stats.ReadUntil].
func (c *Client) StatsUntil(ctx context.Context, name string, back stats.Range, until time.Time) (*stats.Series, error) {
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	return stats.ReadUntil(ctx, c.queues, q.Name(), back, until)
}

// history returns statuses of a queue in the last hour, by its statistics, and the present one
// last. The others have no workers, and free slots only where jobs could be stalled: the diagnosis
// "unserved", which needs the workers, holds only as far as one status shows it.
func history(series *stats.Series, status QueueStatus) History {
	past := History{status}
	total := status.Total
	for i := len(series.Buckets) - 1; i >= 0; i-- {
		bucket := &series.Buckets[i]
		counts := bucket.Total("")
		end := bucket.Start.Add(series.Width)
		then := QueueStatus{
			Name: status.Name, Time: end, Total: total,
			Depth: queue.Depth{Waiting: bucket.Waiting, Active: bucket.Active, Oldest: bucket.Oldest},
		}
		if at := bucket.Time; !at.Before(bucket.Start) && at.Before(end) {
			then.Time, then.Free, then.sampledTaken = at, bucket.Free, &bucket.Taken
		}
		if bucket.Sampled && then.Time.Before(status.Time) {
			past = append(past, then)
		}
		total.Succeeded -= counts.Done
		total.Failed -= counts.Failed
		total.Discarded -= counts.Discarded
	}
	slices.Reverse(past)
	return past
}
