package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/ops/api"
	"skidway/workers/stats"
)

func queuesStats(a *cli.App) *cobra.Command {
	var kind string
	back := &cli.Choice{Word: string(stats.Hour), Words: []string{string(stats.Hour), string(stats.Day), string(stats.Month)}}
	c := &cobra.Command{
		Use:   "stats QUEUE",
		Short: "Shows what became of the jobs of a queue over time",
		Long: `Shows the statistics of a queue: attempts that succeeded and failed, jobs that
died, jobs that were added; the highest numbers of waiting and active jobs, and
the age of the oldest waiting job; and by kind the times in line and those of
the handlers, of which half and 95 % were shorter.

The last hour has 60 minutes, the last day 96 quarters of an hour, the last
month 186 times four hours. Each column of the lines in a table is one minute,
half an hour or half a day; a dot is zero, a space is a time without samples.

Workers write what they have counted every 10 seconds, or more slowly where
there are many. Jobs that were added before a worker first served the queue are
not counted. worker.stats in their configuration sets how much they count.`,
		Example: `  skidway queues stats mail
  skidway queues stats mail --range day --kind email.send
  skidway queues stats mail --range month -o csv`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(back, "range", "how far to look back")
	cli.Complete(c, "range", back.Words...)
	c.Flags().StringVar(&kind, "kind", "", "only attempts at jobs of this `KIND`")
	output := cli.OutputFlag(a, c)
	return runService(a, c, func(ctx context.Context, client service, args []string) error {
		statistics, err := client.Statistics(ctx, args[0], stats.Range(back.Word), kind)
		if err != nil {
			return err
		}
		view := &statsView{statistics}
		return a.Print(output.Word, view.table, view.csv, view.json)
	})
}

// A statsView prints statistics.
type statsView struct{ *api.Statistics }

// countColumns are the columns of counts. Times are in seconds.
var countColumns = cli.View[api.AttemptCounts]{
	{Key: "done", Head: "DONE", Right: true, Value: func(c api.AttemptCounts) any { return c.Done }},
	{Key: "failed", Head: "FAILED", Right: true, Value: func(c api.AttemptCounts) any { return c.Failed }},
	{Key: "dead", Head: "DEAD", Right: true, Value: func(c api.AttemptCounts) any { return c.Dead }},
	{Key: "discarded", Value: func(c api.AttemptCounts) any { return c.Discarded }},
	{Key: "cancelled", Value: func(c api.AttemptCounts) any { return c.Cancelled }},
	timeColumn("run_mean_seconds", "", func(c api.AttemptCounts) api.Duration { return c.RunMean }),
	timeColumn("run_p50_seconds", "RUN 50%", func(c api.AttemptCounts) api.Duration { return c.RunP50 }),
	timeColumn("run_p95_seconds", "95%", func(c api.AttemptCounts) api.Duration { return c.RunP95 }),
	timeColumn("wait_mean_seconds", "", func(c api.AttemptCounts) api.Duration { return c.WaitMean }),
	timeColumn("wait_p50_seconds", "WAIT 50%", func(c api.AttemptCounts) api.Duration { return c.WaitP50 }),
	timeColumn("wait_p95_seconds", "95%", func(c api.AttemptCounts) api.Duration { return c.WaitP95 }),
}

func timeColumn(key, head string, value func(api.AttemptCounts) api.Duration) cli.Column[api.AttemptCounts] {
	return cli.Column[api.AttemptCounts]{
		Key: key, Head: head, Right: true, Value: func(c api.AttemptCounts) any { return seconds(value(c)) },
		Cell: func(c api.AttemptCounts) string { return ops.Age(time.Duration(value(c)).Round(time.Millisecond)) },
	}
}

func seconds(d api.Duration) float64 { return time.Duration(d).Seconds() }

// gauge returns a column that is empty where there was no sample.
func gauge(key string, value func(api.StatsBucket) any) cli.Column[api.StatsBucket] {
	return cli.Column[api.StatsBucket]{Key: key, Value: func(b api.StatsBucket) any {
		if b.Added == nil {
			return nil
		}
		return value(b)
	}}
}

var bucketView = slices.Concat(
	cli.View[api.StatsBucket]{{Key: "time", Value: func(b api.StatsBucket) any { return b.Time }}},
	cli.Of(countColumns, func(b api.StatsBucket) api.AttemptCounts { return b.AttemptCounts }),
	cli.View[api.StatsBucket]{
		gauge("added", func(b api.StatsBucket) any { return *b.Added }),
		gauge("max_waiting", func(b api.StatsBucket) any { return *b.Waiting }),
		gauge("max_active", func(b api.StatsBucket) any { return *b.Active }),
		gauge("max_oldest_seconds", func(b api.StatsBucket) any { return seconds(*b.Oldest) }),
		gauge("delayed_jobs", func(b api.StatsBucket) any { return *b.DelayedJobs }),
		gauge("dead_jobs", func(b api.StatsBucket) any { return *b.DeadJobs }),
	},
)

var kindView = append(
	cli.View[api.KindCounts]{{Key: "kind", Head: "KIND", Value: func(k api.KindCounts) any { return k.Kind }, Cell: func(k api.KindCounts) string { return cli.Cut(k.Kind, 24) }}},
	cli.Of(countColumns, func(k api.KindCounts) api.AttemptCounts { return k.AttemptCounts })...,
)

// kinds returns the counts by kind, the kind with the most attempts first.
func (v *statsView) kinds() []api.KindCounts {
	return slices.SortedStableFunc(slices.Values(v.Kinds), func(a, b api.KindCounts) int {
		return cmp.Compare(b.Done+b.Failed, a.Done+a.Failed)
	})
}

func (v *statsView) csv(out io.Writer) error {
	return cli.WriteCSV(out, bucketView.CSV(v.Buckets))
}

func (v *statsView) json(out io.Writer) error {
	return cli.WriteJSON(out, cli.Object{
		{Key: "queue", Value: v.Queue}, {Key: "range", Value: v.Range}, {Key: "bucket_seconds", Value: seconds(v.Width)},
		{Key: "time", Value: v.AsOf}, {Key: "kinds", Value: kindView.Objects(v.kinds())}, {Key: "buckets", Value: bucketView.Objects(v.Buckets)},
	})
}

// perColumn is the number of buckets in one column of a line, so that lines fit in 80 columns.
var perColumn = map[string]int{string(stats.Hour): 1, string(stats.Day): 2, string(stats.Month): 3}

// A statsLine is a line of a table: values of all buckets, of which a negative one is not known.
type statsLine struct {
	name  string
	sum   bool // the line shows sums; else the highest values
	value func(api.StatsBucket) float64
	text  func(float64) string // nil: a number
}

// sampled returns a value of samples.
func sampled(value func(api.StatsBucket) float64) func(api.StatsBucket) float64 {
	return func(b api.StatsBucket) float64 {
		if b.Added == nil {
			return -1
		}
		return value(b)
	}
}

var statsLines = []statsLine{
	{name: "done", sum: true, value: func(b api.StatsBucket) float64 { return float64(b.Done) }},
	{name: "failed", sum: true, value: func(b api.StatsBucket) float64 { return float64(b.Failed) }},
	{name: "dead", sum: true, value: func(b api.StatsBucket) float64 { return float64(b.Dead) }},
	{name: "added", sum: true, value: sampled(func(b api.StatsBucket) float64 { return float64(*b.Added) })},
	{name: "waiting", value: sampled(func(b api.StatsBucket) float64 { return float64(*b.Waiting) })},
	{name: "active", value: sampled(func(b api.StatsBucket) float64 { return float64(*b.Active) })},
	{
		name: "oldest", value: sampled(func(b api.StatsBucket) float64 { return seconds(*b.Oldest) }),
		text: func(seconds float64) string { return ops.Age(time.Duration(seconds * float64(time.Second))) },
	},
}

func (v *statsView) table(out io.Writer) error {
	first := v.Buckets[0].Time.Local().Format("2006-01-02 15:04")
	if _, err := fmt.Fprintf(out, "%s since %s: sums; waiting, active, oldest: highest\n", cli.Cut(v.Queue, 20), first); err != nil {
		return err
	}
	for _, line := range statsLines {
		total, columns := line.columns(v.Buckets, perColumn[v.Range])
		text := "-"
		switch {
		case total < 0: // it is not known
		case line.text != nil:
			text = line.text(total)
		default:
			text = shortCount(int(total))
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-7s %5s  %s", line.name, text, sparkline(columns)), " ")); err != nil {
			return err
		}
	}
	kinds := v.kinds()
	if len(kinds) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return kindView.Table(kinds).Write(out)
}

// columns returns the sum or maximum of all rows, and that of each n rows, -1 where none is known.
func (l *statsLine) columns(rows []api.StatsBucket, n int) (total float64, columns []float64) {
	join := func(a, b float64) float64 {
		if l.sum && a >= 0 && b >= 0 {
			return a + b
		}
		return max(a, b)
	}
	total = -1
	for part := range slices.Chunk(rows, n) {
		column := -1.0
		for _, row := range part {
			column = join(column, l.value(row))
		}
		columns, total = append(columns, column), join(total, column)
	}
	return total, columns
}

// sparkline returns a character for each value: a dot for zero, a space for a negative one.
func sparkline(values []float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	bars, highest := []rune(blocks), slices.Max(values)
	var line strings.Builder
	for _, value := range values {
		switch {
		case value < 0:
			line.WriteByte(' ')
		case value == 0:
			line.WriteRune('·')
		default:
			line.WriteRune(bars[min(int(value/highest*float64(len(bars))), len(bars)-1)])
		}
	}
	return line.String()
}
