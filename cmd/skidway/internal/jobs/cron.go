package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/delayed"
	"skidway/ops"
	"skidway/queue"
)

// Cron returns the command "cron".
func Cron(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "cron",
		Short: "Manages schedules, which add jobs by the clock",
		Long: `A schedule adds a job to a queue at each time of a cron expression.

The workers of the queue fire its schedules, each time once, however many
workers there are. While no worker of the queue runs, nothing fires; --catch-up
decides about the times that were missed.

An expression has five fields: minute, hour, day of the month, month, day of the
week; or six, with seconds first; or it is @hourly, @daily, @weekly, @monthly,
@yearly, or "@every 90s".`,
		Example: `  skidway cron add nightly "30 2 * * *" reports logs.report \
      '{"channel":"web","subscriber":"countries"}'
  skidway cron list`,
	})
	c.AddCommand(cronList(a), cronAdd(a), cronPause(a), cronResume(a), cronRemove(a), cronRun(a))
	return c
}

func cronAdd(a *cli.App) *cobra.Command {
	var options jobFlags
	var location cli.Zone
	catchUp := cli.Choice{Word: string(queue.CatchUpNone), Words: []string{"none", "last", "all"}}
	c := &cobra.Command{
		Use:   "add NAME EXPR QUEUE KIND [ARGS|-]",
		Short: "Adds or changes a schedule",
		Long: `Adds a schedule, or changes the one with this name in the queue. ARGS is JSON
(default {}), or - to read it from standard input.

When clocks go forward, a time that does not exist fires right after the change.
When clocks go back, a schedule with a fixed hour fires once, and a schedule of
every hour or minute fires in both hours.

--catch-up decides about times that passed while no worker of the queue ran, or
while Redis was away for half a minute or longer: fire none of them, the last
one, or all.`,
		Example: `  skidway cron add nightly "30 2 * * *" reports logs.report \
      '{"channel":"web","subscriber":"countries"}' --tz Europe/Berlin
  skidway cron add beat "@every 30s" default http.request \
      '{"url":"https://example.com/beat"}' --catch-up last`,
		Args: cobra.RangeArgs(4, 5),
	}
	options.add(c)
	for _, flag := range []string{"in", "at"} {
		_ = c.Flags().MarkHidden(flag) // the library refuses them, by name
	}
	c.Flags().Var(&location, "tz", "time zone of the expression (default UTC)")
	c.Flags().Var(&catchUp, "catch-up", "which missed times fire later")
	cli.Complete(c, "catch-up", catchUp.Words...)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		jobOptions, err := options.get()
		if err != nil {
			return err
		}
		if args[2] == "" {
			return cli.WrongUsage("missing QUEUE")
		}
		insert, err := insertOf(c, args[3:], jobOptions)
		if err != nil {
			return err
		}
		text, err := queue.MarshalArgs(insert.Args)
		if err != nil {
			return err
		}
		s := queue.CronSchedule{
			Name: args[0], Expr: args[1], Zone: location.String(), Queue: args[2], Kind: args[3], Args: text,
			Options: jobOptions, CatchUp: queue.CatchUp(catchUp.Word),
		}
		return cli.With(c.Context(), a, openQueues, func(client *queue.Client) error { return addSchedule(c.Context(), a, client, s) })
	})
	return c
}

func addSchedule(ctx context.Context, a *cli.App, client *queue.Client, s queue.CronSchedule) error {
	changed, err := delayed.AddSchedule(ctx, client, s)
	if err != nil {
		return err
	}
	if !changed {
		a.Console.Notice("the schedule exists already, with the same values")
	}
	next, err := delayed.Next(s.Expr, s.Zone, time.Now(), 3)
	if err != nil {
		return err
	}
	texts := make([]string, len(next))
	for i, at := range next {
		texts[i] = at.Format(time.RFC3339)
	}
	a.Console.Notice("next: %s", strings.Join(texts, ", "))
	warnUnserved(ctx, a, client, s.Queue, "the schedule fires only while one does", s.Kind)
	return nil
}

// queueFlag adds the flag with the queue of a schedule.
func queueFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "queue", "", "`NAME` of the queue (default: all queues)")
}

func cronRemove(a *cli.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "remove NAME",
		Short: "Removes a schedule",
		Long: `Removes a schedule. The jobs that it has added stay.

A worker adds the schedules of its configuration when it starts and when it
reads the configuration again. So remove such a schedule from the configuration
first, and then from Redis with this command.`,
		Example: "  skidway cron remove nightly",
		Args:    cli.Args("NAME"),
	}, func(ctx context.Context, q *queue.PoolQueue, name string) error {
		return noticed(a, "removed", q, name, q.RemoveSchedule(ctx, name, ""))
	})
}

