package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Operation is a change of many jobs of a queue that runs in steps. Package ops has what
// asks for operations and runs them. The first fields describe the change and stay as they
// are, the others are its progress.
type Operation struct {
	ID       string
	Queue    string
	Do       string // "retry", "delete", "cancel" or "priority"
	State    State  // of the jobs that it changes; may be empty with IDs: then of any
	Priority Priority
	Match    string    // a filter expression; empty: all jobs
	IDs      []string  // of the only jobs, if they are named; empty unless it begins or continues
	AsOf     time.Time // jobs that came into the state later are left alone
	Count    int       // number of jobs that matched then
	AtLeast  bool      // whether Count is only a part of them
	Rate     int       // jobs in a second; 0: as fast as it may
	By       string    // who asked for it
	Request  string    // a digest of the request that began it, if that can be repeated; else empty

	Status   string // "running", "interrupted", "stopped" or "done"
	Began    time.Time
	Last     time.Time // of the last step
	Ended    time.Time // zero unless it is done or stopped
	Step     int64     // number of the last step
	Cursor   string    // behind it
	Examined int
	Changed  int
	Left     int    // jobs that were left alone: they came later, are damaged, have ids of other programs, or their unique key is held
	Error    string // why it was stopped, if not by a person

	// Refused is why a call of [Queue.Operate] did nothing: "none", there is no such operation;
	// "known", another process has begun it; "old", its jobs were counted too long ago; "busy",
	// another operation (Error has its id) runs; "ended", it is done; "lost", another process has
	// continued it. Else it is empty.
	Refused string
}

// An OperationCall is a call of [Queue.Operate].
type OperationCall struct {
	// Do is "begin", "continue", "step", "purge", "stop" or "show".
	Do    string
	Owner string        // the process that runs the operation; it must be unique
	Turn  time.Duration // after a call for which no other process may run one of the queue

	MaxAge time.Duration // begin: of AsOf

	// Of a step. Its number is one above that of the last one; a repeated step changes
	// nothing.
	Step     int64
	Cursor   string
	Examined int
	Done     bool     // whether it is the last one
	Jobs     []string // ids
	Max      int      // purge: maximum number of jobs

	Why string // stop
}

// maxOperations is the number of operations that are listed.
const maxOperations = 100

// Operate begins an operation, continues, advances or stops it, and returns it as it is then. A
// step changes jobs by their ids, at most 100, and only those that are in the state of the
// operation still, and came into it before AsOf: one that left it and returned is another one.
// A purge is the step of an operation that deletes all waiting jobs: it finds them itself. All
// calls can be repeated after a lost reply.
func (q *Queue) Operate(ctx context.Context, op Operation, call OperationCall) (Operation, error) {
	if call.Do != "begin" {
		op, err := q.operate(ctx, op, call)
		if err == nil && op.Refused == "" && op.Status != "running" && call.Do != "show" { // a Redis that was full may have room now
			if added, err := addOperation(ctx, q.client, op); err == nil && added {
				_ = trimOperations(ctx, q.client, op) // the next one trims the list too
			}
		}
		return op, err
	}
	if op.ID == "" {
		op.ID = globalID(q.name, strings.ToLower(rand.Text()[:10]))
	}
	added, err := addOperation(ctx, q.client, op)
	if err != nil {
		return op, err
	}
	op, err = q.operate(ctx, op, call)
	if err == nil && added && op.Refused != "known" {
		_ = trimOperations(ctx, q.client, op) // the next one trims the list too
	}
	return op, err
}

// operate is Operate without the list of the last operations.
func (q *Queue) operate(ctx context.Context, op Operation, call OperationCall) (Operation, error) {
	_, local, err := splitOperationID(op.ID)
	if err != nil {
		return op, err
	}
	reply, err := q.runOn(ctx, operationScript, operationKeys(q.keys, local), op.args(local, call)...)
	switch {
	case errors.Is(err, ErrLeaseLost):
		op.Refused = "lost"
		return op, nil
	case err != nil:
		return op, err
	case reply.Word != "ok":
		op.Refused, op.Error = reply.Word, reply.Text(0)
		if op.Error != "" {
			op.Error = globalID(q.name, op.Error)
		}
		return op, nil
	}
	shown := Operation{ID: op.ID, Queue: q.name}
	fields := reply.List(2)
	for i := 0; i+1 < fields.Len(); i += 2 {
		shown.set(fields.Text(i), fields.Text(i+1), fields.Int(i+1))
	}
	if shown.Status == "running" && reply.Int(1) == 0 {
		shown.Status = "interrupted"
	}
	return shown, nil
}

