package queue

import (
	"context"
	"fmt"
	"time"

	"skidway/internal/rdb"
)

// Delete removes a job and everything that is stored with it. Its unique key is free
// in every scope. An active job can't be deleted ([ErrState]), only cancelled. After a
// [skidway.OutcomeUnknownError] the job may or may not be deleted; this also holds for
// Cancel and Retry.
func (c *Client) Delete(ctx context.Context, id string, options ...ChangeOption) error {
	_, err := c.change(ctx, changeScript, "delete", id, changeArgs(options)...)
	return err
}

// Cancel ends a job and returns the state in which it was. A waiting or delayed job is
// finished with the outcome [Cancelled] when Cancel returns. The worker of an active job
// is notified at once, and the job ends as soon as its handler returns; if it fails
// before that or its worker dies, it does not run again. A job that has ended is an
// [ErrState].
func (c *Client) Cancel(ctx context.Context, id string, options ...ChangeOption) (State, error) {
	return c.change(ctx, changeScript, "cancel", id, changeArgs(options)...)
}

// Retry moves a delayed or dead job into the due line of its priority, to run now.
//
// A dead job starts over: with all its attempts ([Job.Forgiven] counts the earlier ones)
// and no crashes, and without its deadline if that has passed. It keeps its earlier
// errors and its log. It takes its unique key again, unless the key was held for a
// duration; if another job holds the key, the error is a [DuplicateError]. A job in
// another state, or too damaged to run, is an [ErrState].
func (c *Client) Retry(ctx context.Context, id string, options ...ChangeOption) error {
	_, err := c.change(ctx, changeScript, "retry", id, changeArgs(options)...)
	return err
}

// A ChangeOption restricts [Client.Cancel], [Client.Delete], [Client.Retry] and
// [Client.SetPriority].
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

// Reschedule changes the time of a delayed job; a time in the past means now, the
// zero time is refused. A job in another state is an [ErrState].
func (c *Client) Reschedule(ctx context.Context, id string, at time.Time) error {
	if at.IsZero() {
		return fmt.Errorf("reschedule %s: %w: the time is missing", id, ErrInvalid)
	}
	if time.Until(at) > maxDelay {
		return fmt.Errorf("%w: time %s is more than 100 years away", ErrInvalid, at.Format(time.RFC3339))
	}
	_, err := c.change(ctx, repeatedScript, "reschedule", id, max(0, at.UnixMilli()))
	return err
}

// SetPriority changes the priority of a waiting, delayed or dead job. A waiting job goes to the
// end of the jobs of that priority that were due; one that has the priority keeps its place. A
// job in another state, a quarantined one, and one too damaged to run are an [ErrState].
func (c *Client) SetPriority(ctx context.Context, id string, priority Priority, options ...ChangeOption) error {
	if !priority.valid() {
		return fmt.Errorf("%w: %s", ErrInvalid, priority)
	}
	_, err := c.change(ctx, repeatedScript, "priority", id, append([]any{string(priority.letter())}, changeArgs(options)...)...)
	return err
}

// change changes one job and returns the state in which it was.
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
	now := operation == "retry" && len(args) > 0 && args[0] == string(Delayed)
	if now {
		operation = "run now"
	}
	switch reply.Word {
	case "none":
		return "", noJob(id)
	case "state":
		hint := ""
		if now && state == Dead {
			hint = ", and needs a retry"
		}
		return state, fmt.Errorf("%s %s: %w: it is %s%s", operation, id, ErrState, state, hint)
	case "malformed":
		return state, fmt.Errorf("%s %s: %w: it is %s, and too damaged to run", operation, id, ErrState, state)
	case "duplicate":
		return state, &DuplicateError{Key: reply.Text(1), Owner: globalID(q.name, reply.Text(2))}
	}
	return state, nil
}

func noJob(id string) error { return fmt.Errorf("job %s: %w", id, ErrNoJob) }
