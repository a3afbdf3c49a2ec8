package jobs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
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
there are many. worker.stats in their configuration sets how much they count.`,
		Example: `  skidway queues stats mail
  skidway queues stats mail --range day --kind email.send
  skidway queues stats mail --range month -o csv`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(back, "range", "how far to look back")
	cli.Complete(c, "range", back.Words...)
	c.Flags().StringVar(&kind, "kind", "", "only attempts at jobs of this `KIND`")
	output := cli.OutputFlag(a, c)
	c.PreRunE = func(*cobra.Command, []string) error { return a.NeedsRedis() }
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, args []string) error {
		series, err := client.Stats(ctx, args[0], stats.Range(back.Word))
		if err != nil {
			return err
		}
		view := &statsView{series, kind}
		return a.Print(output.Word, view.table, view.csv, view.json)
	})
}

// A statsView prints a series, of all kinds or of one.
type statsView struct {
	*stats.Series
	kind string
}

// A statsRow is a bucket with the counts that are printed.
type statsRow struct {
	*stats.Bucket
	counts *stats.Counts
}

func (v *statsView) rows() []statsRow {
	rows := make([]statsRow, len(v.Buckets))
	for i := range v.Buckets {
		rows[i] = statsRow{&v.Buckets[i], v.Buckets[i].Total(v.kind)}
	}
	return rows
}

// countColumns are the columns of counts. Times are in seconds.
var countColumns = cli.View[*stats.Counts]{
	{Key: "done", Head: "DONE", Right: true, Value: func(c *stats.Counts) any { return c.Done }},
	{Key: "failed", Head: "FAILED", Right: true, Value: func(c *stats.Counts) any { return c.Failed }},
	{Key: "dead", Head: "DEAD", Right: true, Value: func(c *stats.Counts) any { return c.Dead }},
	{Key: "discarded", Value: func(c *stats.Counts) any { return c.Discarded }},
	{Key: "cancelled", Value: func(c *stats.Counts) any { return c.Cancelled }},
	timeColumn("run_mean_seconds", "", func(c *stats.Counts) time.Duration { return c.Run.Mean() }),
	timeColumn("run_p50_seconds", "RUN 50%", func(c *stats.Counts) time.Duration { return c.Run.Quantile(0.5) }),
	timeColumn("run_p95_seconds", "95%", func(c *stats.Counts) time.Duration { return c.Run.Quantile(0.95) }),
	timeColumn("wait_mean_seconds", "", func(c *stats.Counts) time.Duration { return c.Wait.Mean() }),
	timeColumn("wait_p50_seconds", "WAIT 50%", func(c *stats.Counts) time.Duration { return c.Wait.Quantile(0.5) }),
	timeColumn("wait_p95_seconds", "95%", func(c *stats.Counts) time.Duration { return c.Wait.Quantile(0.95) }),
}

func timeColumn(key, head string, value func(*stats.Counts) time.Duration) cli.Column[*stats.Counts] {
	return cli.Column[*stats.Counts]{
		Key: key, Head: head, Right: true, Value: func(c *stats.Counts) any { return value(c).Seconds() },
		Cell: func(c *stats.Counts) string { return ops.Age(value(c).Round(time.Millisecond)) },
	}
}

// gauge returns a column that is empty where there was no sample.
func gauge(key string, value func(statsRow) any) cli.Column[statsRow] {
	return cli.Column[statsRow]{Key: key, Value: func(r statsRow) any {
		if !r.Sampled {
			return nil
		}
		return value(r)
	}}
}

var statsRowView = slices.Concat(
	cli.View[statsRow]{{Key: "time", Value: func(r statsRow) any { return r.Start }}},
	cli.Of(countColumns, func(r statsRow) *stats.Counts { return r.counts }),
	cli.View[statsRow]{
		gauge("added", func(r statsRow) any { return r.Added }),
		gauge("max_waiting", func(r statsRow) any { return r.Waiting }),
		gauge("max_active", func(r statsRow) any { return r.Active }),
		gauge("max_oldest_seconds", func(r statsRow) any { return r.Oldest.Seconds() }),
		gauge("delayed_jobs", func(r statsRow) any { return r.Delayed }),
		gauge("dead_jobs", func(r statsRow) any { return r.Dead }),
	},
)

// A kindRow has the counts of a kind.
type kindRow struct {
	kind string
	*stats.Counts
}

var kindView = append(
	cli.View[kindRow]{{Key: "kind", Head: "KIND", Value: func(r kindRow) any { return r.kind }, Cell: func(r kindRow) string { return cli.Cut(r.kind, 24) }}},
	cli.Of(countColumns, func(r kindRow) *stats.Counts { return r.Counts })...,
)

// kinds returns the counts by kind, the kind with the most attempts first.
func (v *statsView) kinds() (rows []kindRow) {
	kinds := v.Kinds()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if v.kind == "" || v.kind == kind {
			rows = append(rows, kindRow{kind, kinds[kind]})
		}
	}
	slices.SortStableFunc(rows, func(a, b kindRow) int { return int(b.Attempts() - a.Attempts()) })
	return rows
}

func (v *statsView) csv(out io.Writer) error {
	return cli.WriteCSV(out, statsRowView.CSV(v.rows()))
}

func (v *statsView) json(out io.Writer) error {
	return cli.WriteJSON(out, cli.Object{
		{Key: "queue", Value: v.Queue}, {Key: "range", Value: v.Range}, {Key: "bucket_seconds", Value: v.Width.Seconds()},
		{Key: "time", Value: v.Now.UTC()}, {Key: "kinds", Value: kindView.Objects(v.kinds())}, {Key: "buckets", Value: statsRowView.Objects(v.rows())},
	})
}

// perColumn is the number of buckets in one column of a line, so that lines fit in 80 columns.
var perColumn = map[stats.Range]int{stats.Hour: 1, stats.Day: 2, stats.Month: 3}

// A statsLine is a line of a table: values of all buckets, of which a negative one is not known.
type statsLine struct {
	name  string
	sum   bool // the line shows sums; else the highest values
	value func(statsRow) float64
	text  func(float64) string // nil: a number
}

// sampled returns a value of samples.
func sampled(value func(statsRow) float64) func(statsRow) float64 {
	return func(r statsRow) float64 {
		if !r.Sampled {
			return -1
		}
		return value(r)
	}
}

var statsLines = []statsLine{
	{name: "done", sum: true, value: func(r statsRow) float64 { return float64(r.counts.Done) }},
	{name: "failed", sum: true, value: func(r statsRow) float64 { return float64(r.counts.Failed) }},
	{name: "dead", sum: true, value: func(r statsRow) float64 { return float64(r.counts.Dead) }},
	{name: "added", sum: true, value: sampled(func(r statsRow) float64 { return float64(r.Added) })},
	{name: "waiting", value: sampled(func(r statsRow) float64 { return float64(r.Waiting) })},
	{name: "active", value: sampled(func(r statsRow) float64 { return float64(r.Active) })},
	{
		name: "oldest", value: sampled(func(r statsRow) float64 { return r.Oldest.Seconds() }),
		text: func(seconds float64) string { return ops.Age(time.Duration(seconds * float64(time.Second))) },
	},
}

func (v *statsView) table(out io.Writer) error {
	rows := v.rows()
	first := v.Buckets[0].Start.Local().Format("2006-01-02 15:04")
	if _, err := fmt.Fprintf(out, "%s since %s: sums; waiting, active, oldest: highest\n", cli.Cut(v.Queue, 20), first); err != nil {
		return err
	}
	for _, line := range statsLines {
		total, columns := line.columns(rows, perColumn[v.Range])
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
func (l *statsLine) columns(rows []statsRow, n int) (total float64, columns []float64) {
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
