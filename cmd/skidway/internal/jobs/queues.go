package jobs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/queue"
)

// Queues returns the command "queues".
func Queues(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "queues",
		Short: "Lists, shows, pauses, resumes, purges and deletes queues",
		Long: `A queue holds jobs of three priorities. It is created by its first job. These
commands show the state of queues, pause and resume them, and delete jobs.`,
		Example: `  skidway queues list
  skidway queues show mail
  skidway queues pause mail`,
	})
	c.AddCommand(queuesList(a), queuesShow(a), queuesWatch(a), queuesStats(a), queuesPause(a), queuesResume(a), queuesRetention(a), queuesPurge(a), queuesDelete(a))
	return c
}

// openQueues returns a client of the queues in a Redis.
func openQueues(db *skidway.DB) (*queue.Client, error) { return queue.NewClient(db, nil) }

// openOps returns a client that answers for the queues and workers in a Redis.
func openOps(db *skidway.DB) (*ops.Client, error) {
	client, err := openQueues(db)
	if err != nil {
		return nil, err
	}
	return ops.NewClient(client, nil)
}

// firstOf returns the first argument, "" if there is none.
func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// completeQueues offers the names of queues in the shell.
func completeQueues(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		err := withService(c.Context(), a, func(s service) (err error) {
			names, err = s.Queues(c.Context())
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func queuesPause(a *cli.App) *cobra.Command {
	note := ""
	c := &cobra.Command{
		Use:   "pause QUEUE...",
		Short: "Pauses queues",
		Long: `Pauses queues: workers take no more of their jobs until they are resumed.
Running jobs go on, jobs can still be added, and delayed jobs still become due.`,
		Example: "  skidway queues pause mail --note 'the mail server moves'",
		Args:    cli.OneOrMore("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().StringVar(&note, "note", "", "note for others, a `TEXT` of up to 256 bytes")
	return eachQueue(a, c, func(ctx context.Context, s service, name string) (string, error) {
		depth, err := s.Pause(ctx, name, note)
		return fmt.Sprintf("paused, with %s still running", jobCount(depth.Active)), err
	})
}

func queuesResume(a *cli.App) *cobra.Command {
	return eachQueue(a, &cobra.Command{
		Use:     "resume QUEUE...",
		Short:   "Resumes paused queues",
		Long:    "Resumes paused queues: workers take their jobs again, at once.",
		Example: "  skidway queues resume mail",
		Args:    cli.OneOrMore("QUEUE"), ValidArgsFunction: completeQueues(a),
	}, func(ctx context.Context, s service, name string) (string, error) {
		depth, err := s.Resume(ctx, name)
		return fmt.Sprintf("resumed, with %s waiting", jobCount(depth.Waiting)), err
	})
}

// eachQueue completes a command that changes the queues in its arguments and prints
// what was done to each. If one fails the others are changed still.
func eachQueue(a *cli.App, c *cobra.Command, change func(ctx context.Context, s service, name string) (string, error)) *cobra.Command {
	return runService(a, c, func(ctx context.Context, s service, names []string) error {
		return each(a, "queues", names, func(name string) (string, error) { return change(ctx, s, name) })
	})
}

// each calls change for each name and prints a line with what it returns. The error
// of a single name is returned as it is.
func each(a *cli.App, nouns string, names []string, change func(name string) (string, error)) error {
	e := eacher{App: a, total: len(names)}
	if err := e.change(names, change); err != nil {
		return err
	}
	return e.outcome(nouns)
}

// An eacher changes what has names, one after the other.
type eacher struct {
	*cli.App
	total, failed int
	unprinted     error // of standard output
}

func (e *eacher) change(names []string, change func(name string) (string, error)) error {
	for _, name := range names {
		done, err := change(name)
		switch {
		case err == nil:
			e.unprinted = cmp.Or(e.unprinted, e.PrintLine(cli.Printable(name+" "+done)))
		case e.total == 1 || cli.Unreachable(err):
			return err
		default:
			e.failed++
			e.Console.Problem("", err) // the error has the name
		}
	}
	return nil
}

func (e *eacher) outcome(nouns string) error {
	if e.failed > 0 {
		return fmt.Errorf("%d of %d %s failed, the others are done", e.failed, e.total, nouns)
	}
	return e.unprinted
}

// eachJob is [each] for the ids of jobs, one queue after the other, with entries of the audit for each.
func eachJob(ctx context.Context, a *cli.App, ids []string, change func(id string) (string, error)) error {
	e := eacher{App: a, total: len(ids)}
	for _, ids := range byQueue(ids) {
		err := cli.AuditJobs(ctx, ids, func() (changed int, err error) {
			before := e.failed
			if err := e.change(ids, change); err != nil {
				return -1, err
			}
			return len(ids) - (e.failed - before), nil
		})
		if err != nil {
			return err
		}
	}
	return e.outcome("jobs")
}

func queuesPurge(a *cli.App) *cobra.Command {
	o := operator{App: a, done: "deleted"}
	state := &cli.Choice{Word: "waiting", Words: []string{"waiting", "delayed", "dead", "finished"}}
	c := &cobra.Command{
		Use:   "purge QUEUE",
		Short: "Deletes all jobs of a queue in one state",
		Long: `Deletes all jobs of a queue in one state (default: waiting) and prints their
number. It asks for confirmation; without a terminal, --yes is needed. Running
jobs are not deleted: 'skidway jobs cancel' ends them. Jobs that are added later
stay. It is an operation: 'skidway operations' lists, stops and continues it.`,
		Example: `  skidway queues purge mail
  skidway queues purge mail --state dead --yes`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(state, "state", "state of the jobs to delete")
	cli.Complete(c, "state", state.Words...)
	o.addFlags(c)
	return runService(a, c, func(_ context.Context, s service, args []string) error {
		return o.change(c, s, ops.Change{Queue: args[0], Do: "delete", State: queue.State(state.Word)})
	})
}

func queuesDelete(a *cli.App) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "delete QUEUE",
		Short: "Deletes a queue that has no jobs",
		Long: `Deletes a queue with its settings, counters and unique keys, and removes it
from the list of queues. It asks for confirmation; without a terminal, --yes is
needed.

A queue is not deleted while it has jobs ('skidway queues purge' deletes them),
schedules ('skidway cron remove') or living workers, nor within three minutes
after a client or worker has used it. Its next job creates it again.

Workers delete queues by themselves that were not used for a week and have no
jobs, schedules, settings and unique keys.`,
		Example: `  skidway queues delete mail
  skidway queues delete mail --yes`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	cli.YesFlag(c, &yes)
	return runService(a, c, func(ctx context.Context, s service, args []string) error {
		if _, err := s.Now(ctx, args[0]); err != nil {
			return err
		}
		if !yes {
			if err := a.Confirm(c, fmt.Sprintf("Delete queue %s with its settings and counters?", args[0])); err != nil {
				return err
			}
		}
		if err := cli.BeginChange(ctx, 0); err != nil {
			return err
		}
		if err := s.DeleteQueue(ctx, args[0]); err != nil {
			return err
		}
		return a.PrintLine(args[0] + " deleted")
	})
}

func jobCount(n int) string { return ops.Plural(n, "job") }
