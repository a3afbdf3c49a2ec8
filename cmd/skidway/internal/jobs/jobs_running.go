package jobs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
)

func jobsRunning(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "running [QUEUE]",
		Short: "Lists the jobs whose handlers run now",
		Long: `Lists the jobs whose handlers run now, of one queue or of all, longest first.
"skidway jobs list --state active" also lists jobs that workers have fetched and
not yet started. Workers report what they run only after this command has asked
them, at most 100 jobs each of a queue; it waits up to two seconds for them.`,
		Example: `  skidway jobs running
  skidway jobs running mail -o json`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(a, c)
	return runService(a, c, func(ctx context.Context, client service, args []string) error {
		running, err := client.Running(ctx, firstOf(args))
		if err != nil {
			return err
		}
		switch {
		case len(running.Silent) > 0:
			a.Console.Notice("workers that hold jobs and have not reported: %s", ops.JoinNames(running.Silent, 5))
		case len(running.Jobs) == 0:
			a.Console.Notice("no handler runs")
		}
		if running.More > 0 {
			a.Console.Notice("%s more run", ops.Plural(running.More, "job"))
		}
		return cli.PrintView(a, output.Word, runningView, running.Jobs, map[string]any{
			"jobs": runningView.Objects(running.Jobs), "more": running.More, "silent_workers": append([]string{}, running.Silent...),
		})
	})
}

var runningView = cli.View[ops.RunningJob]{
	{Key: "id", Head: "ID", Whole: true, Value: func(j ops.RunningJob) any { return j.ID }},
	{Key: "queue", Value: func(j ops.RunningJob) any { return j.Queue }},
	{Key: "kind", Head: "KIND", Value: func(j ops.RunningJob) any { return j.Kind }, Cell: func(j ops.RunningJob) string { return cli.Cut(j.Kind, 20) }},
	{Key: "seconds", Head: "FOR", Right: true, Value: func(j ops.RunningJob) any { return j.For.Seconds() }, Cell: func(j ops.RunningJob) string { return ops.Age(max(j.For, time.Millisecond)) }},
	{Key: "attempt", Head: "ATTEMPT", Right: true, Value: func(j ops.RunningJob) any { return j.Attempt }},
	{Key: "worker", Head: "WORKER", Fit: true, Value: func(j ops.RunningJob) any { return j.Pool }},
}
