package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"skidway"
	"skidway/internal/filter"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Bounds of operations.
const (
	maxCountTime   = 2 * time.Second  // for which the jobs are counted
	maxQuestionAge = 15 * time.Minute // after which they must be counted again
	maxRate        = 100_000          // jobs in a second

	turnLength = 15 * time.Second // after a step for which no other process may continue
	renewEvery = 2 * time.Second  // at the latest there is a step, also an empty one
)

// MaxDirect is the number of jobs that are changed by their ids without an operation, and MaxIDs the number
// that a [Change] may name.
const (
	MaxDirect = 100
	MaxIDs    = 1000
)

// A Change is a change of all jobs of a queue in a state that match a filter, or of jobs that are named.
type Change struct {
	Queue    string
	Do       string         // "retry", "delete", "cancel" or "priority"
	State    queue.State    // may be empty with IDs: then the jobs may be in any state that allows the change
	Match    string         // a filter expression; empty: all jobs
	IDs      []string       // of the only jobs, up to MaxIDs, without Match; nil: all that match
	Priority queue.Priority // that "priority" sets
	Rate     int            // maximum number of jobs changed in a second; zero: no maximum
	By       string         // who asks, for the list of operations
}

// changeable has the states of the jobs that can be changed.
var changeable = map[string][]queue.State{
	"retry":    {queue.Dead, queue.Delayed},
	"delete":   {queue.Waiting, queue.Delayed, queue.Dead, queue.Finished},
	"cancel":   {queue.Waiting, queue.Delayed, queue.Active},
	"priority": {queue.Waiting, queue.Delayed, queue.Dead},
}

// validate returns an error if the change is not possible, and the filter.
func (c *Change) validate() (*filter.Filter, error) {
	states := changeable[c.Do]
	switch {
	case states == nil:
		return nil, fmt.Errorf("%w: change %.40q: want retry, delete, cancel or priority", queue.ErrInvalid, c.Do)
	case !slices.Contains(states, c.State) && (c.State != "" || c.IDs == nil):
		return nil, fmt.Errorf("%w: %s of %.40s jobs: want one of %v", queue.ErrInvalid, c.Do, c.State, states)
	case c.Rate < 0 || c.Rate > maxRate:
		return nil, fmt.Errorf("%w: %d jobs in a second: want up to %d", queue.ErrInvalid, c.Rate, maxRate)
	}
	if c.IDs != nil && (len(c.IDs) == 0 || len(c.IDs) > MaxIDs || c.Match != "") {
		return nil, fmt.Errorf("%w: %d ids: want 1 to %d, without a filter", queue.ErrInvalid, len(c.IDs), MaxIDs)
	}
	for _, id := range c.IDs {
		if err := queue.CheckJobID(id); err != nil {
			return nil, err
		}
		if name, _, _ := strings.Cut(id, ":"); name != c.Queue {
			return nil, fmt.Errorf("%w: %.80q is no job of queue %s", queue.ErrInvalid, id, c.Queue)
		}
	}
	return parseFilter(c.Match)
}

// A Question is a change whose jobs have been counted. It is what a person is asked before
// [Operations.Begin], which accepts it for 15 minutes.
type Question struct {
	Change
	Count   int
	AtLeast bool      // whether Count is only a part of them, because counting took longer than 2 s
	Looked  int       // number of jobs that were read to count them; zero without a filter
	Of      int       // number of jobs in the state, then; zero if it is not known
	AsOf    time.Time // by the clock of the queue's Redis: jobs that come into the state later are left alone

	// ID is that of the operation to begin; empty means a new one. Request is a digest of what asks
	// for it, which [queue.Operation] keeps. With both, a request can be repeated: the second
	// [Operations.Begin] has the error [ErrBegun].
	ID, Request string
}

