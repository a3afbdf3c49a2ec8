package api

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"skidway/ops/access"
	"skidway/queue"
)

// A NewJob is a job to be added.
type NewJob struct {
	Queue       string            `json:"queue,omitzero" jsonschema:"must be that of the path, if there is one"`
	Kind        string            `json:"kind"`
	Args        json.RawMessage   `json:"args,omitzero" jsonschema:"JSON of any form (default {})"`
	Priority    string            `json:"priority,omitzero" jsonschema:"high, normal or low"`
	In          Duration          `json:"in,omitzero" jsonschema:"how long it is delayed"`
	At          time.Time         `json:"at,omitzero" jsonschema:"when it is due"`
	Unique      string            `json:"unique,omitzero" jsonschema:"a key that at most one job of the queue holds"`
	UniqueFor   Duration          `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitzero" jsonschema:"finished, waiting or duration"`
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Timeout     Duration          `json:"timeout,omitzero" jsonschema:"of one attempt"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      Duration          `json:"retain,omitzero" jsonschema:"how long it is kept with its result"`
	Headers     map[string]string `json:"headers,omitzero"`
	Durable     bool              `json:"durable,omitzero" jsonschema:"answer when the job survives a crash of Redis"`
	Then        []NewJob          `json:"then,omitzero" jsonschema:"jobs that are added when it succeeds"`
}

// Added is a job that was added.
type Added struct {
	ID string `json:"id"`
}

// A Batch is jobs to be added.
type Batch struct {
	Jobs []NewJob `json:"jobs"`
}

// BatchResults has a result for each job, in order.
type BatchResults struct {
	Results []BatchResult `json:"results"`
}

// A BatchResult has the id of a job that was added, or why it was not.
type BatchResult struct {
	ID      string   `json:"id,omitzero"`
	Problem *Problem `json:"problem,omitzero"`
}

// A Copy is what a copy of a job has instead of the job's own args and options.
type Copy struct {
	Queue       string            `json:"queue,omitzero"`
	Args        json.RawMessage   `json:"args,omitzero"`
	Priority    string            `json:"priority,omitzero"`
	In          Duration          `json:"in,omitzero"`
	At          time.Time         `json:"at,omitzero"`
	Unique      string            `json:"unique,omitzero"`
	UniqueFor   Duration          `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitzero"`
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Timeout     Duration          `json:"timeout,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      Duration          `json:"retain,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
}

func addJob(ctx context.Context, c *call) (any, error) {
	var job queue.NewJob
	if err := c.body(&job); err != nil {
		return nil, err
	}
	name := c.values["queue"]
	if job.Options.Queue != "" && job.Options.Queue != name {
		return nil, invalidField("queue", "it is %.80q: want that of the path, or none", job.Options.Queue)
	}
	job.Options.Queue = name
	return c.add(ctx, job)
}

// add adds a job that the principal may add.
func (c *call) add(ctx context.Context, job queue.NewJob) (any, error) {
	if err := c.principal.CheckJob(job); err != nil {
		return nil, err
	}
	id, err := c.queues.Enqueue(ctx, job.Args, &job.Options)
	if err != nil {
		if p := problemOf(err); p != nil {
			p.Job = id // it was added, and is not confirmed
			return nil, p
		}
		return nil, err
	}
	c.location("jobs", id)
	return Added{id}, nil
}

// maxBatch bounds the jobs of a batch.
const maxBatch = 1000

func addJobs(ctx context.Context, c *call) (any, error) {
	jobs, err := c.readBatch()
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 || len(jobs) > maxBatch {
		return nil, invalidField("jobs", "there are %d jobs: want 1 to %d", len(jobs), maxBatch)
	}
	for _, job := range jobs {
		if err := c.principal.CheckJob(job); err != nil {
			return nil, err
		}
	}
	answer := BatchResults{Results: make([]BatchResult, len(jobs))}
	for i, result := range c.queues.EnqueueMany(ctx, jobs) {
		answer.Results[i] = BatchResult{ID: result.ID, Problem: c.resultProblem(result.Err)}
	}
	return answer, nil
}

// resultProblem returns the problem of one of several changes, nil for none.
func (c *call) resultProblem(err error) *Problem {
	if err == nil {
		return nil
	}
	p := problemOf(err)
	if p == nil {
		c.log.Error("a part of a request failed", "path", c.r.URL.EscapedPath(), "error", err)
		p = problem("internal", "the log of the server has the reason")
	}
	return p
}

// readBatch returns the jobs of the body.
func (c *call) readBatch() (jobs []queue.NewJob, err error) {
	data, mediaType, err := readBody(c.w, c.r, c.route.maxBody(c.config.MaxPayload), c.route.bodyTypes...)
	if err != nil {
		return nil, err
	}
	if mediaType == jsonType {
		var batch struct{ Jobs []queue.NewJob }
		err := decode(data, reflect.TypeFor[Batch](), &batch)
		return batch.Jobs, err
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var job queue.NewJob
		if err := decode(line, reflect.TypeFor[NewJob](), &job); err != nil {
			return nil, err
		}
		if jobs = append(jobs, job); len(jobs) > maxBatch {
			return jobs, nil
		}
	}
	return jobs, nil
}

func copyJob(ctx context.Context, c *call) (any, error) {
	changes := map[string]json.RawMessage{}
	if err := c.body(&changes); err != nil {
		return nil, err
	}
	original, err := c.queues.Get(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	if err := c.may(access.View, original.Queue); err != nil {
		return nil, err // the copy can be made to show it elsewhere
	}
	if err := c.restore(original, changes); err != nil {
		return nil, err
	}
	job, err := copyOf(original, changes)
	if err != nil {
		return nil, err
	}
	return c.add(ctx, job)
}

// restore puts the hidden values of a job into changed args that show them as hidden. A copy of a job
// with hidden values needs the action reveal, because the copy can be made to show them elsewhere.
func (c *call) restore(original *queue.Job, changes map[string]json.RawMessage) error {
	if reflect.DeepEqual(c.ops.Hide(original), original) {
		return nil
	}
	if err := c.may(access.Reveal, original.Queue); err != nil {
		return err
	}
	edited, changed := changes["args"]
	if !changed {
		return nil
	}
	args, err := c.ops.Restore(original, edited)
	if err == nil {
		changes["args"] = args
	}
	return err
}

// copyOf returns a new job like another one, with changes. A deadline is not copied.
func copyOf(original *queue.Job, changes map[string]json.RawMessage) (job queue.NewJob, err error) {
	text, err := json.Marshal(queue.NewJob{Args: queue.Raw(original.Kind, []byte("{}")), Options: queue.Options{
		Queue: original.Queue, Priority: original.Priority, MaxAttempts: original.MaxAttempts, Timeout: original.Timeout,
		Unique: original.Unique, Retain: original.Retain, Headers: original.Headers, Then: original.Then,
	}})
	if err != nil {
		return job, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return job, err
	}
	if _, other := changes["unique"]; other {
		delete(fields, "unique_for")
		delete(fields, "unique_scope")
	}
	maps.Copy(fields, changes)
	if text, err = json.Marshal(fields); err != nil {
		return job, err
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return job, err
	}
	if _, changed := changes["args"]; !changed {
		job.Args = queue.Raw(original.Kind, original.Args) // also those that are no JSON
	}
	return job, nil
}