// args returns the arguments of operation.lua.
func (op *Operation) args(local string, call OperationCall) []any {
	turn := call.Turn.Milliseconds()
	switch call.Do {
	case "begin":
		atLeast := ""
		if op.AtLeast {
			atLeast = "1"
		}
		return []any{
			"begin", local, call.Owner, turn, call.MaxAge.Milliseconds(),
			"do", op.Do, "state", string(op.State), "letter", string(op.Priority.letter()), "match", op.Match, "ids", strings.Join(op.IDs, " "), "as_of", op.AsOf.UnixMilli(),
			"count", op.Count, "at_least", atLeast, "rate", op.Rate, "by", op.By, "request", op.Request,
		}
	case "continue":
		return []any{"continue", local, call.Owner, turn}
	case "purge":
		return []any{"purge", local, call.Owner, turn, call.Step, call.Max}
	case "stop":
		return []any{"stop", local, call.Why}
	case "show":
		return []any{"show", local}
	}
	done := ""
	if call.Done {
		done = "done"
	}
	args := []any{"step", local, call.Owner, turn, call.Step, call.Cursor, call.Examined, done}
	for _, id := range call.Jobs {
		// Another program may have stored a job by an id that is none: it is left alone.
		if _, job, err := splitID(id); err == nil {
			args = append(args, job)
		} else {
			args = append(args, "")
		}
	}
	return args
}

// set sets a field by its name in Redis.
func (op *Operation) set(name, text string, n int64) {
	switch name {
	case "do":
		op.Do = text
	case "state":
		op.State = State(text)
	case "letter":
		if text != "" {
			op.Priority, _ = priorityOf(text[0])
		}
	case "match":
		op.Match = text
	case "ids":
		op.IDs = strings.Fields(text)
	case "as_of":
		op.AsOf = time.UnixMilli(n)
	case "count":
		op.Count = int(n)
	case "at_least":
		op.AtLeast = text != ""
	case "rate":
		op.Rate = int(n)
	case "by":
		op.By = text
	case "request":
		op.Request = text
	case "status":
		op.Status = text
	case "began":
		op.Began = time.UnixMilli(n)
	case "last":
		op.Last = time.UnixMilli(n)
	case "ended":
		op.Ended = time.UnixMilli(n)
	case "step":
		op.Step = n
	case "cursor":
		op.Cursor = text
	case "examined":
		op.Examined = int(n)
	case "changed":
		op.Changed = int(n)
	case "left":
		op.Left = int(n)
	case "error":
		op.Error = text
	}
}

// splitOperationID returns the queue and the rest of an operation's id, such as
// mail:0:j3kq5wa7bd.
func splitOperationID(id string) (queue, local string, err error) {
	queue, rest, _ := strings.Cut(id, ":")
	part, local, _ := strings.Cut(rest, ":")
	if checkName("queue", queue) != nil || part != strconv.Itoa(partition) || local == "" || len(local) > maxLocalID || strings.Trim(local, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", "", fmt.Errorf("%w: %.80q is no id of an operation", ErrInvalid, id)
	}
	return queue, local, nil
}

// operationList returns the key of the list of the last operations.
func operationList(c *Client) string {
	keys := registryKeys(c.prefix)
	return keys[len(keys)-1]
}

// addOperation adds an operation to the list of the last ones, and reports whether it was not in
// it. A full Redis, in which deletions go on, has no room for it.
func addOperation(ctx context.Context, c *Client, op Operation) (added bool, err error) {
	err = c.db.Retry(ctx, func() error {
		n, err := c.db.ZAdd(ctx, operationList(c), redis.Z{Score: float64(op.AsOf.UnixMilli()), Member: op.ID}).Result()
		added = added || n == 1
		if redis.HasErrorPrefix(err, "OOM") {
			return nil
		}
		return err
	})
	return added, err
}

// trimOperations removes an operation that was refused from the list of the last ones, or those
// above its length.
func trimOperations(ctx context.Context, c *Client, op Operation) error {
	return c.db.Retry(ctx, func() error {
		if op.Refused != "" {
			return c.db.ZRem(ctx, operationList(c), op.ID).Err()
		}
		return c.db.ZRemRangeByRank(ctx, operationList(c), 0, -1-maxOperations).Err()
	})
}

// Operations returns operations of all queues: those with the ids that are given, or the last
// 100, the latest first. Unknown ones, and those whose queue can't be read, are [Operation.Refused].
func Operations(ctx context.Context, c *Client, ids ...string) (all []Operation, err error) {
	listed := len(ids) == 0
	if listed {
		err := c.db.Retry(ctx, func() (err error) {
			ids, err = c.db.ZRangeArgs(ctx, redis.ZRangeArgs{Key: operationList(c), Start: 0, Stop: maxOperations - 1, Rev: true}).Result()
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		name, _, err := splitOperationID(id)
		if err != nil && listed {
			continue // not added by Skidway
		}
		if err != nil {
			return nil, err
		}
		q, err := c.Queue(name)
		if err != nil {
			return nil, err
		}
		op, err := q.Operate(ctx, Operation{ID: id, Queue: name}, OperationCall{Do: "show"})
		if _, ok := errors.AsType[*FormatError](err); ok {
			op.Refused, err = err.Error(), nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, nil
}
