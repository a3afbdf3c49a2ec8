package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"skidway"
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
	return addOne(ctx, c, job, "kind == "+job.Args.Kind())
}

// addOne adds a job that the principal may add. The audit has the origin of the job.
func addOne(ctx context.Context, c *call, job queue.NewJob, origin string) (any, error) {
	if err := c.principal.CheckJob(job); err != nil {
		return nil, err
	}
	c.repeatable(&job)
	var result queue.Result
	err := auditedAddition(ctx, c, job.Options.Queue, origin, 1, func() error {
		if c.key != "" {
			result = c.queues.EnqueueMany(ctx, []queue.NewJob{job})[0]
			return result.Err
		}
		result.ID, result.Err = c.queues.Enqueue(ctx, job.Args, &job.Options)
		return result.Err
	})
	c.repeated(result)
	if err != nil {
		if p := problemOf(err); p != nil {
			p.Job = result.ID // it was added, and is not confirmed
			return nil, p
		}
		return nil, err
	}
	c.location("jobs", result.ID)
	return Added{result.ID}, nil
}

// auditedAddition adds jobs, with entries of the audit unless a token adds them: programs add too many.
func auditedAddition(ctx context.Context, c *call, name, origin string, count int, add func() error) error {
	if c.principal.Token {
		return add()
	}
	return c.audited(ctx, name, origin, count, add)
}

// maxBatch bounds the jobs of a batch.
const maxBatch = 1000

// batchTime is how much longer a batch may take than another request.
const batchTime = 20 * time.Second

func addJobs(ctx context.Context, c *call) (any, error) {
	texts, err := readBatch(c.request)
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 || len(texts) > maxBatch {
		return nil, invalidField("jobs", "there are %d jobs: want 1 to %d", len(texts), maxBatch)
	}
	answer := BatchResults{Results: make([]BatchResult, len(texts))}
	names := map[string]bool{}
	var jobs []queue.NewJob
	var places []int // of the jobs in the batch
	for i, text := range texts {
		var job queue.NewJob
		if err := unmarshal(text, &job); err != nil {
			answer.Results[i].Problem = c.resultProblem(err)
			continue
		}
		jobs, places = append(jobs, job), append(places, i)
	}
	for i, job := range jobs {
		if err := c.principal.CheckJob(job); err != nil {
			return nil, err
		}
		c.repeatable(&jobs[i])
		names[cmp.Or(job.Options.Queue, queue.DefaultQueue)] = true
	}
	if c.key != "" && len(names) > 1 {
		return nil, invalidField(idempotencyKey, "it is only for jobs of one queue")
	}
	if len(jobs) == 0 {
		return answer, nil
	}
	origin := fmt.Sprintf("queue in %.1000s", slices.Sorted(maps.Keys(names)))
	err = auditedAddition(ctx, c, access.All, origin, len(jobs), func() error {
		var failed []error
		for i, result := range c.queues.EnqueueMany(ctx, jobs) {
			answer.Results[places[i]] = BatchResult{ID: result.ID, Problem: c.resultProblem(result.Err)}
			failed = append(failed, result.Err)
			c.repeated(result)
		}
		if c.key != "" {
			return cmp.Or(otherRequest(failed), unknownRequest(failed), redisAway(failed))
		}
		return redisAway(failed)
	})
	return answer, err
}

// unknownRequest returns the first error of a request with a key that leaves open whether jobs were
// added: the same request finds it out.
func unknownRequest(failed []error) error {
	var unknown *skidway.OutcomeUnknownError
	for _, err := range failed {
		if errors.As(err, &unknown) {
			return unknown
		}
	}
	return nil
}

// redisAway returns the first of the errors of several changes if Redis was away for all of them, so
// that nothing was changed.
func redisAway(failed []error) error {
	for _, err := range failed {
		if p := problemOf(err); err == nil || p == nil || p.Name() != "redis-unavailable" {
			return nil
		}
	}
	return failed[0]
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

// readBatch returns the jobs of the body as JSON of the right form, whose values may be wrong.
func readBatch(q *request) (jobs []json.RawMessage, err error) {
	data, mediaType, err := q.read(q.route.bodyTypes...)
	if err != nil {
		return nil, err
	}
	if mediaType == jsonType {
		var batch struct {
			Jobs []json.RawMessage `json:"jobs"`
		}
		err := decode(data, reflect.TypeFor[Batch](), &batch)
		return batch.Jobs, err
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := checkJSON(line, reflect.TypeFor[NewJob]()); err != nil {
			return nil, err
		}
		if jobs = append(jobs, line); len(jobs) > maxBatch {
			return jobs, nil
		}
	}
	return jobs, nil
}
