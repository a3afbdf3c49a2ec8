package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"skidway/queue"
)

// Redactor returns what hides values in all that the client returns.
func (c *Client) Redactor() *Redactor { return c.redactor }

// Job returns a job in any state, as [queue.Client.Get] does, without its hidden values.
func (c *Client) Job(ctx context.Context, id string) (*queue.Job, error) {
	job, err := c.queues.Get(ctx, id)
	return c.redactor.Job(job), err
}

// Log returns the last lines that a job logged, without their hidden values.
func (c *Client) Log(ctx context.Context, id string) ([]string, error) {
	lines, err := c.queues.Log(ctx, id)
	for i := range lines {
		lines[i] = c.redactor.Text(lines[i])
	}
	return lines, err
}

// Progress returns the progress that a job's handler last set, without its hidden values; nil for
// none.
func (c *Client) Progress(ctx context.Context, id string) ([]byte, error) {
	progress, err := c.queues.Progress(ctx, id)
	return c.redactor.data(progress), err
}

// Reveal returns a job with its hidden values. Who calls it must have the right to see them, and
// write that to the audit.
func (c *Client) Reveal(ctx context.Context, id string) (*queue.Job, error) {
	return c.queues.Get(ctx, id)
}

// Restore returns args that were edited in the view of [Redactor.Job], with the values that were
// hidden there. The error is a [queue.ErrInvalid] if [Hidden] stands at another place than in the
// view. The caller must see to it that who edited them has the right to reveal: the values can go to
// another place with the args around them.
func (r *Redactor) Restore(job *queue.Job, edited []byte) ([]byte, error) {
	view := r.data(job.Args)
	if bytes.Equal(view, job.Args) {
		return edited, nil
	}
	if bytes.Equal(view, edited) {
		return job.Args, nil
	}
	var original, hidden, changed any
	for _, decode := range []struct {
		text   []byte
		target *any
	}{{job.Args, &original}, {view, &hidden}, {edited, &changed}} {
		decoder := json.NewDecoder(bytes.NewReader(decode.text))
		decoder.UseNumber() // keeps all digits
		if err := decoder.Decode(decode.target); err != nil {
			return nil, fmt.Errorf("%w: args with hidden values are no JSON any more: %w", queue.ErrInvalid, err)
		}
	}
	merged, err := restore(original, hidden, changed)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}

// restore replaces what is hidden in edited by what it stands for.
func restore(original, view, edited any) (any, error) {
	if reflect.DeepEqual(view, edited) {
		return original, nil
	}
	switch value := edited.(type) {
	case map[string]any:
		was, _ := original.(map[string]any) // else nothing is found in it
		shown, _ := view.(map[string]any)
		for name, part := range value {
			restored, err := restore(was[name], shown[name], part)
			if err != nil {
				return nil, err
			}
			value[name] = restored
		}
	case []any:
		was, _ := original.([]any)
		shown, _ := view.([]any)
		if len(shown) != len(value) || len(was) != len(value) { // which is which is not known
			was, shown = make([]any, len(value)), make([]any, len(value))
		}
		for i, part := range value {
			restored, err := restore(was[i], shown[i], part)
			if err != nil {
				return nil, err
			}
			value[i] = restored
		}
	case string:
		if strings.Contains(value, Hidden) {
			return nil, fmt.Errorf("%w: %s stands for no value at its place in the args: enter the value", queue.ErrInvalid, Hidden)
		}
	}
	return edited, nil
}
