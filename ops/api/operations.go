package api

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A NewOperation is a change of many jobs. With count and as_of, from the answer to dry_run, jobs
// that came into the state since they were counted are left alone. Without them the jobs are counted
// now.
type NewOperation struct {
	Action   string    `json:"action" jsonschema:"retry, delete, cancel or priority"`
	State    string    `json:"state,omitzero" jsonschema:"of the jobs; not with ids"`
	Match    string    `json:"match,omitzero" jsonschema:"a filter expression"`
	IDs      []string  `json:"ids,omitzero" jsonschema:"of up to 1,000 jobs, which are changed at once"`
	Priority string    `json:"priority,omitzero" jsonschema:"of the action priority"`
	Rate     int       `json:"rate,omitzero" jsonschema:"maximum number of jobs in a second (default as many as half of the time of Redis allows)"`
	Count    *int      `json:"count,omitzero"`
	AtLeast  bool      `json:"at_least,omitzero"`
	AsOf     time.Time `json:"as_of,omitzero"`
	DryRun   bool      `json:"dry_run,omitzero" jsonschema:"only count the jobs"`
}

// A Question is the answer to a dry run.
type Question struct {
	Queue   string    `json:"queue"`
	Action  string    `json:"action"`
	State   string    `json:"state"`
	Match   string    `json:"match,omitzero"`
	Count   int       `json:"count"`
	AtLeast bool      `json:"at_least" jsonschema:"whether the count is only a part of them, because counting takes too long"`
	AsOf    time.Time `json:"as_of"`
}

// A Purge deletes all jobs in a state. It has count and as_of as [NewOperation] has, or all, which
// counts them now.
type Purge struct {
	State   string    `json:"state,omitzero" jsonschema:"waiting (the default), delayed, dead or finished"`
	Count   *int      `json:"count,omitzero"`
	AtLeast bool      `json:"at_least,omitzero"`
	AsOf    time.Time `json:"as_of,omitzero"`
	All     bool      `json:"all,omitzero" jsonschema:"delete also jobs that were not counted first"`
	DryRun  bool      `json:"dry_run,omitzero"`
}

// IDResults has a result for each job.
type IDResults struct {
	Results []IDResult `json:"results"`
}

// An IDResult is the result of a change of one job: a problem, or none.
type IDResult struct {
	ID      string   `json:"id"`
	Problem *Problem `json:"problem,omitzero"`
}

// maxIDs bounds the jobs that one request changes by their ids.
const maxIDs = 1000

func addOperation(ctx context.Context, c *call) (any, error) {
	var body NewOperation
	if err := c.body(&body); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(operationActions, body.Action): // before it is in the audit
		return nil, invalidField("action", "%.40q: want %s", body.Action, strings.Join(operationActions, ", "))
	case (body.Count == nil) != body.AsOf.IsZero():
		return nil, invalidField("count", "want both count and as_of of the answer to dry_run, or none")
	}
	if err := c.mayChange(&body); err != nil {
		return nil, err
	}
	priority, err := queue.ParsePriority(body.Priority)
	if err != nil || (body.Priority == "") == (body.Action == "priority") {
		return nil, invalidField("priority", "%.40q: want high, normal or low with the action priority, else none", body.Priority)
	}
	c.action = body.Action
	if c.key != "" && (body.IDs != nil || body.DryRun) {
		return nil, invalidField(idempotencyKey, "it is only for operations, not for ids and for dry_run")
	}
	if body.IDs != nil {
		return c.changeIDs(ctx, &body, priority)
	}
	question := &ops.Question{
		Change: ops.Change{Queue: c.values["queue"], Do: body.Action, State: queue.State(body.State), Match: body.Match, Priority: priority, Rate: body.Rate},
		Count:  number(body.Count), AtLeast: body.AtLeast, AsOf: body.AsOf,
	}
	return c.operate(ctx, question, body.DryRun)
}

// operationActions are the changes of operations.
var operationActions = []string{"retry", "delete", "cancel", "priority"}

// mayChange checks the actions that an operation needs beside operate: admin to delete jobs, and view
// for a filter, because the number of jobs that match tells what is in them.
func (c *call) mayChange(body *NewOperation) error {
	if body.Action == "delete" {
		if err := c.may(access.Admin, c.values["queue"]); err != nil {
			return err
		}
	}
	if body.Match != "" {
		return c.may(access.View, c.values["queue"])
	}
	return nil
}

