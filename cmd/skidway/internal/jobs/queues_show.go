package jobs

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
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
		Args: cli.ExactlyOne("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withRedis(a, c.Context(), func(db *rdb.DB, client *queue.Client) error {
			view, err := showQueue(a, c.Context(), db, client, args[0])
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
	days     []queue.DayCounts
	findings []string
}

func showQueue(a *cli.App, ctx context.Context, db *rdb.DB, client *queue.Client, name string) (*queueView, error) {
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
	view.days = counters.Days
	names, err := client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	fleet, err := fleetOf(a, ctx, client, names, true)
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

func (v *queueView) table(out io.Writer) error {
	if err := (standingsView{v.standing}).table(out); err != nil {
		return err
	}
	t := cli.Table{
		Heads: []string{"DAY", "ENQUEUED", "DONE", "FAILED", "RETRIED", "DEAD", "CRASHED", "CANCELLED"},
		Right: []bool{false, true, true, true, true, true, true, true},
	}
	for _, day := range v.days {
		if day.Counts != (queue.Counts{}) {
			t.Add(append([]string{day.Day.Format(time.DateOnly)}, shownCounts(day.Counts)...)...)
		}
	}
	t.Add(append([]string{"ever"}, shownCounts(v.total)...)...)
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := t.Write(out); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	for _, finding := range v.findings {
		if _, err := fmt.Fprintln(out, cli.Printable(finding)); err != nil {
			return err
		}
	}
	return nil
}

func shownCounts(c queue.Counts) (cells []string) {
	for _, n := range []int64{c.Enqueued, c.Done, c.Failed, c.Retried, c.Dead, c.Crashed, c.Cancelled} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}

// csv has one figure a line.
func (v *queueView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"figure", "value"}) // Error tells
	for i, cell := range v.cells() {
		_ = w.Write([]string{standingColumns[i], cell})
	}
	for _, finding := range v.findings {
		_ = w.Write([]string{"finding", finding})
	}
	w.Flush()
	return w.Error()
}

type (
	countsJSON struct {
		Day      string `json:"day,omitempty"`
		Enqueued int64  `json:"enqueued"`
		Done     int64  `json:"done"`
		Failed   int64  `json:"failed"`
		Retried  int64  `json:"retried"`
		Dead     int64  `json:"dead"`
		Crashed  int64  `json:"crashed"`
		Canceled int64  `json:"cancelled"`
	}
	queueJSON struct {
		standingJSON
		Findings []string     `json:"findings"`
		Total    countsJSON   `json:"total"`
		Days     []countsJSON `json:"days"`
	}
)

func countsOf(day string, c queue.Counts) countsJSON {
	return countsJSON{day, c.Enqueued, c.Done, c.Failed, c.Retried, c.Dead, c.Crashed, c.Cancelled}
}

func (v *queueView) json(out io.Writer) error {
	object := queueJSON{standingJSON: v.object(), Findings: v.findings, Total: countsOf("", v.total)}
	for _, day := range v.days {
		object.Days = append(object.Days, countsOf(day.Day.Format(time.DateOnly), day.Counts))
	}
	return cli.WriteJSON(out, object)
}
