package jobs

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
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
		Args: cli.ExactlyOne("QUEUE"), ValidArgsFunction: completeQueues(a),
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
		return withRedis(a, c.Context(), func(db *rdb.DB, client *queue.Client) error {
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
			return a.Print(output.Word, view.table, view.csv, view.json)
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
		page, err := q.List(ctx, state, o)
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

func (v *jobsView) table(out io.Writer) error {
	t := cli.Table{
		Heads: []string{"ID", "STATE", "KIND", "AGE", "FAILED", "NOTE"},
		Right: []bool{false, false, false, true, true, false},
	}
	for _, job := range v.jobs {
		t.Add(cli.Printable(job.ID), string(job.State), cli.Cut(job.Kind, 24), age(v.now.Sub(since(job))), strconv.Itoa(job.Attempts), cli.Cut(v.note(job), 100))
	}
	return t.Write(out)
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
	last := ""
	if n := len(job.Errors); n > 0 {
		last = job.Errors[n-1].Error
	}
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

func (v *jobsView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"id", "state", "kind", "priority", "enqueued", "due", "ended", "worker", "failed_attempts", "outcome", "reason", "last_error"}) // Error tells
	for _, job := range v.jobs {
		last := ""
		if n := len(job.Errors); n > 0 {
			last = job.Errors[n-1].Error
		}
		_ = w.Write([]string{
			job.ID, string(job.State), job.Kind, job.Priority.String(), cli.Stamp(job.Enqueued), cli.Stamp(job.Due), cli.Stamp(job.Ended),
			job.Worker, strconv.Itoa(job.Attempts), string(job.Outcome), job.Reason, last,
		})
	}
	w.Flush()
	return w.Error()
}

func (v *jobsView) json(out io.Writer) error {
	objects := []jobJSON{}
	for _, job := range v.jobs {
		objects = append(objects, jobObject(job))
	}
	return cli.WriteJSON(out, map[string]any{"jobs": objects})
}
