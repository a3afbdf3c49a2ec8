package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/ops/api"
	"skidway/queue"
)

// Enqueue is [queue.Client.Enqueue].
func (c *Client) Enqueue(ctx context.Context, args queue.Args, options *queue.Options) (string, error) {
	var added api.Added
	err := c.server.postOnce(ctx, path("queues", options.Queue, "jobs"), queue.NewJob{Args: args, Options: *options}, &added)
	var p *problemError
	if errors.As(err, &p) && p.Job != "" { // it was added, and is not confirmed
		return p.Job, err
	}
	return added.ID, err
}

// Validate is [queue.Client.Validate], with the default limits.
func (c *Client) Validate(job queue.NewJob) error { return new(queue.Client).Validate(job) }

// maxBatchBytes bounds the jobs of one request; the API takes 8 MiB.
const maxBatchBytes = 4 << 20

// EnqueueMany is [queue.Client.EnqueueMany], for jobs of one queue.
func (c *Client) EnqueueMany(ctx context.Context, jobs []queue.NewJob) []queue.Result {
	results := make([]queue.Result, len(jobs))
	batch, size, first := struct {
		Jobs []json.RawMessage `json:"jobs"`
	}{}, 0, 0
	var failed error
	send := func(end int) {
		var answer api.BatchResults
		if failed == nil && len(batch.Jobs) > 0 {
			failed = c.server.postOnce(ctx, "/jobs", batch, &answer)
		}
		for i := first; i < end; i++ {
			switch n := i - first; {
			case n < len(answer.Results):
				results[i].ID = answer.Results[n].ID
				if p := answer.Results[n].Problem; p != nil {
					results[i].Err = errorOf(*p)
				}
			case failed != nil && results[i].Err == nil:
				results[i].Err = failed
			}
		}
		first, size, batch.Jobs = end, 0, nil
	}
	for i, job := range jobs {
		text, err := json.Marshal(job)
		if err != nil {
			send(i)
			results[i].Err, failed, first = err, fmt.Errorf("%w: %w", queue.ErrNotSent, err), i+1
			continue
		}
		if size += len(text); size > maxBatchBytes {
			send(i)
			size = len(text)
		}
		batch.Jobs = append(batch.Jobs, text)
	}
	send(len(jobs))
	return results
}

// Job returns a job and its progress.
func (c *Client) Job(ctx context.Context, id string) (*queue.Job, []byte, error) {
	found, err := get[api.Job](ctx, c.server, path("jobs", id), nil)
	if err != nil {
		return nil, nil, err
	}
	job, err := jobOf(found)
	return job, found.Progress, err
}

// Log is [queue.Client.Log].
func (c *Client) Log(ctx context.Context, id string) ([]string, error) {
	log, err := get[api.JobLog](ctx, c.server, path("jobs", id, "log"), nil)
	return log.Lines, err
}

// maxWait is the time that one request waits: proxies often end one after a minute or half of it.
const maxWait = 25 * time.Second

