package queue

import (
	"context"
	"fmt"
	"time"

	"skidway/internal/rdb"
)

// Delete removes a job and all that is kept with it, as if it had never been.
// Its unique key is free in every scope. An active job is an [ErrState]: cancel
// it. On an [skidway.OutcomeUnknownError], as with Cancel and Retry, it may have
// happened or not.
func (c *Client) Delete(ctx context.Context, id string) error {
	_, err := c.change(ctx, changeScript, "delete", id)
	return err
}

// Cancel ends a job that is wanted no more, and gives the state in which it was.
// A waiting or delayed job is finished, as [Cancelled], when Cancel returns. The
// worker of an active one is told at once, and it ends as soon as its handler
// lets it; if that fails first, or its worker dies, it does not run again. A
// job that has ended is an [ErrState].
func (c *Client) Cancel(ctx context.Context, id string, options ...ChangeOption) (State, error) {
	return c.change(ctx, changeScript, "cancel", id, changeArgs(options)...)
}

// Retry lets a job run now: a delayed one before its time, a dead one again. It
// goes into the due line of its priority.
//
// A dead job starts over: with all attempts that it may have ([Job.Forgiven]
// tells how many went before), with no crash held against it, and without its
// deadline where that has passed. What it remembers of earlier errors and the
// lines of its log stay. It takes its unique key again, unless it held it for a
// duration: while another job holds the key the error is a [DuplicateError]. A
// job in another state, or too damaged to run, is an [ErrState].
func (c *Client) Retry(ctx context.Context, id string, options ...ChangeOption) error {
	_, err := c.change(ctx, changeScript, "retry", id, changeArgs(options)...)
	return err
}

// A ChangeOption restricts [Client.Cancel] and [Client.Retry].
type ChangeOption struct{ state State }

// OnlyIf restricts a change to a job in a state: a job in another state is left
// alone, and the error is an [ErrState].
func OnlyIf(state State) ChangeOption { return ChangeOption{state} }

// changeArgs returns the arguments for lua/change.lua; the last option wins.
func changeArgs(options []ChangeOption) []any {
	if len(options) == 0 {
		return nil
	}
	return []any{string(options[len(options)-1].state)}
}

// Reschedule gives a delayed job another time; one in the past is now. A job in
// another state is an [ErrState].
func (c *Client) Reschedule(ctx context.Context, id string, at time.Time) error {
	if time.Until(at) > maxDelay {
		return fmt.Errorf("%w: time %s is more than 100 years away", ErrInvalid, at.Format(time.RFC3339))
	}
	_, err := c.change(ctx, rescheduleScript, "reschedule", id, max(0, at.UnixMilli()))
	return err
}

// change does something to one job and gives the state in which it was.
func (c *Client) change(ctx context.Context, s *rdb.Script, operation, id string, args ...any) (State, error) {
	q, local, err := c.find(id)
	if err != nil {
		return "", err
	}
	reply, err := q.run(ctx, s, append([]any{operation, local}, args...)...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", operation, err)
	}
	state := State(reply.Text(0))
	switch reply.Word {
	case "none":
		return "", noJob(id)
	case "state":
		return state, fmt.Errorf("%s %s: %w: it is %s", operation, id, ErrState, state)
	case "malformed":
		return state, fmt.Errorf("%s %s: %w: it is %s, and too damaged to run", operation, id, ErrState, state)
	case "duplicate":
		return state, &DuplicateError{Key: reply.Text(1), Owner: globalID(q.name, reply.Text(2))}
	}
	return state, nil
}

func noJob(id string) error { return fmt.Errorf("job %s: %w", id, ErrNoJob) }

// DeleteAll deletes the jobs of a state as [Client.Delete] does: [Waiting],
// [Delayed], [Dead] or [Finished]. It gives their number, which may be too low
// where an answer of Redis was lost. It goes in steps; jobs that come into the
// state meanwhile may be among them or not.
func (q *Queue) DeleteAll(ctx context.Context, state State, filter Filter) (int, error) {
	if err := state.check(Waiting, Delayed, Dead, Finished); err != nil {
		return 0, err
	}
	return q.changeAll(ctx, "delete", state, filter)
}

// CancelAll cancels the jobs of a state as [Client.Cancel] does: [Waiting],
// [Delayed] or [Active]. Like DeleteAll it goes in steps and gives a number.
func (q *Queue) CancelAll(ctx context.Context, state State, filter Filter) (int, error) {
	if err := state.check(Waiting, Delayed, Active); err != nil {
		return 0, err
	}
	return q.changeAll(ctx, "cancel", state, filter)
}

// RetryAll lets the [Delayed] or [Dead] jobs run now as [Client.Retry] does.
// Those whose unique key is taken, and those too damaged to run, stay where they
// are. Like DeleteAll it goes in steps and gives a number.
func (q *Queue) RetryAll(ctx context.Context, state State, filter Filter) (int, error) {
	if err := state.check(Delayed, Dead); err != nil {
		return 0, err
	}
	return q.changeAll(ctx, "retry", state, filter)
}

// CountAll gives the number of jobs of a state. Without a filter it is that of
// [Queue.Depth]; with one all jobs of the state are looked at, in steps as above.
func (q *Queue) CountAll(ctx context.Context, state State, filter Filter) (int, error) {
	if err := state.check(Waiting, Active, Delayed, Dead, Finished); err != nil {
		return 0, err
	}
	if filter != (Filter{}) {
		return q.changeAll(ctx, "count", state, filter)
	}
	depth, err := q.Depth(ctx)
	return depth.Of(state), err
}

// Purge deletes all waiting jobs, whatever their priority.
func (q *Queue) Purge(ctx context.Context) (int, error) {
	return q.DeleteAll(ctx, Waiting, Filter{})
}

// changeJobs is how many jobs one step of a change looks at. Deleting is cheap.
const maxChanged = 30

func (q *Queue) changeAll(ctx context.Context, operation string, state State, filter Filter) (changed int, err error) {
	if err := filter.validate(); err != nil {
		return 0, err
	}
	most := maxChanged
	if operation == "delete" || operation == "count" {
		most = maxWalked
	}
	for cursor, more := "", true; more; more = cursor != "" {
		reply, err := q.run(ctx, changeAllScript, append([]any{operation, string(state), cursor, most, maxWalkedBytes}, filter.args()...)...)
		if err != nil {
			return changed, fmt.Errorf("%s %s jobs: %w", operation, state, err)
		}
		cursor = reply.Text(0)
		changed += int(reply.Int(1))
	}
	return changed, nil
}
