package api

import (
	"context"
	"time"

	"skidway/queue"
)

// An IfState restricts a change to jobs in a state.
type IfState struct {
	IfState string `json:"if_state,omitzero" jsonschema:"change the job only in this state"`
}

// options returns the option for the state.
func (s IfState) options() (options []queue.ChangeOption) {
	if s.IfState != "" {
		options = append(options, queue.OnlyIf(queue.State(s.IfState)))
	}
	return options
}

// A Reschedule is the new time of a delayed job.
type Reschedule struct {
	At time.Time `json:"at,omitzero"`
	In Duration  `json:"in,omitzero" jsonschema:"from now on"`
}

// A SetPriority is the new priority of a job.
type SetPriority struct {
	Priority string `json:"priority" jsonschema:"high, normal or low"`
}

// A JobState is the state of a job after a change.
type JobState struct {
	ID    string `json:"id"`
	State string `json:"state,omitzero" jsonschema:"missing if it can't be read after the change; of a job that was active when it was cancelled: active, until its handler returns"`
}

// A changeJob changes a job and returns its state.
type changeJob func(ctx context.Context, c *call, id string) (queue.State, error)

func (change changeJob) serve(ctx context.Context, c *call) (any, error) {
	state, err := change(ctx, c, c.values["id"])
	if err != nil {
		return nil, err
	}
	return JobState{c.values["id"], string(state)}, nil
}

// changeOne makes an audited change of a job.
func changeOne(ctx context.Context, c *call, id string, change func() error) error {
	return c.audited(ctx, queueOfID(id), "id == "+id, 1, change)
}

func retryJob(ctx context.Context, c *call, id string) (queue.State, error) {
	var body IfState
	if err := c.body(&body); err != nil {
		return "", err
	}
	return queue.Waiting, changeOne(ctx, c, id, func() error { return c.queues.Retry(ctx, id, body.options()...) })
}

func runJobNow(ctx context.Context, c *call, id string) (queue.State, error) {
	var body IfState
	if err := c.body(&body); err != nil {
		return "", err
	}
	if body.IfState != "" && body.IfState != string(queue.Delayed) {
		return "", invalidField("if_state", "only delayed jobs can run now")
	}
	return queue.Waiting, changeOne(ctx, c, id, func() error { return c.queues.Retry(ctx, id, queue.OnlyIf(queue.Delayed)) })
}

func cancelJob(ctx context.Context, c *call, id string) (state queue.State, err error) {
	var body IfState
	if err := c.body(&body); err != nil {
		return "", err
	}
	err = changeOne(ctx, c, id, func() error {
		was, err := c.queues.Cancel(ctx, id, body.options()...)
		if state = queue.Finished; was == queue.Active {
			state = was
		}
		return err
	})
	return state, err
}

func rescheduleJob(ctx context.Context, c *call, id string) (queue.State, error) {
	var body Reschedule
	if err := c.body(&body); err != nil {
		return "", err
	}
	if (body.In == 0) == body.At.IsZero() || body.In < 0 {
		return "", problem("invalid", "it needs one of the fields at and in")
	}
	if body.In > 0 {
		now, err := c.ops.Now(ctx, queueOfID(id))
		if err != nil {
			return "", err
		}
		body.At = now.Add(time.Duration(body.In))
	}
	return queue.Delayed, changeOne(ctx, c, id, func() error { return c.queues.Reschedule(ctx, id, body.At) })
}

func prioritizeJob(ctx context.Context, c *call, id string) (queue.State, error) {
	var body SetPriority
	if err := c.body(&body); err != nil {
		return "", err
	}
	priority, err := queue.ParsePriority(body.Priority)
	if err != nil || body.Priority == "" {
		return "", invalidField("priority", "%.40q: want high, normal or low", body.Priority)
	}
	if err := changeOne(ctx, c, id, func() error { return c.queues.SetPriority(ctx, id, priority) }); err != nil {
		return "", err
	}
	job, err := c.queues.Get(ctx, id)
	if err != nil { // the priority is changed all the same
		return "", nil
	}
	return job.State, nil
}

func deleteJob(ctx context.Context, c *call) (any, error) {
	id := c.values["id"]
	return nil, changeOne(ctx, c, id, func() error { return c.queues.Delete(ctx, id) })
}
