package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/api"
	"skidway/queue"
	"skidway/workers/stats"
)

// Queues returns the names of the queues that the token may see, in alphabetical order.
func (c *Client) Queues(ctx context.Context) (names []string, err error) {
	queues, _, err := all[api.Queue](ctx, c.server, "/queues", nil)
	for _, q := range queues {
		names = append(names, q.Name)
	}
	return names, err
}

// QueueNames returns the names of a queue, or for "" those of all.
func (c *Client) QueueNames(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return c.Queues(ctx)
	}
	_, err := c.Now(ctx, name)
	return []string{name}, err
}

// Now returns the time of a queue, by the clock of its Redis. The error is an [ops.NoQueueError] if
// there is no such queue.
func (c *Client) Now(ctx context.Context, name string) (time.Time, error) {
	page, err := get[api.List[api.Job]](ctx, c.server, path("queues", name, "jobs"), url.Values{"limit": {"1"}})
	return local(page.AsOf), known(ctx, c, name, err)
}

// known adds the names of the queues that there are to the error about another one.
func known(ctx context.Context, c *Client, name string, err error) error {
	if !isProblem(err, "no-queue") {
		return err
	}
	names, err := c.Queues(ctx)
	if err != nil {
		return err
	}
	return &ops.NoQueueError{Name: name, Known: names}
}

// Statuses is [ops.Client.Statuses].
func (c *Client) Statuses(ctx context.Context, names []string) (statuses []ops.QueueStatus, err error) {
	if names == nil {
		queues, asOf, err := all[api.Queue](ctx, c.server, "/queues", nil)
		for _, q := range queues {
			statuses = append(statuses, statusOf(q, asOf))
		}
		return statuses, err
	}
	for _, name := range names {
		report, err := c.Report(ctx, name)
		if err != nil {
			return nil, err
		}
		statuses = append(statuses, report.QueueStatus)
	}
	return statuses, nil
}

// Report is [ops.Client.Report].
func (c *Client) Report(ctx context.Context, name string) (*ops.Report, error) {
	report, err := get[api.QueueReport](ctx, c.server, path("queues", name), nil)
	if err != nil {
		return nil, known(ctx, c, name, err)
	}
	return reportOf(report), nil
}

// Statistics returns the statistics of a queue, of one kind of jobs or of all for "".
func (c *Client) Statistics(ctx context.Context, name string, back stats.Range, kind string) (*api.Statistics, error) {
	query := url.Values{"range": {string(back)}}
	if kind != "" {
		query.Set("kind", kind)
	}
	answer, err := get[api.Statistics](ctx, c.server, path("queues", name, "stats"), query)
	return &answer, known(ctx, c, name, err)
}

// Pause pauses a queue and returns its state.
func (c *Client) Pause(ctx context.Context, name, note string) (queue.Depth, error) {
	return setPaused(ctx, c, name, "pause", api.Pause{Note: note})
}

// Resume resumes a queue and returns its state.
func (c *Client) Resume(ctx context.Context, name string) (queue.Depth, error) {
	return setPaused(ctx, c, name, "resume", nil)
}

func setPaused(ctx context.Context, c *Client, name, change string, body any) (queue.Depth, error) {
	var q api.Queue
	err := c.server.post(ctx, path("queues", name, change), body, &q)
	return statusOf(q, time.Time{}).Depth, known(ctx, c, name, err)
}

// A taggedRetention is a retention and its version, which is in the ETag of the answer.
type taggedRetention struct {
	api.Retention
	version string
}

func (r *taggedRetention) readHeader(h http.Header) { r.version = strings.Trim(h.Get("ETag"), `"`) }

// Retention returns the retention of a queue; its IfVersion is its version.
func (c *Client) Retention(ctx context.Context, name string) (queue.Retention, error) {
	kept, err := get[taggedRetention](ctx, c.server, path("queues", name, "retention"), nil)
	limit := func(l api.Limits) queue.RetentionLimit {
		return queue.RetentionLimit{Jobs: l.Jobs, Bytes: l.Bytes, Age: time.Duration(l.Age)}
	}
	return queue.Retention{Dead: limit(kept.Dead), Results: limit(kept.Results), IfVersion: kept.version}, known(ctx, c, name, err)
}

// SetRetention sets the retention of a queue. The error wraps [queue.ErrChanged] if it has another
// version than r.IfVersion.
func (c *Client) SetRetention(ctx context.Context, name string, r queue.Retention) error {
	limits := func(l queue.RetentionLimit) api.Limits {
		return api.Limits{Jobs: l.Jobs, Bytes: l.Bytes, Age: api.Duration(l.Age)}
	}
	var header map[string]string
	if r.IfVersion != "" {
		header = map[string]string{"If-Match": `"` + r.IfVersion + `"`}
	}
	err := c.server.change(ctx, http.MethodPut, path("queues", name, "retention"), header, api.Retention{Dead: limits(r.Dead), Results: limits(r.Results)}, nil)
	if isProblem(err, "changed") {
		return fmt.Errorf("retention of queue %s: %w", name, queue.ErrChanged)
	}
	return known(ctx, c, name, err)
}

// DeleteQueue deletes a queue.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	return known(ctx, c, name, c.server.remove(ctx, path("queues", name)))
}

// LivingPools returns the workers that serve a queue, with their states and kinds.
func (c *Client) LivingPools(ctx context.Context, name string) (pools []queue.PoolInfo, err error) {
	workers, _, err := all[api.Worker](ctx, c.server, "/workers", url.Values{"queue": {name}})
	for _, w := range workers {
		if w.Lease > 0 {
			pools = append(pools, queue.PoolInfo{Name: w.Name, State: w.State, Kinds: w.Kinds})
		}
	}
	return pools, err
}

// Running is [ops.Client.Running].
func (c *Client) Running(ctx context.Context, name string) (*ops.Running, error) {
	query := url.Values{"limit": {"500"}}
	if name != "" {
		query.Set("queue", name)
	}
	running := &ops.Running{}
	for {
		list, err := get[api.RunningList](ctx, c.server, "/running", query)
		if err != nil {
			return nil, known(ctx, c, name, err)
		}
		running.More, running.Silent = list.More, list.Silent
		for _, job := range list.Items {
			running.Jobs = append(running.Jobs, runningOf(job))
		}
		if list.Next == "" {
			return running, nil
		}
		query.Set("cursor", list.Next)
	}
}
