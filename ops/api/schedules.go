package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/ops"
	"skidway/queue"
)

// A NewSchedule is a schedule to be added or replaced.
type NewSchedule struct {
	Expression  string            `json:"expression" jsonschema:"times, such as 30 6 * * 1-5"`
	Zone        string            `json:"zone,omitzero" jsonschema:"of the times, such as Europe/Berlin (default UTC)"`
	Kind        string            `json:"kind"`
	Args        json.RawMessage   `json:"args,omitzero"`
	CatchUp     string            `json:"catch_up,omitzero" jsonschema:"what happens to times that were missed: none (the default), last or all"`
	Revision    int               `json:"revision,omitzero" jsonschema:"of a configuration: a stored one that is not lower is kept"`
	Priority    string            `json:"priority,omitzero"`
	Unique      string            `json:"unique,omitzero"`
	UniqueFor   Duration          `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitzero"`
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Timeout     Duration          `json:"timeout,omitzero"`
	Retain      Duration          `json:"retain,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	Then        []NewJob          `json:"then,omitzero"`
}

// A Schedule adds jobs by the clock.
type Schedule struct {
	Name  string `json:"name"`
	Queue string `json:"queue"`
	NewSchedule
	Paused bool      `json:"paused" jsonschema:"whether it adds no jobs until it is resumed"`
	Next   time.Time `json:"next,omitzero"`
	Last   []Firing  `json:"last" jsonschema:"the latest times that it fired"`
	Error  string    `json:"error,omitzero" jsonschema:"why it can't be read and never fires"`
}

// A Firing is a time at which a schedule fired.
type Firing struct {
	Due    time.Time `json:"due"`
	Fired  time.Time `json:"fired"`
	Job    string    `json:"job,omitzero"`
	HeldBy string    `json:"held_by,omitzero" jsonschema:"the job that held the unique key"`
	Manual bool      `json:"manual,omitzero"`
}

// scheduleOf returns a schedule, which must be redacted.
func scheduleOf(s queue.CronScheduleInfo) Schedule {
	answer := Schedule{Name: s.Name, Queue: s.Queue, Paused: s.Paused, Next: utc(s.Next), Last: []Firing{}}
	o := s.Options
	answer.NewSchedule = NewSchedule{
		Expression: s.Expr, Zone: s.Zone, Kind: s.Kind, Args: opaqueOrNone(s.Args), CatchUp: string(s.CatchUp), Revision: s.Revision, Priority: o.Priority.String(),
		Unique: o.Unique.Key, UniqueFor: Duration(o.Unique.For), MaxAttempts: o.MaxAttempts, Timeout: Duration(o.Timeout), Retain: Duration(o.Retain),
	}
	if len(o.Headers) > 0 {
		answer.Headers = o.Headers
	}
	if o.Unique.Key != "" {
		answer.UniqueScope = scopeNames[o.Unique.Scope]
	}
	for _, next := range o.Then {
		var job NewJob
		if text, err := json.Marshal(next); err == nil && json.Unmarshal(text, &job) == nil {
			answer.Then = append(answer.Then, job)
		}
	}
	for _, f := range s.Last {
		answer.Last = append(answer.Last, Firing{utc(f.Due), utc(f.Fired), f.JobID, f.HeldBy, f.Manual})
	}
	if s.Err != nil {
		answer.Error = s.Err.Error()
	}
	return answer
}

// redactedSchedule returns the redacted form of a schedule.
func redactedSchedule(c *call, s queue.CronScheduleInfo) Schedule {
	s.CronSchedule = c.ops.Redactor().Schedule(s.CronSchedule)
	return scheduleOf(s)
}

func listSchedules(ctx context.Context, c *call) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	all, err := delayed.Schedules(ctx, c.queues, q.Name())
	if err != nil {
		return nil, err
	}
	return listOf(ctx, c, all, time.Time{}, func(s queue.CronScheduleInfo) Schedule { return redactedSchedule(c, s) })
}

func showSchedule(ctx context.Context, c *call) (any, error) {
	s, err := delayed.Schedule(ctx, c.queues, c.values["queue"], c.values["schedule"])
	if err != nil {
		return nil, err
	}
	c.setVersion(s.Version)
	return redactedSchedule(c, s), nil
}

func putSchedule(ctx context.Context, c *call) (any, error) {
	var body NewSchedule
	if err := c.body(&body); err != nil {
		return nil, err
	}
	if text, _ := json.Marshal(body); strings.Contains(string(text), ops.Hidden) {
		return nil, invalidField("args", "a value is %s: send the value itself, which was not shown", ops.Hidden)
	}
	job, err := body.job(c.values["queue"])
	if err != nil {
		return nil, err
	}
	if err := c.principal.CheckJob(job); err != nil {
		return nil, err
	}
	args, err := queue.MarshalArgs(job.Args)
	if err != nil {
		return nil, err
	}
	s := queue.CronSchedule{
		Name: c.values["schedule"], Expr: body.Expression, Zone: body.Zone, Queue: c.values["queue"], Kind: body.Kind, Args: args, Options: job.Options,
		CatchUp: queue.CatchUp(body.CatchUp), Revision: body.Revision, IfVersion: c.version,
	}
	err = c.audited(ctx, s.Queue, s.Name, 1, func() error {
		_, err := delayed.AddSchedule(ctx, c.queues, s)
		return err
	})
	var revision *queue.RevisionError
	switch {
	case errors.As(err, &revision):
		return nil, problem("changed", "%v", err)
	case err != nil:
		return nil, err
	}
	answer, err := showSchedule(ctx, c)
	if err != nil { // it is stored all the same
		return redactedSchedule(c, queue.CronScheduleInfo{CronSchedule: s}), nil
	}
	return answer, nil
}

// job returns the job that the schedule adds.
func (s NewSchedule) job(name string) (job queue.NewJob, err error) {
	text, err := json.Marshal(NewJob{
		Queue: name, Kind: s.Kind, Args: s.Args, Priority: s.Priority, Unique: s.Unique, UniqueFor: s.UniqueFor, UniqueScope: s.UniqueScope,
		MaxAttempts: s.MaxAttempts, Timeout: s.Timeout, Retain: s.Retain, Headers: s.Headers, Then: s.Then,
	})
	if err == nil {
		err = json.Unmarshal(text, &job)
	}
	return job, err
}

func deleteSchedule(ctx context.Context, c *call) (any, error) {
	q, err := c.queues.ForPool(c.values["queue"])
	if err != nil {
		return nil, err
	}
	name := c.values["schedule"]
	return nil, c.audited(ctx, q.Name(), name, 1, func() error { return q.RemoveSchedule(ctx, name, c.version) })
}

func pauseSchedule(ctx context.Context, c *call) (any, error) {
	return setPaused(ctx, c, true, delayed.PauseSchedule)
}

func resumeSchedule(ctx context.Context, c *call) (any, error) {
	return setPaused(ctx, c, false, delayed.ResumeSchedule)
}

// A ScheduleState is the state of a schedule.
type ScheduleState struct {
	Name   string `json:"name"`
	Queue  string `json:"queue"`
	Paused bool   `json:"paused"`
}

// setPaused pauses or resumes the schedule of the path. The answer has nothing that needs the scope
// view.
func setPaused(ctx context.Context, c *call, paused bool, change func(_ context.Context, _ *queue.PoolQueue, name, ifVersion string) error) (any, error) {
	q, err := c.queues.ForPool(c.values["queue"])
	if err != nil {
		return nil, err
	}
	name := c.values["schedule"]
	err = c.audited(ctx, q.Name(), name, 1, func() error { return change(ctx, q, name, c.version) })
	return ScheduleState{name, q.Name(), paused}, err
}

func runSchedule(ctx context.Context, c *call) (any, error) {
	q, err := c.queues.ForPool(c.values["queue"])
	if err != nil {
		return nil, err
	}
	var id string
	err = c.audited(ctx, q.Name(), c.values["schedule"], 1, func() (err error) {
		id, err = q.RunSchedule(ctx, c.values["schedule"], c.version)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.location("jobs", id)
	return Added{id}, nil
}
