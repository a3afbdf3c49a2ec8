// Package jobs has the commands enqueue, queues, jobs, workers, cron and doctor.
package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/queue"
)

// Jobs returns the command "jobs".
func Jobs(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Lists, shows, changes, copies and deletes jobs",
		Long: `Lists jobs, shows them and changes them: single jobs by their ids, or many by
queue, state and other filters. A command that changes many jobs first prints
their number and asks for confirmation.`,
		Example: `  skidway jobs list mail --state dead
  skidway jobs show mail:0:n1795299599363-0
  skidway jobs retry --queue mail --error "connection refused"`,
	})
	c.AddCommand(jobsList(a), jobsRunning(a), jobsShow(a), jobsLogs(a), jobsRetry(a), jobsRunNow(a), jobsReschedule(a), jobsCancel(a), jobsDelete(a), jobsPriority(a), jobsCopy(a))
	return c
}

// filterFlags are the flags that select jobs.
type filterFlags struct {
	kind, text           string
	olderThan, newerThan cli.Span
}

func (f *filterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "kind", "", "only jobs of this `KIND`")
	c.Flags().Var(&f.olderThan, "older-than", "only jobs older than this (dead jobs: since they died)")
	c.Flags().Var(&f.newerThan, "newer-than", "only jobs newer than this")
	c.Flags().StringVar(&f.text, "error", "", "only jobs with this `TEXT` in an error, in upper or lower case")
}

func (f *filterFlags) get() ops.Short {
	return ops.Short{Kind: f.kind, Error: f.text, OlderThan: time.Duration(f.olderThan), NewerThan: time.Duration(f.newerThan)}
}

// stateFlag adds the flag with the state of jobs.
func stateFlag(c *cobra.Command, state *cli.Choice, usage string) {
	c.Flags().Var(state, "state", usage)
	cli.Complete(c, "state", state.Words...)
}

// jobFields are the fields of a job in JSON, but for those that [jobObject] adds.
var jobFields = cli.View[*queue.Job]{
	{Key: "id", Value: func(j *queue.Job) any { return j.ID }},
	{Key: "queue", Value: func(j *queue.Job) any { return j.Queue }},
	{Key: "state", Value: func(j *queue.Job) any { return j.State }},
	{Key: "kind", Value: func(j *queue.Job) any { return j.Kind }},
	{Key: "priority", Value: func(j *queue.Job) any { return j.Priority.String() }},
	{Key: "args", Value: func(j *queue.Job) any { return opaque(j.Args) }},
	{Key: "enqueued", Value: func(j *queue.Job) any { return j.Enqueued.UTC() }, Omit: true},
	{Key: "due", Value: func(j *queue.Job) any { return j.Due.UTC() }, Omit: true},
	{Key: "worker", Value: func(j *queue.Job) any { return j.Worker }, Omit: true},
	{Key: "taken", Value: func(j *queue.Job) any { return j.Taken.UTC() }, Omit: true},
	{Key: "ended", Value: func(j *queue.Job) any { return j.Ended.UTC() }, Omit: true},
	{Key: "outcome", Value: func(j *queue.Job) any { return j.Outcome }, Omit: true},
	{Key: "reason", Value: func(j *queue.Job) any { return j.Reason }, Omit: true},
	{Key: "failed_attempts", Value: func(j *queue.Job) any { return j.Attempts }},
	{Key: "forgiven_attempts", Value: func(j *queue.Job) any { return j.Forgiven }, Omit: true},
	{Key: "max_attempts", Value: func(j *queue.Job) any { return j.MaxAttempts }, Omit: true},
	{Key: "timeout_seconds", Value: func(j *queue.Job) any { return j.Timeout.Seconds() }, Omit: true},
	{Key: "deadline", Value: func(j *queue.Job) any { return j.Deadline.UTC() }, Omit: true},
	{Key: "retain_seconds", Value: func(j *queue.Job) any { return j.Retain.Seconds() }, Omit: true},
	{Key: "unique", Value: func(j *queue.Job) any { return j.Unique.Key }, Omit: true},
	{Key: "headers", Value: func(j *queue.Job) any { return j.Headers }, Omit: true},
	{Key: "then", Value: func(j *queue.Job) any { return j.Then }, Omit: true},
	{Key: "suspected", Value: func(j *queue.Job) any { return j.Quarantines }, Omit: true},
	{Key: "crashes", Value: func(j *queue.Job) any { return j.Crashes }, Omit: true},
	{Key: "errors", Value: func(j *queue.Job) any { return failureFields.Objects(j.Errors) }},
}

