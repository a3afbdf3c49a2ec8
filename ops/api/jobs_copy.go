package api

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A Copy is what a copy of a job has instead of the job's own args and options.
type Copy struct {
	Queue       string            `json:"queue,omitzero"`
	Args        json.RawMessage   `json:"args,omitzero"`
	Priority    string            `json:"priority,omitzero"`
	In          Duration          `json:"in,omitzero"`
	At          time.Time         `json:"at,omitzero"`
	Unique      string            `json:"unique,omitzero"`
	UniqueFor   Duration          `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitzero"`
	MaxAttempts int               `json:"max_attempts,omitzero"`
	Timeout     Duration          `json:"timeout,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      Duration          `json:"retain,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
}

func copyJob(ctx context.Context, c *call) (any, error) {
	changes := map[string]json.RawMessage{}
	if err := c.body(&changes); err != nil {
		return nil, err
	}
	if err := c.may(access.View, queueOfID(c.values["id"])); err != nil { // the copy shows what is in the job
		return nil, err
	}
	original, err := c.queues.Get(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	edit := jobEdit{original, c.ops.Redactor().Job(original), changes}
	if edit.hides() {
		// The copy can be made to show hidden values elsewhere.
		if err := c.may(access.Reveal, original.Queue); err != nil {
			return nil, err
		}
		if err := edit.restore(c.ops.Redactor()); err != nil {
			return nil, err
		}
		entry := c.entry(original.Queue, "id == "+original.ID, 1)
		entry.Action, entry.Outcome = "reveal", "done"
		if err := c.audit.Record(ctx, entry); err != nil {
			return nil, err
		}
	}
	job, err := ops.CopyJob(original, changes)
	if err != nil {
		return nil, err
	}
	return addOne(ctx, c, job, "id == "+original.ID)
}

// A jobEdit is a job and changes of it, which were made in its redacted view.
type jobEdit struct {
	original, shown *queue.Job
	changes         map[string]json.RawMessage // by the fields of [Copy]
}

// hides reports whether the view hides values of the job.
func (e *jobEdit) hides() bool { return !reflect.DeepEqual(e.shown, e.original) }

// restore puts the hidden values of the job into the changes that show them as hidden.
func (e *jobEdit) restore(redactor *ops.Redactor) error {
	if err := e.restoreHeaders(); err != nil {
		return err
	}
	edited, changed := e.changes["args"]
	if !changed {
		return nil
	}
	args, err := redactor.Restore(e.original, edited)
	if err == nil {
		e.changes["args"] = args
	}
	return err
}

func (e *jobEdit) restoreHeaders() error {
	edited, changed := e.changes["headers"]
	if !changed {
		return nil
	}
	var headers map[string]string
	if err := json.Unmarshal(edited, &headers); err != nil {
		return invalidField("headers", "want an object of texts")
	}
	for name, value := range headers {
		if before, known := e.shown.Headers[name]; known && before == value {
			headers[name] = e.original.Headers[name]
		} else if strings.Contains(value, ops.Hidden) {
			return invalidField("headers", "the header %.80q is hidden, and the job has no such value", name)
		}
	}
	text, err := json.Marshal(headers)
	e.changes["headers"] = text
	return err
}
