package jobs

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/queue"
)

// limitFlags are the flags with the limits of one sort of jobs that have ended.
type limitFlags struct {
	name string
	jobs cli.Number
	size cli.Size
	age  cli.Span
}

func (f *limitFlags) add(c *cobra.Command, noun string) {
	c.Flags().Var(&f.jobs, f.name+"-jobs", "number of "+noun+" to keep; 0: the default")
	c.Flags().Var(&f.size, f.name+"-bytes", "size in Redis of the "+noun+" to keep")
	c.Flags().Var(&f.age, f.name+"-age", "time to keep "+noun+", such as 720h")
}

// edit returns limits with those of the flags that are given.
func (f *limitFlags) edit(c *cobra.Command, limit queue.RetentionLimit) queue.RetentionLimit {
	if c.Flags().Changed(f.name + "-jobs") {
		limit.Jobs = int(f.jobs)
	}
	if f.size > 0 {
		limit.Bytes = int64(f.size)
	}
	if f.age > 0 {
		limit.Age = time.Duration(f.age)
	}
	return limit
}

func queuesRetention(a *cli.App) *cobra.Command {
	dead, results := limitFlags{name: "dead"}, limitFlags{name: "results"}
	var defaults, yes bool
	c := &cobra.Command{
		Use:   "retention QUEUE",
		Short: "Shows or sets what a queue keeps of jobs that have ended",
		Long: `Shows how many dead jobs and results of finished jobs a queue keeps, by their
number, size and age, or sets it for all its workers. Limits that are not given
stay as they are; --defaults sets them to their defaults: 100,000 jobs, 256 MiB,
90 days for dead jobs, and for results the time of 'skidway enqueue --retain',
without which a job has none.

Jobs beyond any limit are deleted, the oldest first. So it asks for
confirmation; without a terminal, --yes is needed. A worker whose configuration
has a retention for the queue sets that again when it starts.`,
		Example: `  skidway queues retention mail
  skidway queues retention mail --dead-jobs 1000 --dead-age 720h
  skidway queues retention mail --results-bytes 20MiB --yes
  skidway queues retention mail --defaults`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	dead.add(c, "dead jobs")
	results.add(c, "results")
	c.Flags().BoolVar(&defaults, "defaults", false, "set the limits that are not given to their defaults")
	cli.YesFlag(c, &yes)
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		ctx, change := c.Context(), false
		for _, name := range []string{"defaults", "dead-jobs", "dead-bytes", "dead-age", "results-jobs", "results-bytes", "results-age"} {
			change = change || c.Flags().Changed(name)
		}
		if !change {
			ctx = cli.NotAudited(ctx)
		}
		return withService(ctx, a, func(s service) error {
			kept, err := s.Retention(ctx, args[0])
			if err != nil || !change {
				return printRetention(a, output.Word, kept, err)
			}
			if defaults {
				kept.Dead, kept.Results = queue.RetentionLimit{}, queue.RetentionLimit{}
			}
			kept.Dead, kept.Results = dead.edit(c, kept.Dead), results.edit(c, kept.Results)
			if !yes {
				if err := a.Confirm(c, fmt.Sprintf("Set the limits of queue %s, and delete its jobs beyond them?", args[0])); err != nil {
					return err
				}
			}
			if err := cli.BeginChange(ctx, 0); err != nil {
				return err
			}
			return printRetention(a, output.Word, kept, s.SetRetention(ctx, args[0], kept))
		})
	})
	return c
}

// A keptLimit is the limits of one sort of jobs that have ended.
type keptLimit struct {
	name string
	queue.RetentionLimit
}

var retentionView = cli.View[keptLimit]{
	{Key: "kept", Head: "KEPT", Value: func(k keptLimit) any { return k.name }},
	{Key: "jobs", Head: "JOBS", Right: true, Value: func(k keptLimit) any { return unlessDefault(k.Jobs) }, Omit: true, Cell: func(k keptLimit) string {
		return orDefault(k.Jobs == 0, strconv.Itoa(k.Jobs))
	}},
	{Key: "bytes", Head: "SIZE", Right: true, Value: func(k keptLimit) any { return unlessDefault(k.Bytes) }, Omit: true, Cell: func(k keptLimit) string {
		return orDefault(k.Bytes == 0, humanize.IBytes(uint64(k.Bytes)))
	}},
	{Key: "age_seconds", Head: "AGE", Right: true, Value: func(k keptLimit) any { return unlessDefault(k.Age.Seconds()) }, Omit: true, Cell: func(k keptLimit) string {
		return orDefault(k.Age == 0, ops.Age(k.Age))
	}},
}

// unlessDefault returns a limit, nil for 0, which means the default.
func unlessDefault[T int | int64 | float64](limit T) any {
	if limit == 0 {
		return nil
	}
	return limit
}

func orDefault(isDefault bool, text string) string {
	if isDefault {
		return "default"
	}
	return text
}

// printRetention prints the limits of a queue, unless there is an error.
func printRetention(a *cli.App, format string, kept queue.Retention, err error) error {
	if err != nil {
		return err
	}
	return cli.PrintView(a, format, retentionView, []keptLimit{{"dead", kept.Dead}, {"results", kept.Results}}, nil)
}