// number returns what n points to, zero for nil.
func number(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func purgeQueue(ctx context.Context, c *call) (any, error) {
	var body Purge
	if err := c.body(&body); err != nil {
		return nil, err
	}
	counted := body.Count != nil && !body.AsOf.IsZero()
	if body.Count != nil != counted || !body.AsOf.IsZero() != counted || counted && body.All || !counted && !body.All && !body.DryRun {
		return nil, invalidField("count", "want both count and as_of of the answer to dry_run, or all")
	}
	return c.operate(ctx, &ops.Question{
		Change: ops.Change{Queue: c.values["queue"], Do: "delete", State: queue.State(cmp.Or(body.State, string(queue.Waiting)))},
		Count:  number(body.Count), AtLeast: body.AtLeast, AsOf: body.AsOf,
	}, body.DryRun)
}

// operate asks for an operation unless the question has a time, and begins it unless it is a dry run.
func (c *call) operate(ctx context.Context, asked *ops.Question, dryRun bool) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	asked.Queue, asked.By = q.Name(), c.who()
	id := c.operationID(q.Name())
	if id != "" {
		if op, err := c.ops.Operation(ctx, id); !errors.Is(err, ops.ErrNoOperation) {
			if err != nil {
				return nil, err
			}
			return c.replayOperation(ctx, op)
		}
	}
	if dryRun || asked.AsOf.IsZero() {
		if asked, err = c.ops.Ask(ctx, asked.Change); err != nil {
			return nil, err
		}
	}
	if dryRun {
		c.status = 200
		return Question{asked.Queue, asked.Do, string(asked.State), asked.Match, asked.Count, asked.AtLeast, utc(asked.AsOf)}, nil
	}
	if id != "" {
		asked.ID, asked.Request = id, c.digest
	}
	answer, err := c.run(ctx, q.Name(), asked.Match, asked.Count, func() (*ops.OperationRun, error) { return c.ops.Begin(ctx, asked) })
	if !errors.Is(err, ops.ErrBegun) {
		return answer, err
	}
	op, err := c.ops.Operation(ctx, id) // another server has begun it since
	if err != nil {
		return nil, err
	}
	return c.replayOperation(ctx, op)
}

// run begins or continues an operation, and runs it in this process. Its audit ends when it does.
func (c *call) run(ctx context.Context, name, match string, count int, begin func() (*ops.OperationRun, error)) (any, error) {
	end, err := c.beginAudit(ctx, c.entry(name, match, count))
	if err != nil {
		return nil, err
	}
	run, err := begin()
	var unknown *skidway.OutcomeUnknownError
	if err = sent(err); err != nil && !(run != nil && errors.As(err, &unknown)) {
		end(err, 0)
		return nil, err
	}
	op, lost := run.Operation, err // if Redis did not answer, the operation is run if it was begun
	running := c.task(func(ctx context.Context) {
		var err error
		if lost != nil {
			err = run.Recover(ctx)
		}
		if err == nil {
			err = run.Run(ctx, func(queue.Operation) {})
		}
		if err != nil {
			c.log.Warn("an operation was interrupted", "operation", op.ID, "changed", run.Operation.Changed, "error", err)
		}
		end(err, run.Operation.Changed)
	})
	if !running {
		_, _ = c.ops.StopOperation(ctx, op.ID) // it can be continued
		err := problem("stopping", "operation %s was not begun", op.ID).retry(retryAfter)
		end(err, 0)
		return nil, err
	}
	if lost != nil {
		return nil, lost
	}
	c.location("operations", op.ID)
	return c.operationOf(op), nil
}

// changeIDs changes jobs by their ids.
func (c *call) changeIDs(ctx context.Context, body *NewOperation, priority queue.Priority) (any, error) {
	alone := *body
	alone.Action, alone.IDs, alone.Priority = "", nil, ""
	if len(body.IDs) == 0 || len(body.IDs) > maxIDs || !reflect.ValueOf(alone).IsZero() {
		return nil, invalidField("ids", "want 1 to %d ids, with only action and priority beside them", maxIDs)
	}
	for i, id := range body.IDs {
		if queueOfID(id) != c.values["queue"] || slices.Contains(body.IDs[:i], id) {
			return nil, invalidField("ids", "%.80q is no job of queue %s, or is there twice", id, c.values["queue"])
		}
	}
	change := map[string]func(id string) error{
		"retry":    func(id string) error { return c.queues.Retry(ctx, id) },
		"delete":   func(id string) error { return c.queues.Delete(ctx, id) },
		"cancel":   func(id string) error { _, err := c.queues.Cancel(ctx, id); return err },
		"priority": func(id string) error { return c.queues.SetPriority(ctx, id, priority) },
	}[body.Action]
	c.status = 200
	answer := IDResults{Results: []IDResult{}}
	err := c.audited(ctx, c.values["queue"], "ids: "+strings.Join(body.IDs, " "), len(body.IDs), func() error {
		var failed []error
		for _, id := range body.IDs {
			err := change(id)
			answer.Results = append(answer.Results, IDResult{id, c.resultProblem(err)})
			failed = append(failed, err)
		}
		return redisAway(failed)
	})
	return answer, err
}

func listOperations(ctx context.Context, c *call) (any, error) {
	all, err := c.ops.Operations(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(op queue.Operation) bool { return !c.views(op.Queue) })
	return listOf(ctx, c, all, time.Time{}, c.operationOf)
}

func showOperation(ctx context.Context, c *call) (any, error) {
	op, err := c.ops.Operation(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	return c.operationOf(op), nil
}

func stopOperation(ctx context.Context, c *call) (any, error) {
	var op queue.Operation
	id := c.values["id"]
	err := c.audited(ctx, queueOfID(id), id, 0, func() (err error) {
		op, err = c.ops.StopOperation(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.operationOf(op), nil
}

func continueOperation(ctx context.Context, c *call) (any, error) {
	op, err := c.ops.Operation(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	if op.Do == "delete" {
		if err := c.may(access.Admin, op.Queue); err != nil {
			return nil, err
		}
	}
	return c.run(ctx, op.Queue, op.Match, op.Count, func() (*ops.OperationRun, error) { return c.ops.Continue(ctx, op.ID) })
}