// failureFields are the fields of a failed attempt in JSON.
var failureFields = cli.View[queue.Failure]{
	{Key: "attempt", Value: func(f queue.Failure) any { return f.Attempt }},
	{Key: "time", Value: func(f queue.Failure) any { return f.Time }},
	{Key: "error", Value: func(f queue.Failure) any { return f.Error }},
	{Key: "worker", Value: func(f queue.Failure) any { return f.Worker }, Omit: true},
	{Key: "started", Value: func(f queue.Failure) any { return f.Started.UTC() }, Omit: true},
	{Key: "took_seconds", Value: func(f queue.Failure) any { return f.Took.Seconds() }, Omit: true},
	{Key: "stack", Value: func(f queue.Failure) any { return f.Stack }, Omit: true},
}

// jobObject returns a job as JSON. Args, progress and result that are JSON are
// printed as JSON, others as a text.
func jobObject(job *queue.Job, progress []byte, log []string) cli.Object {
	object := jobFields.Object(job)
	if len(progress) > 0 {
		object = append(object, cli.Field{Key: "progress", Value: opaque(progress)})
	}
	if len(job.Result) > 0 {
		object = append(object, cli.Field{Key: "result", Value: opaque(job.Result)})
	}
	if len(log) > 0 {
		object = append(object, cli.Field{Key: "log", Value: log})
	}
	return object
}

// opaque returns data that is JSON as it is, other data as a text, and nil for none.
func opaque(data []byte) any {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data):
		return json.RawMessage(readable(data))
	}
	return string(data)
}

// readable returns JSON with the characters <, > and & in the place of the escapes that
// encoding/json writes for them, and other data as it is.
func readable(data []byte) string {
	if !json.Valid(data) {
		return string(data)
	}
	return escapes.ReplaceAllStringFunc(string(data), func(escape string) string {
		return cmp.Or(map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}[escape], escape)
	})
}

// escapes matches what a backslash begins in JSON.
var escapes = regexp.MustCompile(`\\(u[0-9a-f]{4}|.)`)

// jobsView returns the table and CSV of many jobs at a time by Redis's clock.
func jobsView(now time.Time) cli.View[*queue.Job] {
	type job = *queue.Job
	return cli.View[job]{
		{Key: "id", Head: "ID", Whole: true, Value: func(j job) any { return j.ID }},
		{Key: "state", Head: "STATE", Value: func(j job) any { return j.State }},
		{Key: "kind", Head: "KIND", Value: func(j job) any { return j.Kind }, Cell: func(j job) string { return cli.Cut(j.Kind, 24) }},
		{Key: "priority", Value: func(j job) any { return j.Priority }},
		{Key: "enqueued", Value: func(j job) any { return j.Enqueued }},
		{Key: "due", Value: func(j job) any { return j.Due }},
		{Key: "ended", Value: func(j job) any { return j.Ended }},
		{Key: "worker", Value: func(j job) any { return j.Worker }},
		{Head: "AGE", Right: true, Cell: func(j job) string { return ops.Age(now.Sub(since(j))) }},
		{Key: "failed_attempts", Head: "FAILED", Right: true, Value: func(j job) any { return j.Attempts }},
		{Key: "outcome", Value: func(j job) any { return j.Outcome }},
		{Key: "reason", Value: func(j job) any { return j.Reason }},
		{Key: "last_error", Value: func(j job) any { return lastError(j) }},
		{Head: "NOTE", Fit: true, Cell: func(j job) string { return cli.Printable(note(j, now)) }},
	}
}

// lastError returns the error of a job's last failed attempt, "" for none.
func lastError(job *queue.Job) string {
	if n := len(job.Errors); n > 0 {
		return job.Errors[n-1].Error
	}
	return ""
}

// since returns when the job's age begins, as filters count it.
func since(job *queue.Job) time.Time {
	if !job.Ended.IsZero() {
		return job.Ended
	}
	return job.Enqueued
}

// note returns the most important of a job in a few words.
func note(job *queue.Job, now time.Time) string {
	last := lastError(job)
	var parts []string
	switch job.State {
	case queue.Active:
		parts = append(parts, fmt.Sprintf("for %s on %s", ops.Age(now.Sub(job.Taken)), job.Worker))
	case queue.Delayed:
		due := "due"
		if wait := job.Due.Sub(now); wait > 0 {
			due = "due in " + ops.Age(wait)
		}
		parts = append(parts, due)
	case queue.Dead:
		parts = append(parts, job.Reason)
	case queue.Finished:
		parts = append(parts, string(job.Outcome), job.Reason)
	case queue.Waiting:
		if job.Priority != queue.Normal {
			parts = append(parts, job.Priority.String())
		}
	}
	if !strings.Contains(job.Reason, last) || job.Reason == "" {
		parts = append(parts, last)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}
