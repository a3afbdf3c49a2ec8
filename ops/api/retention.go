package api

import (
	"context"
	"fmt"
	"time"

	"skidway/queue"
)

// A Retention bounds what a queue keeps of jobs that have ended.
type Retention struct {
	Dead    Limits `json:"dead" jsonschema:"of dead jobs"`
	Results Limits `json:"results" jsonschema:"of finished jobs with a result"`
}

// Limits bound the jobs that are kept.
type Limits struct {
	Jobs  int      `json:"jobs,omitzero" jsonschema:"their number; 0: 100,000"`
	Bytes int64    `json:"bytes,omitzero" jsonschema:"of their records in Redis; 0: 256 MiB"`
	Age   Duration `json:"age,omitzero" jsonschema:"since the job ended; 0s: 90 days for dead jobs, the job's own for results"`
}

func (l Limits) limit() queue.RetentionLimit {
	return queue.RetentionLimit{Jobs: l.Jobs, Bytes: l.Bytes, Age: time.Duration(l.Age)}
}

func limitsOf(l queue.RetentionLimit) Limits { return Limits{l.Jobs, l.Bytes, Duration(l.Age)} }

// retentionOf returns the retention of a queue, and sets the ETag.
func retentionOf(ctx context.Context, c *call, q *queue.Queue) (any, error) {
	r, version, err := q.Retention(ctx)
	if err != nil {
		return nil, err
	}
	c.setVersion(version)
	return Retention{limitsOf(r.Dead), limitsOf(r.Results)}, nil
}

func showRetention(ctx context.Context, c *call) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	return retentionOf(ctx, c, q)
}

func putRetention(ctx context.Context, c *call) (any, error) {
	var body Retention
	if err := c.body(&body); err != nil {
		return nil, err
	}
	wanted := queue.Retention{Dead: body.Dead.limit(), Results: body.Results.limit(), IfVersion: c.version}
	switch c.version {
	case anyVersion:
		wanted.IfVersion = ""
	case noVersion:
		return nil, fmt.Errorf("retention: %w", queue.ErrChanged) // a queue always has one
	}
	if err := wanted.Validate(); err != nil {
		return nil, err
	}
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("dead %+v, results %+v", wanted.Dead, wanted.Results)
	if err := c.audited(ctx, q.Name(), what, 0, func() error { return q.SetRetention(ctx, wanted) }); err != nil {
		return nil, err
	}
	answer, err := retentionOf(ctx, c, q)
	if err != nil { // it is stored all the same
		return Retention{limitsOf(wanted.Dead), limitsOf(wanted.Results)}, nil
	}
	return answer, nil
}
