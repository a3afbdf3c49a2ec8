package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

func queuesShow(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show QUEUE",
		Short: "Shows a queue, and why it does not drain",
		Long: `Shows how a queue stands, what happened in the last days, and in plain words why
its jobs are not run, if they are not: it is paused, nobody serves it, its
workers are quiet or busy, or all its jobs wait for their time.`,
		Example: `  skidway queues show mail
  skidway queues show mail -o json`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withRedis(c.Context(), a, func(db *rdb.DB, client *queue.Client) error {
			view, err := showQueue(c.Context(), a, db, client, args[0])
			if err != nil {
				return err
			}
			return a.Print(output.Word, view.table, view.csv, view.json)
		})
	})
	return c
}

// shownDays is for how many days "queues show" gives counts.
const shownDays = 7

// A queueView prints one queue.
type queueView struct {
	standing
	days     []dayCounts
	findings []string
}

func showQueue(ctx context.Context, a *cli.App, db *rdb.DB, client *queue.Client, name string) (*queueView, error) {
	q, err := existing(ctx, client, name)
	if err != nil {
		return nil, err
	}
	view := &queueView{}
	if view.standing, err = standingOf(ctx, client, q.Name()); err != nil {
		return nil, err
	}
	counters, err := q.Counters(ctx, shownDays)
	if err != nil {
		return nil, err
	}
	for _, day := range counters.Days {
		view.days = append(view.days, dayCounts{day.Day.Format(time.DateOnly), day.Counts})
	}
	names, err := client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	fleet, err := fleetOf(ctx, a, client, names, true)
	if err != nil {
		return nil, err
	}
	now, err := db.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	view.findings = diagnose(&view.standing, serving(fleet, q.Name()), now)
	return view, nil
}

// A dayCounts are the counts of a day, or of all time.
type dayCounts struct {
	day string // empty: of all time
	queue.Counts
}

func counted(key, head string, value func(queue.Counts) int64) cli.Column[dayCounts] {
	return cli.Column[dayCounts]{Key: key, Head: head, Right: true, Value: func(d dayCounts) any { return value(d.Counts) }}
}

var countsView = cli.View[dayCounts]{
	{Key: "day", Head: "DAY", Value: func(d dayCounts) any { return d.day }, Cell: func(d dayCounts) string { return cmp.Or(d.day, "ever") }, Omit: true},
	counted("enqueued", "ENQUEUED", func(c queue.Counts) int64 { return c.Enqueued }),
	counted("done", "DONE", func(c queue.Counts) int64 { return c.Done }),
	counted("failed", "FAILED", func(c queue.Counts) int64 { return c.Failed }),
	counted("retried", "RETRIED", func(c queue.Counts) int64 { return c.Retried }),
	counted("dead", "DEAD", func(c queue.Counts) int64 { return c.Dead }),
	counted("crashed", "CRASHED", func(c queue.Counts) int64 { return c.Crashed }),
	counted("cancelled", "CANCELLED", func(c queue.Counts) int64 { return c.Cancelled }),
}

func (v *queueView) table(out io.Writer) error {
	if err := standingsTable(out, []standing{v.standing}); err != nil {
		return err
	}
	var shown []dayCounts
	for _, day := range v.days {
		if day.Counts != (queue.Counts{}) {
			shown = append(shown, day)
		}
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := countsView.Table(append(shown, dayCounts{"", v.total})).Write(out); err != nil {
		return err
	}
	text := "\n"
	for _, finding := range v.findings {
		text += cli.Printable(finding) + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

// csv has one figure a line.
func (v *queueView) csv(out io.Writer) error {
	records := standingView.CSV([]standing{v.standing})
	rows := [][]string{{"figure", "value"}}
	for i, figure := range records[0] {
		rows = append(rows, []string{figure, records[1][i]})
	}
	for _, finding := range v.findings {
		rows = append(rows, []string{"finding", finding})
	}
	return cli.WriteCSV(out, rows)
}

func (v *queueView) json(out io.Writer) error {
	return cli.WriteJSON(out, append(standingView.Object(v.standing),
		cli.Field{Key: "findings", Value: v.findings}, cli.Field{Key: "total", Value: countsView.Object(dayCounts{"", v.total})},
		cli.Field{Key: "days", Value: countsView.Objects(v.days)}))
}
