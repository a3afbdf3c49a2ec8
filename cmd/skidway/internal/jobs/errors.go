package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/workers/stats"
)

// Errors returns the command "errors".
func Errors(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "errors",
		Short: "Lists and shows the errors of jobs in groups",
		Long: `Attempts that failed are grouped by the kind of the job and the shape of the
error: its first line, in which numbers, ids, addresses and quoted text are
replaced. Workers report the groups every 10 seconds, or more slowly where there
are many workers. Redis keeps the latest 1,000 groups of a queue, for 31 days
after they were last seen.`,
		Example: `  skidway errors list mail
  skidway errors show mail 0b9f3a7c21de`,
	})
	c.AddCommand(errorsList(a), errorsShow(a))
	return c
}

func errorsList(a *cli.App) *cobra.Command {
	var filter ops.ErrorFilter
	var to timeFlag
	limit := cli.Number(50)
	c := &cobra.Command{
		Use:   "list QUEUE",
		Short: "Lists the groups of errors of a queue",
		Long: `Lists the groups of errors of a queue, the one that was seen last first: how
many attempts failed with it, how many of these jobs are dead, and when it was
last seen. A wide terminal also shows the last 48 hours, a column for four
hours.`,
		Example: `  skidway errors list mail
  skidway errors list mail --kind email.send -o json`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().StringVar(&filter.Kind, "kind", "", "only errors of jobs of this `KIND`")
	c.Flags().StringVar(&filter.Text, "text", "", "only errors that contain a `TEXT`, in upper or lower case")
	c.Flags().Var(&to, "to", "only errors first seen until then, as 2026-11-30T08:00:00Z")
	c.Flags().Var(&limit, "limit", "number of groups at most; 0: all")
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, args []string) error {
		if limit == 0 {
			limit = stats.MaxErrorGroups
		}
		filter.Until = time.Time(to)
		read := int(limit)
		if filter.Text != "" || !filter.Until.IsZero() {
			read = stats.MaxErrorGroups
		}
		groups, err := client.Errors(ctx, args[0], filter.Kind, read)
		if err != nil {
			return err
		}
		groups = slices.DeleteFunc(groups, func(g stats.ErrorGroup) bool { return !filter.Matches(g) })
		groups = groups[:min(int(limit), len(groups))]
		now, err := client.Now(ctx, args[0])
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			a.Console.Notice("no attempt of queue %s has failed lately", args[0])
		}
		view := errorsView(now)
		return cli.PrintView(a, output.Word, view, groups, map[string]any{"errors": view.Objects(groups)})
	})
}

// errorsView returns the list of groups at a time by Redis's clock.
func errorsView(now time.Time) cli.View[stats.ErrorGroup] {
	type group = stats.ErrorGroup
	return cli.View[group]{
		{Key: "id", Head: "ID", Whole: true, Value: func(g group) any { return g.ID }},
		{Key: "kind", Head: "KIND", Value: func(g group) any { return g.Kind }, Cell: func(g group) string { return cli.Cut(g.Kind, 20) }},
		{Key: "failed", Head: "FAILED", Right: true, Value: func(g group) any { return g.Failed }, Cell: func(g group) string { return shortCount(int(g.Failed)) }},
		{Key: "dead", Head: "DEAD", Right: true, Value: func(g group) any { return g.Dead }, Cell: func(g group) string { return shortCount(int(g.Dead)) }},
		{Key: "first_seen", Value: func(g group) any { return g.First }},
		{Key: "last_seen", Head: "LAST", Right: true, Value: func(g group) any { return g.Last }, Cell: func(g group) string { return ops.Age(max(now.Sub(g.Last), time.Second)) }},
		{Head: "48 HOURS", Wide: true, Cell: func(g group) string { return hours(g, 4) }},
		{Key: "job", Value: func(g group) any { return g.Job }},
		{Key: "error", Value: func(g group) any { return g.Error }},
		{Key: "hours", Only: "json", Value: func(g group) any { return g.Hours }},
		{Key: "shape", Head: "SHAPE", Fit: true, Value: func(g group) any { return g.Shape }},
	}
}

// hours returns a character for each n hours.
func hours(g stats.ErrorGroup, n int) string {
	var columns []float64
	for part := range slices.Chunk(g.Hours[:], n) {
		sum := 0.0
		for _, count := range part {
			sum += float64(count)
		}
		columns = append(columns, sum)
	}
	return sparkline(columns)
}

func errorsShow(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show QUEUE ID",
		Short: "Shows a group of errors",
		Long: `Shows a group of errors, by its id in "skidway errors list": when it was first
and last seen, the error and a job that has it, how often it was seen in each of
the last 48 hours, and the command that lists such jobs.`,
		Example: `  skidway errors show mail 0b9f3a7c21de`,
		Args:    cli.Args("QUEUE", "ID"), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, args []string) error {
		groups, err := client.Errors(ctx, args[0], "", stats.MaxErrorGroups)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(groups, func(g stats.ErrorGroup) bool { return g.ID == args[1] })
		if i < 0 {
			return fmt.Errorf("queue %s has no group of errors %s: 'skidway errors list %[1]s' lists them", args[0], args[1])
		}
		return cli.PrintFigures(a, output.Word, errorView(args[0]), groups[i], "field", "ERROR", groups[i].ID)
	})
}

// errorView returns the fields of a group.
func errorView(queue string) cli.View[stats.ErrorGroup] {
	type group = stats.ErrorGroup
	return cli.View[group]{
		{Key: "id", Value: func(g group) any { return g.ID }},
		{Key: "kind", Head: "kind", Value: func(g group) any { return g.Kind }},
		{Key: "shape", Head: "shape", Value: func(g group) any { return g.Shape }},
		{Key: "failed", Head: "failed", Value: func(g group) any { return g.Failed }},
		{Key: "dead", Head: "dead", Value: func(g group) any { return g.Dead }},
		{Key: "first_seen", Head: "first seen", Value: func(g group) any { return g.First }, Cell: func(g group) string { return cli.LocalTime(g.First) }},
		{Key: "last_seen", Head: "last seen", Value: func(g group) any { return g.Last }, Cell: func(g group) string { return cli.LocalTime(g.Last) }},
		{Key: "job", Head: "job", Value: func(g group) any { return g.Job }},
		{Key: "error", Head: "its error", Value: func(g group) any { return g.Error }},
		{Key: "hours", Head: "48 hours", Value: func(g group) any { return g.Hours }, Cell: func(g group) string { return hours(g, 1) }},
		{Key: "match", Head: "to list", Value: func(g group) any { return ops.GroupMatch(g) }, Cell: func(g group) string {
			return "skidway jobs list " + queue + " --match '" + strings.ReplaceAll(ops.GroupMatch(g), "'", `'\''`) + "'"
		}},
	}
}
