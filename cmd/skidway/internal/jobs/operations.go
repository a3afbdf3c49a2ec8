package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/queue"
)

// Operations returns the command "operations".
func Operations(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "operations",
		Short: "Lists, shows, stops and continues changes of many jobs",
		Long: `An operation is a change of many jobs of a queue: a retry, a deletion, a
cancellation or a change of priority, begun by 'skidway jobs' with --queue,
--rate or more than 100 IDs, or by 'skidway queues purge'. It runs in the
process that began it, in small steps, one operation a queue at a time. Its
progress is in Redis: when that process ends early, the operation is
interrupted, and any other one can continue it.`,
		Example: `  skidway operations list
  skidway operations stop mail:0:j3kq5wa7bd
  skidway operations continue mail:0:j3kq5wa7bd`,
	})
	c.AddCommand(operationsList(a), operationsShow(a), operationsStop(a), operationsContinue(a))
	return c
}

// operationView prints operations.
var operationView = func() cli.View[queue.Operation] {
	type op = queue.Operation
	return cli.View[op]{
		{Key: "id", Head: "ID", Whole: true, Value: func(o op) any { return o.ID }},
		{Key: "queue", Value: func(o op) any { return o.Queue }},
		{Key: "do", Head: "DO", Value: func(o op) any { return o.Do }},
		{Key: "state", Head: "JOBS", Value: func(o op) any { return o.State }, Cell: func(o op) string { return cmp.Or(string(o.State), "named") }},
		{Key: "priority", Value: func(o op) any { return priorityOf(o) }, Omit: true},
		{Key: "status", Head: "STATUS", Value: func(o op) any { return o.Status }},
		{Key: "changed", Head: "CHANGED", Right: true, Value: func(o op) any { return o.Changed }, Cell: func(o op) string { return humanize.Comma(int64(o.Changed)) }},
		{Key: "count", Head: "OF", Right: true, Value: func(o op) any { return o.Count }, Cell: countOf},
		{Key: "at_least", Value: func(o op) any { return o.AtLeast }},
		{Key: "left", Value: func(o op) any { return o.Left }},
		{Key: "examined", Value: func(o op) any { return o.Examined }},
		{Key: "rate", Value: func(o op) any { return o.Rate }},
		{Key: "as_of", Value: func(o op) any { return o.AsOf.UTC() }},
		{Key: "began", Head: "BEGAN", Value: func(o op) any { return o.Began.UTC() }, Cell: func(o op) string { return o.Began.Local().Format(time.DateTime) }},
		{Key: "last_step", Value: func(o op) any { return o.Last.UTC() }},
		{Key: "ended", Value: func(o op) any { return o.Ended.UTC() }, Omit: true},
		{Key: "by", Head: "BY", Value: func(o op) any { return o.By }},
		{Key: "error", Value: func(o op) any { return o.Error }, Omit: true},
		{Key: "match", Head: "MATCH", Fit: true, Value: func(o op) any { return o.Match }},
	}
}()

func priorityOf(o queue.Operation) string {
	if o.Do != "priority" {
		return ""
	}
	return o.Priority.String()
}

// countOf returns the number of jobs that an operation is to change.
func countOf(o queue.Operation) string {
	if o.AtLeast {
		return humanize.Comma(int64(o.Count)) + "+"
	}
	return humanize.Comma(int64(o.Count))
}

func operationsList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists the last 100 operations",
		Long: `Lists the last 100 operations of all queues, the latest first, with the number
of jobs changed so far and of jobs that matched when it was asked for.`,
		Example: "  skidway operations list -o json",
		Args:    cli.Args(),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, _ []string) error {
		all, err := client.Operations().List(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			a.Console.Notice("there was no operation in the last month")
		}
		return cli.PrintView(a, output.Word, operationView, all, nil)
	})
}

func operationsShow(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "show ID",
		Short:   "Shows an operation",
		Long:    "Shows an operation: what it changes, how far it is, and why it ended.",
		Example: "  skidway operations show mail:0:j3kq5wa7bd",
		Args:    cli.Args("ID"),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, ids []string) error {
		op, err := client.Operations().Get(ctx, ids[0])
		if err != nil {
			return err
		}
		if output.Word != "" && output.Word != "table" {
			return cli.PrintView(a, output.Word, operationView, []queue.Operation{op}, operationView.Object(op))
		}
		return a.Write(func(out io.Writer) error { return writeOperation(out, op) })
	})
}

func writeOperation(out io.Writer, op queue.Operation) error {
	facts := [][2]string{{"operation", op.ID}, {"queue", op.Queue}, {"change", strings.TrimSpace(op.Do + " " + priorityOf(op))}, {"jobs", cmp.Or(string(op.State), "named")}}
	add := func(name, format string, values ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, values...)})
	}
	if op.Match != "" {
		add("match", "%s", op.Match)
	}
	add("as of", "%s", op.AsOf.Local().Format(time.DateTime))
	status := op.Status
	if status == "interrupted" {
		status = fmt.Sprintf("interrupted at %s: 'skidway operations continue %s' continues it", op.Last.Local().Format(time.DateTime), op.ID)
	} else if !op.Ended.IsZero() {
		status += " at " + op.Ended.Local().Format(time.DateTime)
	}
	add("status", "%s", status)
	if op.Error != "" {
		add("error", "%s", op.Error)
	}
	add("changed", "%s of %s", humanize.Comma(int64(op.Changed)), countOf(op))
	add("left alone", "%s", humanize.Comma(int64(op.Left)))
	add("examined", "%s", humanize.Comma(int64(op.Examined)))
	if op.Rate > 0 {
		add("rate", "%d in a second", op.Rate)
	}
	add("began", "%s, by %s", op.Began.Local().Format(time.DateTime), op.By)
	for _, fact := range facts {
		if _, err := fmt.Fprintf(out, "%-11s %s\n", fact[0], cli.Printable(fact[1])); err != nil {
			return err
		}
	}
	return nil
}

