package jobs

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func queuesList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists all queues with how many jobs they have",
		Long: `Lists all queues: jobs that wait, by priority; delayed, active and dead ones;
workers; the age of the oldest job that waits; and how many jobs were done, and
attempts failed, today (UTC).`,
		Example: `  skidway queues list
  skidway queues list -o json`,
		Args: cobra.NoArgs,
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withQueues(a, c.Context(), func(client *queue.Client) error {
			rows, err := standings(c.Context(), client, nil)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				a.Console.Notice("there is no queue yet: the first job makes one, see 'skidway enqueue --help'")
			}
			view := standingsView(rows)
			return a.Print(output.Word, view.table, view.csv, view.json)
		})
	})
	return c
}

// A standing is how a queue stands.
type standing struct {
	name    string
	depth   queue.Depth
	workers []queue.WorkerInfo // that live
	total   queue.Counts
	today   queue.Counts
	err     error // of a queue that can't be read, such as one of a newer release
}

// standings reads how queues stand; no names mean all.
func standings(ctx context.Context, client *queue.Client, names []string) (rows []standing, err error) {
	if names == nil {
		if names, err = client.Queues(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		row, err := standingOf(ctx, client, name)
		if err != nil {
			if ctx.Err() != nil || cli.Unreachable(err) {
				return nil, err
			}
			row = standing{name: name, err: err} // the others are none the worse
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func standingOf(ctx context.Context, client *queue.Client, name string) (row standing, err error) {
	q, err := client.Queue(name)
	if err != nil {
		return row, err
	}
	row.name = q.Name()
	if row.depth, err = q.Depth(ctx); err != nil {
		return row, err
	}
	workers, err := q.Workers(ctx)
	if err != nil {
		return row, err
	}
	for _, worker := range workers {
		if !worker.Dead {
			row.workers = append(row.workers, worker)
		}
	}
	counters, err := q.Counters(ctx, 1)
	if err != nil {
		return row, err
	}
	row.total, row.today = counters.Total, counters.Days[0].Counts
	return row, nil
}

// note says what a person should know of the queue at a glance.
func (s *standing) note() string {
	switch {
	case s.err != nil:
		return cli.Printable(s.err.Error())
	case s.depth.Paused:
		return "paused: nothing is given out until 'skidway queues resume " + s.name + "'"
	case len(s.workers) == 0 && s.depth.Waiting.Total()+s.depth.Delayed > 0:
		return "no worker serves it"
	}
	return ""
}

type standingsView []standing

func (v standingsView) table(out io.Writer) error {
	t := cli.Table{
		Heads: []string{"QUEUE", "HIGH", "NORMAL", "LOW", "DELAYED", "ACTIVE", "DEAD", "WORKERS", "OLDEST", "DONE", "FAILED"},
		Right: []bool{false, true, true, true, true, true, true, true, true, true, true},
	}
	for _, row := range v {
		d := row.depth
		t.Add(cli.Cut(row.name, 24), brief(d.Waiting.High), brief(d.Waiting.Normal), brief(d.Waiting.Low), brief(d.Delayed), brief(d.Active.Total()),
			brief(d.Dead), brief(len(row.workers)), age(d.Oldest), brief(int(row.today.Done)), brief(int(row.today.Failed)))
	}
	if err := t.Write(out); err != nil {
		return err
	}
	for _, row := range v {
		if note := row.note(); note != "" {
			if _, err := fmt.Fprintf(out, "%s: %s\n", cli.Printable(row.name), note); err != nil {
				return err
			}
		}
	}
	return nil
}

var standingColumns = []string{
	"queue", "high", "normal", "low", "delayed", "active", "dead", "finished", "workers", "paused",
	"oldest_seconds", "next_due", "done_today", "failed_today", "error",
}

func (s *standing) cells() []string {
	object, number := s.object(), strconv.Itoa
	return []string{
		s.name, number(object.High), number(object.Normal), number(object.Low), number(object.Delayed), number(object.Active),
		number(object.Dead), number(object.Finished), number(object.Workers), strconv.FormatBool(object.Paused),
		strconv.FormatFloat(object.Oldest, 'f', 3, 64), cli.Stamp(object.NextDue),
		strconv.FormatInt(object.Done, 10), strconv.FormatInt(object.Failed, 10), object.Error,
	}
}

func (v standingsView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write(standingColumns) // Error tells
	for _, row := range v {
		_ = w.Write(row.cells())
	}
	w.Flush()
	return w.Error()
}

type standingJSON struct {
	Name     string    `json:"queue"`
	High     int       `json:"high"`
	Normal   int       `json:"normal"`
	Low      int       `json:"low"`
	Delayed  int       `json:"delayed"`
	Active   int       `json:"active"`
	Dead     int       `json:"dead"`
	Finished int       `json:"finished"`
	Workers  int       `json:"workers"`
	Paused   bool      `json:"paused"`
	Oldest   float64   `json:"oldest_seconds"`
	NextDue  time.Time `json:"next_due,omitzero"`
	Done     int64     `json:"done_today"`
	Failed   int64     `json:"failed_today"`
	Error    string    `json:"error,omitempty"`
}

func (s *standing) object() standingJSON {
	d := s.depth
	object := standingJSON{
		Name: s.name, High: d.Waiting.High, Normal: d.Waiting.Normal, Low: d.Waiting.Low, Delayed: d.Delayed,
		Active: d.Active.Total(), Dead: d.Dead, Finished: d.Finished, Workers: len(s.workers), Paused: d.Paused,
		Oldest: d.Oldest.Seconds(), NextDue: d.NextDue, Done: s.today.Done, Failed: s.today.Failed,
	}
	if s.err != nil {
		object.Error = s.err.Error()
	}
	return object
}

func (v standingsView) json(out io.Writer) error {
	objects := []standingJSON{}
	for _, row := range v {
		objects = append(objects, row.object())
	}
	return cli.WriteJSON(out, map[string]any{"queues": objects})
}

// brief is a number in at most five columns.
func brief(n int) string {
	if n < 100_000 {
		return strconv.Itoa(n)
	}
	value, unit := humanize.ComputeSI(float64(n))
	return strconv.Itoa(int(value)) + unit
}

// age is a length of time in its largest unit: what counts is whether it is
// seconds or days.
func age(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