// String returns the number of jobs in words, such as "at least 1,200 dead jobs".
func (q *Question) String() string {
	text := Plural(q.Count, strings.TrimSpace(string(q.State)+" job"))
	switch {
	case !q.AtLeast:
		return text
	case q.Count > 0:
		return "at least " + text
	case q.Of > 0:
		return fmt.Sprintf("%s jobs (none found yet, in %s of %s)", q.State, humanize.Comma(int64(q.Looked)), humanize.Comma(int64(q.Of)))
	}
	return string(q.State) + " jobs (none found yet)"
}

// Errors of operations.
var (
	ErrQuestionExpired = errors.New("the jobs were counted more than 15 minutes ago: count them again")
	ErrQuestionEarly   = errors.New("the time at which the jobs were counted is still to come, by the clock of Redis")
	ErrBegun           = errors.New("the operation was begun before")
	ErrNoOperation     = errors.New("there is no such operation, or it ended more than a month ago")
	ErrOperationDone   = errors.New("the operation is done")
	ErrContinued       = errors.New("another process has continued the operation")
)

// An OperationRunningError reports that an operation of the queue runs already.
type OperationRunningError struct{ ID string }

func (e *OperationRunningError) Error() string {
	return "operation " + e.ID + " of the queue is running: wait for it, or stop it"
}

// refusal returns the error for why a call did nothing.
func refusal(op *queue.Operation) error {
	switch op.Refused {
	case "":
		return nil
	case "known":
		return ErrBegun
	case "old":
		return ErrQuestionExpired
	case "busy":
		return &OperationRunningError{op.Error}
	case "none":
		return fmt.Errorf("operation %s: %w", op.ID, ErrNoOperation)
	case "ended":
		return fmt.Errorf("operation %s: %w", op.ID, ErrOperationDone)
	case "lost":
		return fmt.Errorf("operation %s: %w", op.ID, ErrContinued)
	}
	return fmt.Errorf("operation %s: %s", op.ID, op.Refused)
}

// Operations asks for operations, begins, lists and stops them. All operations of a client, and the
// questions before them, together use at most half of Redis's time. It is safe for concurrent use.
type Operations struct {
	client *Client
	budget *budget
}

// Operations returns the operations of the queues of the client.
func (c *Client) Operations() *Operations { return c.operations }

// Ask counts the jobs that a change is to change. Without a filter their number is known, also where
// they are named; with one they are read, for at most 2 s; all questions and operations of a client together use at most
// half of Redis's time. Nothing is changed. The error is a [BusyError] while two others are counted.
func (o *Operations) Ask(ctx context.Context, change Change) (*Question, error) {
	f, err := change.validate()
	if err != nil {
		return nil, err
	}
	change.Match = f.String()
	q, err := o.client.queues.Queue(change.Queue)
	if err != nil {
		return nil, err
	}
	change.Queue = q.Name()
	before, err := q.Depth(ctx)
	if err != nil {
		return nil, err
	}
	// The jobs that came in the millisecond of this time count too, so the next one must have
	// begun when they are counted: no more jobs are changed than that.
	asked := &Question{Change: change, AsOf: before.Time.Add(time.Millisecond), Of: InState(before, change.State)}
	now := before.Time
	for tries := 0; now.Before(asked.AsOf) && tries < 50; tries++ { // the clock of the embedded server may stand still
		if err := rdb.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
		if now, err = o.client.Now(ctx, change.Queue); err != nil {
			return nil, err
		}
	}
	if change.IDs != nil {
		asked.Count = len(change.IDs)
		return asked, nil
	}
	if change.Match == "" {
		depth, err := q.Depth(ctx)
		asked.Count = InState(depth, change.State)
		return asked, err
	}
	if err := o.budget.enter(ctx); err != nil {
		return nil, err
	}
	defer o.budget.leave()
	deadline := o.client.now().Add(maxCountTime)
	r := o.newReader(q, f, change.State, asked.AsOf, "")
	defer r.end()
	for more := true; more; {
		if asked.AtLeast = !o.client.now().Before(deadline); asked.AtLeast {
			break
		}
		if err := r.wait(ctx); err != nil {
			return nil, err
		}
		var found []match
		if found, more, err = r.read(ctx); err != nil {
			return nil, err
		}
		asked.Count, asked.Looked = asked.Count+len(found), r.examined
	}
	return asked, nil
}

