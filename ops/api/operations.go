package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A NewOperation is a change of many jobs. With count and as_of, from the answer to dry_run, jobs
// that came into the state since they were counted are left alone. Without them the jobs are counted
// now.
type NewOperation struct {
	Action   string    `json:"action" jsonschema:"retry, delete, cancel or priority"`
	State    string    `json:"state,omitzero" jsonschema:"of the jobs; not with ids that are changed at once, and needless with others"`
	Match    string    `json:"match,omitzero" jsonschema:"a filter expression"`
	IDs      []string  `json:"ids,omitzero" jsonschema:"of up to 1,000 jobs; up to 100 are changed at once, more are an operation, and so are those that a dry run has counted"`
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

	LookedAt int `json:"looked_at,omitzero" jsonschema:"the number of jobs that were read to count them"`
	Total    int `json:"total,omitzero" jsonschema:"the number of jobs in the state, then"`
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

// listIDs returns what the audit has of jobs that are named.
func listIDs(ids []string) string { return "ids: " + strings.Join(ids, " ") }

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
	if err := mayChange(c, &body); err != nil {
		return nil, err
	}
	priority, err := queue.ParsePriority(body.Priority)
	if err != nil || (body.Priority == "") == (body.Action == "priority") {
		return nil, invalidField("priority", "%.40q: want high, normal or low with the action priority, else none", body.Priority)
	}
	c.action = body.Action
	direct := body.IDs != nil && len(body.IDs) <= ops.MaxDirect && body.AsOf.IsZero() && !body.DryRun
	if c.key != "" && (direct || body.DryRun) {
		return nil, invalidField(idempotencyKey, "it is only for operations, not for up to %d ids and for dry_run", ops.MaxDirect)
	}
	if err := checkIDs(c, body.IDs); err != nil {
		return nil, err
	}
	if direct {
		return changeIDs(ctx, c, &body, priority)
	}
	question := &ops.Question{
		Change: ops.Change{Queue: c.values["queue"], Do: body.Action, State: queue.State(body.State), Match: body.Match, IDs: body.IDs, Priority: priority, Rate: body.Rate},
		Count:  number(body.Count), AtLeast: body.AtLeast, AsOf: body.AsOf,
	}
	return operate(ctx, c, question, body.DryRun)
}

// operationActions are the changes of operations.
var operationActions = []string{"retry", "delete", "cancel", "priority"}

// mayChange checks the actions that an operation needs beside operate: admin to delete jobs, and view
// for a filter, because the number of jobs that match tells what is in them.
func mayChange(c *call, body *NewOperation) error {
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
	return operate(ctx, c, &ops.Question{
		Change: ops.Change{Queue: c.values["queue"], Do: "delete", State: queue.State(cmp.Or(body.State, string(queue.Waiting)))},
		Count:  number(body.Count), AtLeast: body.AtLeast, AsOf: body.AsOf,
	}, body.DryRun)
}

// operate asks for an operation unless the question has a time, and begins it unless it is a dry run.
func operate(ctx context.Context, c *call, asked *ops.Question, dryRun bool) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	asked.Queue, asked.By = q.Name(), c.who()
	id := keyedOperation(q.Name(), c.key)
	if id != "" {
		if op, err := c.ops.Operations().Get(ctx, id); !errors.Is(err, ops.ErrNoOperation) {
			if err != nil {
				return nil, err
			}
			return replayOperation(ctx, c, op)
		}
	}
	if dryRun || asked.AsOf.IsZero() {
		if asked, err = c.ops.Operations().Ask(ctx, asked.Change); err != nil {
			return nil, err
		}
	}
	if dryRun {
		c.status = 200
		return Question{
			asked.Queue, asked.Do, string(asked.State), asked.Match, asked.Count, asked.AtLeast, utc(asked.AsOf), asked.Looked, asked.Of,
		}, nil
	}
	if id != "" {
		asked.ID, asked.Request = id, c.digest
	}
	which := asked.Match
	if asked.IDs != nil {
		which = listIDs(asked.IDs)
	}
	answer, err := runOperation(ctx, c, q.Name(), which, asked.Count, func() (*ops.OperationRun, error) { return c.ops.Operations().Begin(ctx, asked) })
	if !errors.Is(err, ops.ErrBegun) {
		return answer, err
	}
	op, err := c.ops.Operations().Get(ctx, id) // another server has begun it since
	if err != nil {
		return nil, err
	}
	return replayOperation(ctx, c, op)
}