func operationsStop(a *cli.App) *cobra.Command {
	return cli.Run(a, &cobra.Command{
		Use:   "stop ID...",
		Short: "Stops operations",
		Long: `Stops operations, whichever processes run them: no more jobs are changed when
the command returns. 'skidway operations continue' continues them.`,
		Example: "  skidway operations stop mail:0:j3kq5wa7bd",
		Args:    cli.OneOrMore("ID"),
	}, openOps, func(ctx context.Context, client *ops.Client, ids []string) error {
		return each(a, "operations", ids, func(id string) (string, error) {
			op, err := client.Operations().Stop(ctx, id)
			return fmt.Sprintf("%s: %s changed", op.Status, jobCount(op.Changed)), err
		})
	})
}

func operationsContinue(a *cli.App) *cobra.Command {
	o := operator{App: a, done: "changed"}
	c := &cobra.Command{
		Use:   "continue ID",
		Short: "Continues an operation that was stopped or interrupted",
		Long: `Continues an operation from where it was, and runs it until it is done. An
operation is interrupted when its process has made no step for 15 seconds. It
does not ask again, and changes no jobs that came later.`,
		Example: "  skidway operations continue mail:0:j3kq5wa7bd",
		Args:    cli.Args("ID"),
	}
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, ids []string) error {
		op, err := client.Operations().Get(ctx, ids[0])
		if err == nil {
			err = cli.BeginChange(ctx, op.Count)
		}
		if err != nil {
			return err
		}
		run, err := client.Operations().Continue(ctx, ids[0])
		if run == nil {
			return err
		}
		return o.print(o.run(ctx, client.Operations().Stop, directRun{run}), directRun{run})
	})
}

// An operator asks for operations and runs them.
type operator struct {
	*cli.App
	done string // what the jobs are at the end: "deleted"
	yes  bool
	dry  bool // only counts them
	rate cli.Number
}

func (o *operator) addFlags(c *cobra.Command) {
	cli.YesFlag(c, &o.yes)
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print the number of jobs, and change nothing")
	c.Flags().Var(&o.rate, "rate", "number of jobs in a second at most; 0: as many as half of the time of Redis allows")
}

// change counts the jobs, asks, and changes them.
func (o *operator) change(c *cobra.Command, client service, change ops.Change) error {
	change.Rate, change.By = int(o.rate), cli.Caller()
	asked, err := client.Ask(c.Context(), change)
	if err != nil {
		return err
	}
	if asked.Count == 0 && !asked.AtLeast && !o.dry {
		return o.PrintLine(asked.String() + " " + o.done)
	}
	which := fmt.Sprintf("%s of queue %s", asked, change.Queue)
	if change.Match != "" {
		which += " that match"
	}
	if o.dry {
		return o.PrintLine(which)
	}
	if err := o.confirm(c, change, which); err != nil {
		return err
	}
	if err := cli.BeginChange(c.Context(), asked.Count); err != nil {
		return err
	}
	run, err := client.Begin(c.Context(), asked)
	if err != nil {
		return err
	}
	return o.print(o.run(c.Context(), client.StopOperation, run), run)
}

// print prints how many jobs an operation has changed, unless it ended with an error, which it returns.
func (o *operator) print(err error, run operationRun) error {
	if err != nil {
		return err
	}
	op := run.Operation()
	return o.PrintLine(ops.Plural(op.Changed, strings.TrimSpace(string(op.State)+" job")) + " " + o.done)
}

// confirm asks whether to change these jobs, unless the flag answers.
func (o *operator) confirm(c *cobra.Command, change ops.Change, which string) error {
	if o.yes {
		return nil
	}
	question := strings.ToUpper(change.Do[:1]) + change.Do[1:] + " " + which + "?"
	switch {
	case change.Do == "priority":
		question = "Give priority " + change.Priority.String() + " to " + which + "?"
	case change.Do == "retry" && change.State == queue.Delayed:
		question = "Run " + which + " now?"
	}
	return o.Confirm(c, question)
}

// run runs an operation, and shows its progress.
func (o *operator) run(ctx context.Context, stop func(context.Context, string) (queue.Operation, error), run operationRun) error {
	work, stopping, end := o.Console.Listen(ctx)
	defer end()
	id := run.Operation().ID
	defer context.AfterFunc(stopping, func() { _, _ = stop(work, id) })() // else it goes on until the second signal
	var changed atomic.Int64
	changed.Store(int64(run.Operation().Changed))
	hide := o.Console.ShowJobs(int64(run.Operation().Count), changed.Load)
	reported := time.Now()
	err := run.Run(work, func(op queue.Operation) {
		changed.Store(int64(op.Changed))
		if time.Since(reported) > progressEvery {
			reported = time.Now()
			o.Console.Progress("operation %s: %s of %s jobs", id, humanize.Comma(int64(op.Changed)), countOf(op))
		}
	})
	hide()
	op := run.Operation()
	cli.SetCount(ctx, op.Changed)
	if err == nil && op.Status == "done" {
		if op.Changed < op.Count && !op.AtLeast {
			why := "gone, in another state by now, or damaged"
			if op.Do == "retry" {
				why = "gone, in another state by now, with a unique key that another job holds, or damaged"
			}
			o.Console.Notice("not changed: %s: %s", ops.Plural(op.Count-op.Changed, "job"), why)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s before this: %w: %s", ops.Plural(op.Changed, "job"), o.done, err, run.Advice())
	}
	return fmt.Errorf("operation %s was stopped with %s %s: %s", id, jobCount(op.Changed), o.done, run.Advice())
}
