package jobs

import (
	"encoding/json"
	"time"

	"skidway/queue"
)

// jobJSON is a job as it is printed. Bytes that are JSON are so here, too; others
// are a text.
type jobJSON struct {
	ID          string            `json:"id"`
	Queue       string            `json:"queue"`
	State       queue.State       `json:"state"`
	Kind        string            `json:"kind"`
	Priority    string            `json:"priority"`
	Args        any               `json:"args"`
	Enqueued    time.Time         `json:"enqueued,omitzero"`
	Due         time.Time         `json:"due,omitzero"`
	Worker      string            `json:"worker,omitempty"`
	Taken       time.Time         `json:"taken,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Outcome     queue.Outcome     `json:"outcome,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Attempts    int               `json:"failed_attempts"`
	Forgiven    int               `json:"forgiven_attempts,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     float64           `json:"timeout_seconds,omitempty"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      float64           `json:"retain_seconds,omitempty"`
	Unique      string            `json:"unique,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Then        []queue.Insert    `json:"then,omitempty"`
	Suspected   int               `json:"suspected,omitempty"`
	Crashes     int               `json:"crashes,omitempty"`
	Errors      []queue.Failure   `json:"errors"`
	Progress    any               `json:"progress,omitempty"`
	Result      any               `json:"result,omitempty"`
	Log         []string          `json:"log,omitempty"`
}

func jobObject(job *queue.Job) jobJSON {
	return jobJSON{
		ID: job.ID, Queue: job.Queue, State: job.State, Kind: job.Kind, Priority: job.Priority.String(), Args: opaque(job.Args),
		Enqueued: job.Enqueued.UTC(), Due: job.Due.UTC(), Worker: job.Worker, Taken: job.Taken.UTC(), Ended: job.Ended.UTC(),
		Outcome: job.Outcome, Reason: job.Reason, Attempts: job.Attempts, Forgiven: job.Forgiven, MaxAttempts: job.MaxAttempts,
		Timeout: job.Timeout.Seconds(), Deadline: job.Deadline.UTC(), Retain: job.Retain.Seconds(), Unique: job.Unique.Key,
		Headers: job.Headers, Then: job.Then, Suspected: job.Suspected, Crashes: job.Crashes,
		Errors: append([]queue.Failure{}, job.Errors...), Result: opaque(job.Result),
	}
}

// opaque gives bytes as JSON where they are, else as a text; nil for none.
func opaque(data []byte) any {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data):
		return json.RawMessage(data)
	}
	return string(data)
}