// runOperation begins or continues an operation, and runs it in this process. Its audit ends when
// it does.
func runOperation(ctx context.Context, c *call, name, match string, count int, begin func() (*ops.OperationRun, error)) (any, error) {
	end, err := c.beginAudit(ctx, c.entry(name, match, count))
	if err != nil {
		return nil, err
	}
	run, err := begin()
	if err = sent(err); run == nil {
		end(err, 0)
		return nil, err
	}
	op := run.Operation
	running := c.task(func(ctx context.Context) {
		err := run.Run(ctx, func(queue.Operation) {})
		if err != nil {
			c.log.Warn("an operation was interrupted", "operation", op.ID, "changed", run.Operation.Changed, "error", err)
		}
		end(run.Outcome(err), run.Operation.Changed)
	})
	if !running {
		_, _ = c.ops.Operations().Stop(ctx, op.ID) // it can be continued
		err := problem("stopping", "operation %s was not begun", op.ID).retry(retryAfter)
		end(err, 0)
		return nil, err
	}
	if err != nil { // the reply was lost: it runs if it was begun
		return nil, err
	}
	c.location("operations", op.ID)
	return operationOf(op, c.views(op.Queue)), nil
}

// continueRun continues an operation in this process.
func continueRun(ctx context.Context, c *call, op queue.Operation) (any, error) {
	return runOperation(ctx, c, op.Queue, op.Match, op.Count, func() (*ops.OperationRun, error) { return c.ops.Operations().Continue(ctx, op.ID) })
}

// keyedOperation returns the id of the operation of a queue that a request with a key begins; ""
// without a key. The operation itself is the record of the request.
func keyedOperation(name, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + " " + name))
	return name + ":0:" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// replayOperation returns the operation that an earlier request with the same key has begun, and
// continues it if the process that ran it has ended.
func replayOperation(ctx context.Context, c *call, op queue.Operation) (any, error) {
	if op.Request != c.digest {
		return nil, problem("other-request", "operation %s was begun with the same %s", op.ID, idempotencyKey)
	}
	c.replay()
	if op.Status == "interrupted" {
		answer, err := continueRun(ctx, c, op)
		var running *ops.OperationRunningError
		if !errors.As(err, &running) { // else it waits for another one
			return answer, err
		}
	}
	c.location("operations", op.ID)
	return operationOf(op, c.views(op.Queue)), nil
}

// checkIDs returns an error unless ids are those of different jobs of the queue.
func checkIDs(c *call, ids []string) error {
	if len(ids) > ops.MaxIDs {
		return invalidField("ids", "%d ids: want up to %d", len(ids), ops.MaxIDs)
	}
	for i, id := range ids {
		if queueOfID(id) != c.values["queue"] || slices.Contains(ids[:i], id) {
			return invalidField("ids", "%.80q is no job of queue %s, or is there twice", id, c.values["queue"])
		}
	}
	return nil
}

// changeIDs changes jobs by their ids.
func changeIDs(ctx context.Context, c *call, body *NewOperation, priority queue.Priority) (any, error) {
	alone := *body
	alone.Action, alone.IDs, alone.Priority = "", nil, ""
	if len(body.IDs) == 0 || !reflect.ValueOf(alone).IsZero() {
		return nil, invalidField("ids", "want 1 to %d ids, with only action and priority beside up to %d", ops.MaxIDs, ops.MaxDirect)
	}
	change := map[string]func(id string) error{
		"retry":    func(id string) error { return c.queues.Retry(ctx, id) },
		"delete":   func(id string) error { return c.queues.Delete(ctx, id) },
		"cancel":   func(id string) error { _, err := c.queues.Cancel(ctx, id); return err },
		"priority": func(id string) error { return c.queues.SetPriority(ctx, id, priority) },
	}[body.Action]
	c.status = 200
	answer := IDResults{Results: []IDResult{}}
	end, err := c.beginAudit(ctx, c.entry(c.values["queue"], listIDs(body.IDs), len(body.IDs)))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, id := range body.IDs {
		err := change(id)
		answer.Results = append(answer.Results, IDResult{id, c.resultProblem(err)})
		errs = append(errs, err)
	}
	err = sent(redisAway(errs))
	outcome, failed := err, len(slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
	if failed > 0 && err == nil {
		outcome = fmt.Errorf("%d of %d jobs failed, the others are done", failed, len(body.IDs))
	}
	end(outcome, len(body.IDs)-failed)
	return answer, err
}

func listOperations(ctx context.Context, c *call) (any, error) {
	all, err := c.ops.Operations().List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(op queue.Operation) bool { return !c.views(op.Queue) })
	return listOf(ctx, c, all, time.Time{}, func(op queue.Operation) Operation { return operationOf(op, true) })
}

func showOperation(ctx context.Context, c *call) (any, error) {
	op, err := c.ops.Operations().Get(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	return operationOf(op, c.views(op.Queue)), nil
}

func stopOperation(ctx context.Context, c *call) (any, error) {
	var op queue.Operation
	id := c.values["id"]
	err := c.audited(ctx, queueOfID(id), id, 0, func() (err error) {
		op, err = c.ops.Operations().Stop(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return operationOf(op, c.views(op.Queue)), nil
}

func continueOperation(ctx context.Context, c *call) (any, error) {
	op, err := c.ops.Operations().Get(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	if op.Do == "delete" {
		if err := c.may(access.Admin, op.Queue); err != nil {
			return nil, err
		}
	}
	return continueRun(ctx, c, op)
}
