package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func queuesPause(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause QUEUE...",
		Short: "Lets no worker take another job of a queue",
		Long: `Lets no worker take another job of a queue until it is resumed. Jobs that run go
on; jobs can still be added, and delayed ones become due.`,
		Example: "  skidway queues pause mail",
		Args:    cli.OneOrMore("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.RunE = cli.Action(func(c *cobra.Command, names []string) error {
		return eachQueue(c.Context(), a, names, func(ctx context.Context, q *queue.Queue) (string, error) {
			if err := q.Pause(ctx); err != nil {
				return "", err
			}
			depth, err := q.Depth(ctx)
			return fmt.Sprintf("paused, with %s still running", jobCount(depth.Active.Total())), err
		})
	})
	return c
}

func queuesResume(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "resume QUEUE...",
		Short:   "Lets workers take jobs of a paused queue again",
		Long:    "Lets workers take jobs of a paused queue again, at once.",
		Example: "  skidway queues resume mail",
		Args:    cli.OneOrMore("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.RunE = cli.Action(func(c *cobra.Command, names []string) error {
		return eachQueue(c.Context(), a, names, func(ctx context.Context, q *queue.Queue) (string, error) {
			if err := q.Resume(ctx); err != nil {
				return "", err
			}
			depth, err := q.Depth(ctx)
			return fmt.Sprintf("resumed, with %s waiting", jobCount(depth.Waiting.Total())), err
		})
	})
	return c
}

// eachQueue does something to queues and prints what was done; one that fails
// keeps none of the others from it.
func eachQueue(ctx context.Context, a *cli.App, names []string, do func(context.Context, *queue.Queue) (string, error)) error {
	return withQueues(ctx, a, func(client *queue.Client) error {
		return each(a, "queues", names, func(name string) (string, error) {
			q, err := existing(ctx, client, name)
			if err != nil {
				return "", err
			}
			return do(ctx, q)
		})
	})
}

// each does something for each name and prints a line for it. With one name its
// error is all there is to say.
func each(a *cli.App, what string, names []string, do func(name string) (string, error)) error {
	failed := 0
	for _, name := range names {
		done, err := do(name)
		if err == nil {
			err = a.PrintLine(cli.Printable(name + " " + done))
		}
		if len(names) == 1 || err != nil && cli.Unreachable(err) {
			return err
		}
		if err != nil {
			failed++
			a.Console.Problem("", err) // which names it
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d %s failed, the others are done", failed, len(names), what)
	}
	return nil
}

func queuesPurge(a *cli.App) *cobra.Command {
	var yes bool
	state := &cli.Choice{Word: "waiting", Words: []string{"waiting", "delayed", "dead", "finished"}}
	c := &cobra.Command{
		Use:   "purge QUEUE",
		Short: "Deletes all jobs of a queue that are in one state",
		Long: `Deletes all jobs of a queue that are in one state, by default those that wait,
and prints how many they were. It asks first, on a terminal; anywhere else it
wants --yes. Jobs that run are not touched: 'skidway jobs cancel' ends those.`,
		Example: `  skidway queues purge mail
  skidway queues purge mail --state dead --yes`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(state, "state", "which jobs to delete")
	cli.Complete(c, "state", state.Words...)
	cli.YesFlag(c, &yes)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withQueues(c.Context(), a, func(client *queue.Client) error {
			q, err := existing(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			return changeAll(a, c, q, bulk{
				do: "delete", done: "deleted", state: queue.State(state.Word), yes: yes,
				change: q.DeleteAll,
			})
		})
	})
	return c
}

// A bulk is a change of many jobs at once.
type bulk struct {
	do, done string // "delete", "deleted"
	state    queue.State
	filter   queue.Filter
	yes      bool
	change   func(context.Context, queue.State, queue.Filter) (int, error)
}

// changeAll counts the jobs, asks, changes them and prints how many it changed.
func changeAll(a *cli.App, c *cobra.Command, q *queue.Queue, b bulk) error {
	count, err := q.CountAll(c.Context(), b.state, b.filter)
	if err != nil {
		return err
	}
	which := fmt.Sprintf("%s of queue %s", stateCount(count, b.state), q.Name())
	if b.filter != (queue.Filter{}) {
		which += " that match"
	}
	if count > 0 && !b.yes {
		if err := a.Confirm(c, fmt.Sprintf("%s %s?", strings.ToUpper(b.do[:1])+b.do[1:], which)); err != nil {
			return err
		}
	}
	changed := 0
	if count > 0 {
		if changed, err = b.change(c.Context(), b.state, b.filter); err != nil {
			return fmt.Errorf("%s were %s before this: %w", jobCount(changed), b.done, err)
		}
	}
	if changed < count {
		a.Console.Notice("%d fewer than there were: they have moved on meanwhile, or their unique key is held by another job, or they are too damaged to run", count-changed)
	}
	return a.Write(func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "%s %s\n", stateCount(changed, b.state), b.done)
		return err
	})
}

func jobCount(n int) string {
	if n == 1 {
		return "1 job"
	}
	return humanize.Comma(int64(n)) + " jobs"
}

func stateCount(n int, state queue.State) string {
	if n == 1 {
		return "1 " + string(state) + " job"
	}
	return humanize.Comma(int64(n)) + " " + string(state) + " jobs"
}