// Begin begins the operation that a question asked for. The error is an [OperationRunningError] if
// another one of the queue runs, [ErrQuestionExpired] if the question is old, [ErrQuestionEarly] if its time
// is still to come. [OperationRun.Run] then changes the jobs. If Redis did not answer, the operation may
// have been begun, and nothing runs it: then a run is returned with the error, whose Run finds that out
// and goes on.
func (o *Operations) Begin(ctx context.Context, asked *Question) (*OperationRun, error) {
	if _, err := asked.validate(); err != nil {
		return nil, err
	}
	switch now, err := o.client.Now(ctx, asked.Queue); {
	case err != nil:
		return nil, err
	case asked.AsOf.After(now.Add(time.Millisecond)): // see Ask
		return nil, ErrQuestionEarly
	}
	return o.take(ctx, "begin", queue.Operation{
		ID: asked.ID, Request: asked.Request,
		Queue: asked.Queue, Do: asked.Do, State: asked.State, Match: asked.Match, IDs: asked.IDs, Priority: asked.Priority, Rate: asked.Rate, By: asked.By,
		Count: asked.Count, AtLeast: asked.AtLeast, AsOf: asked.AsOf,
	})
}

// Continue continues an operation that was stopped or interrupted, from where it was. It is
// interrupted if the process that ran it has made no step for 15 s.
func (o *Operations) Continue(ctx context.Context, id string) (*OperationRun, error) {
	op, err := o.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return o.take(ctx, "continue", op)
}

// take takes the turn of an operation. If the reply of Redis was lost, it returns the run with the
// error.
func (o *Operations) take(ctx context.Context, do string, op queue.Operation) (*OperationRun, error) {
	q, err := o.client.queues.Queue(op.Queue)
	if err != nil {
		return nil, err
	}
	r := &OperationRun{operations: o, queue: q, owner: rand.Text()}
	r.Operation, err = q.Operate(ctx, op, r.call(queue.OperationCall{Do: do, MaxAge: maxQuestionAge}))
	if r.lost = isLost(err); r.lost {
		return r, err
	}
	if err == nil {
		err = r.open()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// isLost reports whether Redis may have done what it was sent, because its reply was lost.
func isLost(err error) bool {
	var unknown *skidway.OutcomeUnknownError
	late := unreachable(err) || errors.As(err, &unknown) || errors.Is(err, context.DeadlineExceeded)
	return late && !rdb.Refused(err)
}

// Get returns an operation by its id. The error is [ErrNoOperation] if there is none.
func (o *Operations) Get(ctx context.Context, id string) (queue.Operation, error) {
	all, err := queue.Operations(ctx, o.client.queues, id)
	if err != nil {
		return queue.Operation{}, err
	}
	return all[0], refusal(&all[0])
}

// List returns the last 100 operations of all queues, the latest first.
func (o *Operations) List(ctx context.Context) ([]queue.Operation, error) {
	all, err := queue.Operations(ctx, o.client.queues)
	return slices.DeleteFunc(all, func(op queue.Operation) bool { return op.Refused != "" }), err
}

// Stop stops an operation, whichever process runs it, and returns it: no more jobs are changed after
// that. An operation that has ended stays as it is.
func (o *Operations) Stop(ctx context.Context, id string) (queue.Operation, error) {
	return o.stop(ctx, id, "")
}

func (o *Operations) stop(ctx context.Context, id, why string) (queue.Operation, error) {
	op, err := o.Get(ctx, id)
	if err != nil {
		return op, err
	}
	q, err := o.client.queues.Queue(op.Queue)
	if err != nil {
		return op, err
	}
	op, err = q.Operate(ctx, op, queue.OperationCall{Do: "stop", Why: why})
	return op, cmp.Or(err, refusal(&op))
}
