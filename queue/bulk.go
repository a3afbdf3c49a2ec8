package queue

import (
	"context"
	"fmt"
)

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
const changeJobs = 30

func (q *Queue) changeAll(ctx context.Context, operation string, state State, filter Filter) (changed int, err error) {
	if err := filter.check(); err != nil {
		return 0, err
	}
	most := changeJobs
	if operation == "delete" || operation == "count" {
		most = walkJobs
	}
	for cursor, more := "", true; more; more = cursor != "" {
		reply, err := q.run(ctx, changeAllScript, append([]any{operation, string(state), cursor, most, walkBytes}, filter.args()...)...)
		if err != nil {
			return changed, fmt.Errorf("%s %s jobs: %w", operation, state, err)
		}
		cursor = reply.Text(0)
		changed += int(reply.Int(1))
	}
	return changed, nil
}
