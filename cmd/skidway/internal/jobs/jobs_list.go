package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

func jobsList(a *cli.App) *cobra.Command {
	var filter filterFlags
	state := &cli.Choice{Words: []string{"waiting", "delayed", "active", "dead", "finished"}}
	limit := cli.Number(50)
	c := &cobra.Command{
		Use:   "list QUEUE",
		Short: "Lists jobs of a queue",
		Long: `Lists jobs of a queue, of one state or of each: active and waiting ones in the
order in which workers take them, delayed ones by their time, dead ones the
latest first, with their last error, and finished ones that are kept.`,
		Example: `  skidway jobs list mail
  skidway jobs list mail --state dead --newer-than 1h
  skidway jobs list mail --state dead --error "no such user" -o json`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	stateFlag(c, state, "only jobs of this state (default: of every one)")
	filter.add(c)
	c.Flags().Var(&limit, "limit", "most jobs of a state to list; 0 for all")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		states := []queue.State{queue.Active, queue.Waiting, queue.Delayed, queue.Dead, queue.Finished}
		if state.Word != "" {
			states = []queue.State{queue.State(state.Word)}
		}
		return withRedis(c.Context(), a, func(db *rdb.DB, client *queue.Client) error {
			q, err := existing(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			view := jobsView{}
			if view.now, err = db.Time(c.Context()).Result(); err != nil {
				return err
			}
			for _, state := range states {
				jobs, more, err := listJobs(c.Context(), q, state, filter.get(), int(limit))
				if err != nil {
					return err
				}
				view.jobs = append(view.jobs, jobs...)
				if more {
					a.Console.Notice("there may be more %s jobs: raise --limit, or choose with --kind, --error or --older-than", state)
				}
			}
			if len(view.jobs) == 0 {
				a.Console.Notice("no job of queue %s matches", q.Name())
			}
			return cli.PrintView(a, output.Word, view.view(), view.jobs, view.objects())
		})
	})
	return c
}

// listJobs gives jobs of a state, up to a limit, and whether there may be more.
func listJobs(ctx context.Context, q *queue.Queue, state queue.State, filter queue.Filter, limit int) (jobs []*queue.Job, more bool, err error) {
	for o := (queue.ListOptions{Filter: filter}); ; {
		o.Limit = queue.MaxListLimit
		if limit > 0 {
			o.Limit = min(o.Limit, limit-len(jobs))
		}
		page, err := q.List(ctx, state, &o)
		if err != nil {
			return nil, false, err
		}
		jobs = append(jobs, page.Jobs...)
		o.Cursor = page.Next
		if o.Cursor == "" || limit > 0 && len(jobs) == limit {
			return jobs, o.Cursor != "", nil
		}
	}
}

// A jobsView prints many jobs.
type jobsView struct {
	now  time.Time // by Redis's clock
	jobs []*queue.Job
}

func (v *jobsView) view() cli.View[*queue.Job] {
	type job = *queue.Job
	return cli.View[job]{
		{Key: "id", Head: "ID", Value: func(j job) any { return j.ID }},
		{Key: "state", Head: "STATE", Value: func(j job) any { return j.State }},
		{Key: "kind", Head: "KIND", Value: func(j job) any { return j.Kind }, Cell: func(j job) string { return cli.Cut(j.Kind, 24) }},
		{Key: "priority", Value: func(j job) any { return j.Priority }},
		{Key: "enqueued", Value: func(j job) any { return j.Enqueued }},
		{Key: "due", Value: func(j job) any { return j.Due }},
		{Key: "ended", Value: func(j job) any { return j.Ended }},
		{Key: "worker", Value: func(j job) any { return j.Worker }},
		{Head: "AGE", Right: true, Cell: func(j job) string { return age(v.now.Sub(since(j))) }},
		{Key: "failed_attempts", Head: "FAILED", Right: true, Value: func(j job) any { return j.Attempts }},
		{Key: "outcome", Value: func(j job) any { return j.Outcome }},
		{Key: "reason", Value: func(j job) any { return j.Reason }},
		{Key: "last_error", Value: func(j job) any { return lastError(j) }},
		{Head: "NOTE", Cell: func(j job) string { return cli.Cut(v.note(j), 100) }},
	}
}

// lastError is the error of a job's last failed attempt, "" for none.
func lastError(job *queue.Job) string {
	if n := len(job.Errors); n > 0 {
		return job.Errors[n-1].Error
	}
	return ""
}

// since is when the job's age begins, as filters count it.
func since(job *queue.Job) time.Time {
	if !job.Ended.IsZero() {
		return job.Ended
	}
	return job.Enqueued
}

// note says the most important of a job in a few words.
func (v *jobsView) note(job *queue.Job) string {
	last := lastError(job)
	var parts []string
	switch job.State {
	case queue.Active:
		parts = append(parts, fmt.Sprintf("for %s on %s", age(v.now.Sub(job.Taken)), job.Worker))
	case queue.Delayed:
		parts = append(parts, "due in "+age(job.Due.Sub(v.now)))
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
	text := ""
	for _, part := range parts {
		if text != "" && part != "" {
			text += ": "
		}
		text += part
	}
	return text
}

func (v *jobsView) objects() map[string]any {
	objects := []jobJSON{}
	for _, job := range v.jobs {
		objects = append(objects, jobObject(job))
	}
	return map[string]any{"jobs": objects}
}