func cronRun(a *cli.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "run NAME",
		Short: "Fires a schedule now",
		Long: `Adds the job of a schedule now, and prints the id of the job. The times at which
the schedule fires do not change.`,
		Example: "  skidway cron run nightly",
		Args:    cli.Args("NAME"),
	}, func(ctx context.Context, q *queue.PoolQueue, name string) error {
		id, err := q.RunSchedule(ctx, name, "")
		if err != nil {
			return err
		}
		return a.PrintLine(id)
	})
}

func cronPause(a *cli.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "pause NAME",
		Short: "Makes a schedule add no jobs",
		Long: `Makes a schedule add no jobs until it is resumed. The jobs that it has added
run, and 'skidway cron run' adds its job in spite of the pause. A schedule that
is added again, by a command or by the configuration of a worker, stays paused.`,
		Example: "  skidway cron pause nightly",
		Args:    cli.Args("NAME"),
	}, func(ctx context.Context, q *queue.PoolQueue, name string) error {
		return noticed(a, "paused", q, name, delayed.PauseSchedule(ctx, q, name, ""))
	})
}

func cronResume(a *cli.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "resume NAME",
		Short: "Makes a paused schedule add jobs again",
		Long: `Makes a paused schedule add jobs again, from its next time on. The times that
passed during the pause are skipped, whatever --catch-up says.`,
		Example: "  skidway cron resume nightly",
		Args:    cli.Args("NAME"),
	}, func(ctx context.Context, q *queue.PoolQueue, name string) error {
		return noticed(a, "resumed", q, name, delayed.ResumeSchedule(ctx, q, name, ""))
	})
}

// noticed tells what was done with a schedule, unless it failed.
func noticed(a *cli.App, done string, q *queue.PoolQueue, name string, err error) error {
	if err == nil {
		a.Console.Notice("%s schedule %s of queue %s", done, name, q.Name())
	}
	return err
}

// onSchedule completes a command that changes the schedule in its first argument, and
// adds the flag with its queue. Without that flag it looks for the schedule in all
// queues.
func onSchedule(a *cli.App, c *cobra.Command, do func(ctx context.Context, q *queue.PoolQueue, name string) error) *cobra.Command {
	var in string
	queueFlag(c, &in)
	return cli.Run(a, c, openQueues, func(ctx context.Context, client *queue.Client, args []string) error {
		name := args[0]
		run := func(queue string) error {
			q, err := client.ForPool(queue)
			if err != nil {
				return err
			}
			return do(ctx, q, name)
		}
		if in != "" {
			return run(in)
		}
		infos, _, err := schedules(ctx, a, client, "")
		if err != nil {
			return err
		}
		var found []string
		for _, info := range infos {
			if info.Name == name {
				found = append(found, info.Queue)
			}
		}
		switch len(found) {
		case 0:
			return fmt.Errorf("schedule %s: %w: 'skidway cron list' lists them", name, queue.ErrNoSchedule)
		case 1:
			return run(found[0])
		}
		return cli.WrongUsage("schedule %s is in the queues %s: choose one with --queue", name, strings.Join(found, ", "))
	})
}

// schedules returns those of a queue; an empty name means all queues. Of all queues,
// it reports those that cannot be read and returns their number and the schedules of the others.
func schedules(ctx context.Context, a *cli.App, client *queue.Client, in string) (infos []queue.CronScheduleInfo, failed int, err error) {
	if in != "" {
		infos, err = delayed.Schedules(ctx, client, in)
		return infos, 0, err
	}
	names, err := client.Queues(ctx)
	if err != nil {
		return nil, 0, err
	}
	reader, err := ops.NewClient(client, nil)
	if err != nil {
		return nil, 0, err
	}
	report, err := reader.Schedules(ctx, names)
	if err != nil {
		return nil, 0, err
	}
	for _, problem := range report.Unreadable {
		a.Console.Problem("", problem) // it has the name
	}
	for _, s := range report.Schedules {
		infos = append(infos, s.CronScheduleInfo)
	}
	slices.SortFunc(infos, func(a, b queue.CronScheduleInfo) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Name, b.Name))
	})
	return infos, len(report.Unreadable), nil
}

