package ops

import (
	"encoding/json"
	"maps"

	"skidway/queue"
)

// CopyJob returns a new job like another one, with changes: fields of a [queue.NewJob] as JSON, by
// their names. Times and the deadline are not copied. A change of the unique key leaves out the
// other's scope. The error wraps [queue.ErrInvalid] if a change is invalid.
func CopyJob(original *queue.Job, changes map[string]json.RawMessage) (job queue.NewJob, err error) {
	text, err := json.Marshal(queue.NewJob{Args: queue.Raw(original.Kind, []byte("{}")), Options: queue.Options{
		Queue: original.Queue, Priority: original.Priority, MaxAttempts: original.MaxAttempts, Timeout: original.Timeout,
		Unique: original.Unique, Retain: original.Retain, Headers: original.Headers, Then: original.Then,
	}})
	if err != nil {
		return job, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return job, err
	}
	if _, other := changes["unique"]; other {
		delete(fields, "unique_for")
		delete(fields, "unique_scope")
	}
	maps.Copy(fields, changes)
	if text, err = json.Marshal(fields); err != nil {
		return job, err
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return job, err
	}
	if _, changed := changes["args"]; !changed {
		job.Args = queue.Raw(original.Kind, original.Args) // also those that are no JSON
	}
	return job, nil
}
