package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func jobsRetry(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "retry", done: "will run again", states: []string{"dead", "delayed"}, state: "dead",
		short: "Runs dead jobs again",
		long: `Runs dead jobs again, with all their attempts, and delayed jobs before their
time. The errors of earlier attempts are kept. A job whose unique key is now
held by another job is not changed.`,
		examples: `  skidway jobs retry mail:0:n1795299599363-0
  skidway jobs retry --queue mail
  skidway jobs retry --queue mail --error "connection refused" --yes`,
		one: func(ctx context.Context, client *queue.Client, id string) (string, error) {
			return "will run again", client.Retry(ctx, id)
		},
		all: (*queue.Queue).RetryAll,
	})
}

func jobsRunNow(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "run", done: "will run now", name: "run-now", states: []string{"delayed"}, state: "delayed",
		short: "Runs delayed jobs now",
		long: `Runs delayed jobs, scheduled ones and those that wait for a retry, before their
time. Jobs in other states are not changed: 'skidway jobs retry' runs dead jobs.`,
		examples: `  skidway jobs run-now mail:0:d000000000000042
  skidway jobs run-now --queue mail --kind email.send`,
		one: func(ctx context.Context, client *queue.Client, id string) (string, error) {
			return "will run now", client.Retry(ctx, id, queue.OnlyIf(queue.Delayed))
		},
		all: (*queue.Queue).RetryAll,
	})
}

func jobsCancel(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "cancel", done: "cancelled", states: []string{"waiting", "delayed", "active"},
		short: "Cancels jobs",
		long: `Cancels jobs. Waiting and delayed jobs are cancelled when the command returns.
An active job ends when its handler returns, whose context is cancelled at once;
the job does not run again.`,
		examples: `  skidway jobs cancel mail:0:n1795299599363-0
  skidway jobs cancel --queue mail --state waiting --kind newsletter`,
		one: func(ctx context.Context, client *queue.Client, id string) (string, error) {
			was, err := client.Cancel(ctx, id)
			if was == queue.Active {
				return "runs: its worker was told to end it", err
			}
			return "cancelled", err
		},
		all: (*queue.Queue).CancelAll,
	})
}

func jobsDelete(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "delete", done: "deleted", states: []string{"waiting", "delayed", "dead", "finished"},
		short: "Deletes jobs",
		long: `Deletes jobs with their errors, results and logs. Active jobs can't be deleted:
'skidway jobs cancel' ends them.`,
		examples: `  skidway jobs delete mail:0:n1795299599363-0
  skidway jobs delete --queue mail --state dead --older-than 720h`,
		one: func(ctx context.Context, client *queue.Client, id string) (string, error) {
			return "deleted", client.Delete(ctx, id)
		},
		all: (*queue.Queue).DeleteAll,
	})
}

// A jobChange is a change of single jobs by id, or of many jobs of a queue.
type jobChange struct {
	do, done, name        string
	short, long, examples string
	states                []string
	state                 string // default of --state; empty: the flag is required

	one func(context.Context, *queue.Client, string) (done string, err error)
	all func(*queue.Queue, context.Context, queue.State, queue.Filter) (int, error)
}

func jobsChange(a *cli.App, j *jobChange) *cobra.Command {
	var name string
	var filter filterFlags
	var yes bool
	if j.name == "" {
		j.name = j.do
	}
	state := &cli.Choice{Word: j.state, Words: j.states}
	c := &cobra.Command{
		Use:   j.name + " ID...|--queue QUEUE",
		Short: j.short,
		Long: j.long + `

With --queue it changes all jobs in a state that match the filters. It prints
their number and asks for confirmation; without a terminal, --yes is needed.
With several IDs, it goes on after a job that fails.`,
		Example: j.examples,
	}
	c.Flags().StringVar(&name, "queue", "", "`QUEUE` of which to change all jobs that match")
	_ = c.RegisterFlagCompletionFunc("queue", completeQueues(a))
	stateFlag(c, state, "state of the jobs")
	filter.add(c)
	cli.YesFlag(c, &yes)
	c.RunE = cli.Action(func(c *cobra.Command, ids []string) error {
		if err := j.check(c, ids, name, state.Word); err != nil {
			return err
		}
		return cli.With(c.Context(), a, openQueues, func(client *queue.Client) error {
			if name == "" {
				return each(a, "jobs", ids, func(id string) (string, error) {
					done, err := j.one(c.Context(), client, id)
					return done, gone(id, err)
				})
			}
			q, err := existing(c.Context(), client, name)
			if err != nil {
				return err
			}
			return changeAll(a, c, q, bulk{
				do: j.do, done: j.done, state: queue.State(state.Word), filter: filter.get(), yes: yes,
				change: func(ctx context.Context, state queue.State, filter queue.Filter) (int, error) {
					return j.all(q, ctx, state, filter)
				},
			})
		})
	})
	return c
}

// check refuses ids together with a queue, and flags of the other form.
func (j *jobChange) check(c *cobra.Command, ids []string, name, state string) error {
	if (name == "") == (len(ids) == 0) {
		return cli.WrongUsage("give IDs of jobs, or --queue QUEUE to change all that match")
	}
	if name == "" {
		for _, flag := range []string{"state", "kind", "older-than", "newer-than", "error", "yes"} {
			if c.Flags().Changed(flag) {
				return cli.WrongUsage("--%s goes with --queue", flag)
			}
		}
	}
	if name != "" && state == "" {
		return cli.WrongUsage("--state is missing: %s which jobs of queue %s?", j.do, name)
	}
	return nil
}
