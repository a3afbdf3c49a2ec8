package ops

import (
	"context"
	"slices"

	"skidway/internal/filter"
	"skidway/queue"
	"skidway/workers/stats"
)

// Stats returns the statistics of a queue. The error is a [NoQueueError] if there is no such
// queue.
func (c *Client) Stats(ctx context.Context, name string, back stats.Range) (*stats.Series, error) {
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	return stats.Read(ctx, c.queues, q.Name(), back)
}

// Errors returns the groups of errors of a queue that were seen last, at most limit of them, or
// only those of a kind if that is not empty. The error is a [NoQueueError] if there is no such
// queue.
func (c *Client) Errors(ctx context.Context, name, kind string, limit int) (groups []stats.ErrorGroup, err error) {
	q, err := c.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := stats.Errors(ctx, c.queues, q.Name(), stats.MaxErrorGroups)
	for _, group := range all {
		if (kind == "" || kind == group.Kind) && len(groups) < limit {
			if text := c.HideText(group.Error); text != group.Error || c.HideText(group.Shape) != group.Shape {
				group.Error, group.Shape = text, stats.Shape(text)
			}
			groups = append(groups, group)
		}
	}
	return groups, err
}

// GroupMatch returns a filter expression for the jobs that have an error of a group.
func GroupMatch(group stats.ErrorGroup) string {
	return "kind == " + filter.Quote(group.Kind) + " && shape == " + filter.Quote(group.Shape)
}

// history returns statuses of a queue in the last hour, by its statistics, and the present one
// last. In the others the workers are not known: diagnoses that need them hold only as far as one
// status shows it.
func history(series *stats.Series, status QueueStatus) History {
	past := History{status}
	total := status.Total
	for i := len(series.Buckets) - 1; i >= 0; i-- {
		bucket := &series.Buckets[i]
		counts := bucket.Total("")
		end := bucket.Start.Add(series.Width)
		if bucket.Sampled && end.Before(status.Time) {
			past = append(past, QueueStatus{
				Name: status.Name, Time: end, Total: total,
				Depth: queue.Depth{Waiting: bucket.Waiting, Active: bucket.Active, Oldest: bucket.Oldest},
			})
		}
		total.Succeeded -= counts.Done
		total.Failed -= counts.Failed
		total.Discarded -= counts.Discarded
	}
	slices.Reverse(past)
	return past
}
