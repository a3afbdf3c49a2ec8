package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/queue"
)

func jobsList(a *cli.App) *cobra.Command {
	list := &jobsListCmd{App: a, limit: 50}
	state := &cli.Choice{Words: []string{"waiting", "delayed", "active", "dead", "finished"}}
	c := &cobra.Command{
		Use:   "list QUEUE",
		Short: "Lists jobs of a queue",
		Long: `Lists the jobs of a queue in one state or in all states: active and waiting jobs
in the order in which workers take them, delayed jobs by their time, dead jobs
with their last error, the latest first, and finished jobs that are kept.

--match selects jobs by an expression. It compares fields with constants (== !=
< <= > >=, in ["a", "b"], startsWith, contains, matches with a regular
expression of RE2), joined by && || ! and parentheses. Fields: id, kind, state,
priority, attempts, error (of any attempt), shape (the error without numbers,
ids, addresses and quoted text), enqueued, due, died, text (all args), args.NAME
(also args.user.id and args.to[0]) and headers["NAME"]. A time is "-12h" or
"-3d" before now, "2026-11-20" or "2026-11-20 14:00", in UTC. --kind, --error,
--older-than and --newer-than are short forms of such expressions.

It reads the jobs of a state until it has found --limit of them, using at most
5 % of the time of Redis.`,
		Example: `  skidway jobs list mail
  skidway jobs list mail --state dead --newer-than 1h
  skidway jobs list mail --state dead --error "no such user" -o json
  skidway jobs list mail --match 'error contains "timeout" && died >= "-12h"'`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	stateFlag(c, state, "only jobs in this state (default: all states)")
	list.filter.add(c)
	c.Flags().StringVar(&list.match, "match", "", "only jobs that an `EXPRESSION` matches")
	c.Flags().Var(&list.limit, "limit", "number of jobs per state at most; 0: all")
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		states, err := ops.States(list.match)
		if err != nil {
			return cli.InvalidAsUsage(err)
		}
		if state.Word != "" {
			states = []queue.State{queue.State(state.Word)}
		}
		return withService(c.Context(), a, func(client service) error {
			return list.run(c.Context(), client, args[0], states, output.Word)
		})
	})
	return c
}

// A jobsListCmd is the command "jobs list".
type jobsListCmd struct {
	*cli.App
	filter filterFlags
	match  string
	limit  cli.Number
}

func (l *jobsListCmd) run(ctx context.Context, client service, name string, states []queue.State, format string) error {
	now, err := client.Now(ctx, name)
	if err != nil {
		return err
	}
	var all []*queue.Job
	for _, state := range states {
		jobs, more, err := l.search(ctx, client, name, state)
		if err != nil {
			return err
		}
		all = append(all, jobs...)
		if more {
			l.Console.Notice("there may be more %s jobs: raise --limit, or choose with --match, --kind, --error or --older-than", state)
		}
	}
	if len(all) == 0 {
		l.Console.Notice("no job of queue %s matches", name)
	}
	objects := make([]cli.Object, len(all))
	for i, job := range all {
		objects[i] = jobObject(job, nil, nil)
	}
	return cli.PrintView(l.App, format, jobsView(now), all, map[string]any{"jobs": objects})
}

// maxPage is the number of jobs of one page of a search.
const maxPage = 500

// progressEvery is how often a search that takes long reports how far it is.
const progressEvery = 5 * time.Second

// search returns the jobs of a state that match, at most as many as the limit, and whether there
// may be more.
func (l *jobsListCmd) search(ctx context.Context, client service, name string, state queue.State) (jobs []*queue.Job, more bool, err error) {
	match, err := l.filter.get().Match(state, l.match)
	if err != nil {
		return nil, false, err
	}
	options := ops.SearchOptions{State: state, Match: match}
	examined, reported := 0, time.Now()
	for {
		options.Limit = maxPage
		if l.limit > 0 {
			options.Limit = min(maxPage, int(l.limit)-len(jobs))
		}
		page, err := client.Search(ctx, name, options)
		var busy *ops.BusyError
		switch {
		case errors.As(err, &busy):
			if err := rdb.Sleep(ctx, busy.RetryAfter); err != nil {
				return nil, false, err
			}
			continue
		case err != nil:
			return nil, false, err
		}
		jobs = append(jobs, page.Jobs...)
		options.Cursor = page.Next
		if options.Cursor == "" || l.limit > 0 && len(jobs) == int(l.limit) {
			return jobs, options.Cursor != "", nil
		}
		examined += page.Examined
		if page.Examined = examined; time.Since(reported) > progressEvery {
			reported = time.Now()
			l.Console.Notice("%s jobs: %s", state, page)
		}
	}
}