func cronList(a *cli.App) *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists schedules with their last and next times",
		Long: `Lists schedules: when each fires next, when it fired last, and the job that it
added then. JSON has the last ten times.`,
		Example: `  skidway cron list
  skidway cron list --queue reports -o json`,
		Args: cobra.NoArgs,
	}
	queueFlag(c, &in)
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openQueues, func(ctx context.Context, client *queue.Client, _ []string) error {
		infos, failed, err := schedules(ctx, a, client, in)
		if err != nil {
			return err
		}
		err = errors.Join(cli.PrintView(a, output.Word, scheduleView, infos, nil), unreadable(infos))
		for i, s := range infos {
			if !slices.ContainsFunc(infos[:i], func(other queue.CronScheduleInfo) bool { return other.Queue == s.Queue }) {
				warnUnserved(ctx, a, client, s.Queue, "its schedules fire only while one does")
			}
		}
		if failed > 0 {
			err = errors.Join(err, fmt.Errorf("the schedules of %s can't be read, the others are listed", ops.Plural(failed, "queue")))
		}
		return err
	})
}

// unreadable returns the errors of schedules that never fire.
func unreadable(schedules []queue.CronScheduleInfo) error {
	var errs []error
	for _, s := range schedules {
		if s.Err != nil {
			errs = append(errs, fmt.Errorf("schedule %s of queue %s can't be read and never fires: %w: add it again", s.Name, s.Queue, s.Err))
		}
	}
	return errors.Join(errs...)
}

var scheduleView = cli.View[queue.CronScheduleInfo]{
	{Key: "name", Head: "NAME", Value: func(s queue.CronScheduleInfo) any { return s.Name }, Cell: func(s queue.CronScheduleInfo) string { return cli.Cut(s.Name, 16) }},
	{Key: "queue", Head: "QUEUE", Value: func(s queue.CronScheduleInfo) any { return s.Queue }, Cell: func(s queue.CronScheduleInfo) string { return cli.Cut(s.Queue, 10) }},
	{Key: "expression", Head: "WHEN", Value: func(s queue.CronScheduleInfo) any { return s.Expr }, Cell: whenText},
	{Key: "zone", Value: func(s queue.CronScheduleInfo) any { return s.Zone }},
	{Key: "kind", Value: func(s queue.CronScheduleInfo) any { return s.Kind }},
	{Key: "args", Value: func(s queue.CronScheduleInfo) any { return opaque(s.Args) }, Only: "json"},
	{Key: "catch_up", Value: func(s queue.CronScheduleInfo) any { return s.CatchUp }},
	{Key: "revision", Value: func(s queue.CronScheduleInfo) any { return s.Revision }, Only: "json", Omit: true},
	{Key: "next", Head: "NEXT", Value: func(s queue.CronScheduleInfo) any { return cli.Stamp(s.Next) }, Cell: nextText},
	{Key: "paused", Value: func(s queue.CronScheduleInfo) any { return s.Paused }, Only: "json", Omit: true},
	{Key: "last", Head: "LAST", Value: func(s queue.CronScheduleInfo) any { return lastFiring(s).Due }, Cell: func(s queue.CronScheduleInfo) string { return shortTime(lastFiring(s).Due) }, Only: "csv"},
	{Key: "job", Head: "JOB", Wide: true, Value: func(s queue.CronScheduleInfo) any { return lastFiring(s).JobID }, Cell: firedJob, Only: "csv"},
	{Key: "last", Value: func(s queue.CronScheduleInfo) any { return firingView.Objects(s.Last) }, Only: "json"},
	{Key: "error", Value: func(s queue.CronScheduleInfo) any { return cli.ErrorText(s.Err) }, Only: "json", Omit: true},
}

// nextText returns when a schedule fires next.
func nextText(s queue.CronScheduleInfo) string {
	if s.Paused {
		return "paused"
	}
	return shortTime(s.Next)
}

// lastFiring returns the last time that a schedule fired; zero if it never did.
func lastFiring(s queue.CronScheduleInfo) (last queue.Firing) {
	if len(s.Last) > 0 {
		last = s.Last[0]
	}
	return last
}

func shortTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format("01-02 15:04:05")
}

func whenText(s queue.CronScheduleInfo) string {
	when := s.Expr
	if s.Zone != "" && s.Zone != "UTC" {
		when += " " + s.Zone
	}
	return cli.Cut(when, 24)
}

func firedJob(s queue.CronScheduleInfo) string {
	last := lastFiring(s)
	if len(s.Last) > 0 && last.JobID == "" {
		return cli.Printable("none: " + last.HeldBy)
	}
	return cli.Printable(last.JobID)
}

var firingView = cli.View[queue.Firing]{
	{Key: "due", Value: func(f queue.Firing) any { return cli.Stamp(f.Due) }},
	{Key: "fired", Value: func(f queue.Firing) any { return cli.Stamp(f.Fired) }},
	{Key: "job", Value: func(f queue.Firing) any { return f.JobID }, Omit: true},
	{Key: "held_by", Value: func(f queue.Firing) any { return f.HeldBy }, Omit: true},
	{Key: "manual", Value: func(f queue.Firing) any { return f.Manual }, Omit: true},
}
