// Package jobs has the commands enqueue, queues, jobs, workers, cron and doctor.
package jobs

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// Jobs returns the command "jobs".
func Jobs(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Lists and shows jobs, lets them run again, ends them",
		Long: `Looks at single jobs and changes them: by their ids, or many at once, chosen by
queue, state and more. What changes many says first how many they are, and asks.`,
		Example: `  skidway jobs list mail --state dead
  skidway jobs show mail:0:n1795299599363-0
  skidway jobs retry --queue mail --error "connection refused"`,
	})
	c.AddCommand(jobsList(a), jobsShow(a), jobsLogs(a), jobsRetry(a), jobsRunNow(a), jobsCancel(a), jobsDelete(a))
	return c
}

// filterFlags choose jobs.
type filterFlags struct {
	kind, text           string
	olderThan, newerThan cli.Span
}

func (f *filterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "kind", "", "only jobs of this `KIND`")
	c.Flags().Var(&f.olderThan, "older-than", "only those that are older (of dead ones: died longer ago)")
	c.Flags().Var(&f.newerThan, "newer-than", "only those that are newer")
	c.Flags().StringVar(&f.text, "error", "", "only those with this `TEXT` in an error, letters large or small")
}

func (f *filterFlags) get() queue.Filter {
	return queue.Filter{Kind: f.kind, Error: f.text, OlderThan: time.Duration(f.olderThan), NewerThan: time.Duration(f.newerThan)}
}

// stateFlag adds the flag that says in which state jobs are.
func stateFlag(c *cobra.Command, state *cli.Choice, usage string) {
	c.Flags().Var(state, "state", usage)
	cli.Complete(c, "state", state.Words...)
}

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