// Wait is [queue.Client.Wait].
func (c *Client) Wait(ctx context.Context, id string) (*queue.Job, error) {
	for {
		found, err := get[api.Job](ctx, c.server, path("jobs", id), url.Values{"wait": {maxWait.String()}})
		if isProblem(err, "busy") {
			if err = rdb.Sleep(ctx, time.Second); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if state := queue.State(found.State); state == queue.Dead || state == queue.Finished {
			return jobOf(found)
		}
	}
}

// Search is [ops.Client.Search].
func (c *Client) Search(ctx context.Context, name string, options ops.SearchOptions) (*ops.SearchPage, error) {
	query := url.Values{"state": {string(options.State)}}
	for name, value := range map[string]string{"match": options.Match, "cursor": options.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if options.Limit > 0 {
		query.Set("limit", fmt.Sprint(options.Limit))
	}
	list, err := get[api.List[api.Job]](ctx, c.server, path("queues", name, "jobs"), query)
	if err != nil {
		return nil, known(ctx, c, name, err)
	}
	page := &ops.SearchPage{Next: list.Next, Examined: list.LookedAt, Total: list.Total, Back: local(list.Back), AsOf: local(list.AsOf), State: options.State}
	for _, found := range list.Items {
		job, err := jobOf(found)
		if err != nil {
			return nil, err
		}
		page.Jobs = append(page.Jobs, job)
	}
	return page, nil
}

// changeJob changes a job and returns its state.
func changeJob(ctx context.Context, c *Client, id, change string, body any) (queue.State, error) {
	var state api.JobState
	err := c.server.post(ctx, path("jobs", id, change), body, &state)
	return queue.State(state.State), err
}

// Retry runs a dead or delayed job again.
func (c *Client) Retry(ctx context.Context, id string) error {
	_, err := changeJob(ctx, c, id, "retry", nil)
	return err
}

// RunNow runs a delayed job now.
func (c *Client) RunNow(ctx context.Context, id string) error {
	_, err := changeJob(ctx, c, id, "run-now", nil)
	return err
}

// Cancel cancels a job and reports whether it is active, so that it ends later.
func (c *Client) Cancel(ctx context.Context, id string) (active bool, err error) {
	state, err := changeJob(ctx, c, id, "cancel", nil)
	return state == queue.Active, err
}

// Delete deletes a job.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.server.remove(ctx, path("jobs", id))
}

// SetPriority changes the priority of a job.
func (c *Client) SetPriority(ctx context.Context, id string, priority queue.Priority) error {
	_, err := changeJob(ctx, c, id, "priority", api.SetPriority{Priority: priority.String()})
	return err
}

// Reschedule changes the time of a delayed job: to the time that is in from now on by Redis's clock
// or, if in is zero, to at.
func (c *Client) Reschedule(ctx context.Context, id string, in time.Duration, at time.Time) error {
	_, err := changeJob(ctx, c, id, "reschedule", api.Reschedule{In: api.Duration(in), At: at})
	return err
}

// Copy adds a copy of a job, with changes as the API takes them, and returns its id.
func (c *Client) Copy(ctx context.Context, id string, changes map[string]json.RawMessage) (string, error) {
	var added api.Added
	err := c.server.postOnce(ctx, path("jobs", id, "copy"), changes, &added)
	return added.ID, err
}

// Ask is [ops.Operations.Ask].
func (c *Client) Ask(ctx context.Context, change ops.Change) (*ops.Question, error) {
	body := newOperation(change)
	body.DryRun = true
	var asked api.Question
	if err := c.server.send(ctx, http.MethodPost, path("queues", change.Queue, "operations"), nil, body, &asked); err != nil { // it changes nothing
		return nil, known(ctx, c, change.Queue, err)
	}
	change.Match = asked.Match
	return &ops.Question{Change: change, Count: asked.Count, AtLeast: asked.AtLeast, AsOf: asked.AsOf, Looked: asked.LookedAt, Of: asked.Total}, nil
}

func newOperation(change ops.Change) api.NewOperation {
	body := api.NewOperation{Action: change.Do, State: string(change.State), Match: change.Match, IDs: change.IDs, Rate: change.Rate}
	if change.Do == "priority" {
		body.Priority = change.Priority.String()
	}
	return body
}

// Begin begins the operation that a question asked for. The server runs it.
func (c *Client) Begin(ctx context.Context, asked *ops.Question) (*OperationRun, error) {
	body := newOperation(asked.Change)
	body.Count, body.AtLeast, body.AsOf = &asked.Count, asked.AtLeast, asked.AsOf
	var begun api.Operation
	if err := c.server.postOnce(ctx, path("queues", asked.Queue, "operations"), body, &begun); err != nil {
		return nil, err
	}
	op, err := operationOf(begun)
	return &OperationRun{c, op}, err
}

// StopOperation is [ops.Operations.Stop].
func (c *Client) StopOperation(ctx context.Context, id string) (queue.Operation, error) {
	var op api.Operation
	if err := c.server.post(ctx, path("operations", id, "stop"), nil, &op); err != nil {
		return queue.Operation{}, err
	}
	return operationOf(op)
}

// An OperationRun is an operation that the server runs.
type OperationRun struct {
	client    *Client
	operation queue.Operation
}

// Operation returns the operation as it was last read.
func (r *OperationRun) Operation() queue.Operation { return r.operation }

// pollInterval is how often an operation is read.
const pollInterval = 200 * time.Millisecond

// Run waits for the end of the operation, and calls report with its progress.
func (r *OperationRun) Run(ctx context.Context, report func(queue.Operation)) error {
	for r.operation.Status == "running" {
		found, err := r.read(ctx)
		if err != nil {
			return err
		}
		if r.operation, err = operationOf(found); err != nil {
			return err
		}
		if report(r.operation); r.operation.Status != "running" {
			break
		}
		if err := rdb.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
	if r.operation.Status == "interrupted" {
		return errors.New("the server that ran it has ended")
	}
	return nil
}

// read returns the operation as it is now. The server goes on with it when a request fails, which is sent
// again.
func (r *OperationRun) read(ctx context.Context) (found api.Operation, err error) {
	pause := rdb.Backoff{}
	for range maxTries {
		found, err = get[api.Operation](ctx, r.client.server, path("operations", r.operation.ID), nil)
		if !passes(err) || rdb.Sleep(ctx, pause.Next()) != nil {
			break
		}
	}
	return found, err
}

// Advice returns what shows the operation if it may run, and otherwise what continues it. Both are requests:
// the command that does so needs Redis.
func (r *OperationRun) Advice() string {
	place := r.client.server.base + path("operations", r.operation.ID)
	if r.operation.Status == "running" {
		return "the operation may go on in the server: GET " + place + " shows it"
	}
	return "POST " + place + "/continue continues the operation"
}
