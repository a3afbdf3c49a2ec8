package jobs

import (
	"context"
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
		return withQueues(c.Context(), a, func(client *queue.Client) error {
			rows, err := standings(c.Context(), client, nil)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				a.Console.Notice("there is no queue yet: the first job makes one, see 'skidway enqueue --help'")
			}
			return a.Print(output.Word,
				func(out io.Writer) error { return standingsTable(out, rows) },
				func(out io.Writer) error { return cli.WriteCSV(out, standingView.CSV(rows)) },
				func(out io.Writer) error {
					return cli.WriteJSON(out, map[string]any{"queues": standingView.Objects(rows)})
				})
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

// count is a column with a number of a queue.
func count(key, head string, value func(standing) int) cli.Column[standing] {
	return cli.Column[standing]{
		Key: key, Head: head, Right: true, Value: func(s standing) any { return value(s) },
		Cell: func(s standing) string { return brief(value(s)) },
	}
}

var standingView = cli.View[standing]{
	{Key: "queue", Head: "QUEUE", Value: func(s standing) any { return s.name }, Cell: func(s standing) string { return cli.Cut(s.name, 24) }},
	count("high", "HIGH", func(s standing) int { return s.depth.Waiting.High }),
	count("normal", "NORMAL", func(s standing) int { return s.depth.Waiting.Normal }),
	count("low", "LOW", func(s standing) int { return s.depth.Waiting.Low }),
	count("delayed", "DELAYED", func(s standing) int { return s.depth.Delayed }),
	count("active", "ACTIVE", func(s standing) int { return s.depth.Active.Total() }),
	count("dead", "DEAD", func(s standing) int { return s.depth.Dead }),
	count("finished", "", func(s standing) int { return s.depth.Finished }),
	count("workers", "WORKERS", func(s standing) int { return len(s.workers) }),
	{Key: "paused", Value: func(s standing) any { return s.depth.Paused }},
	{
		Key: "oldest_seconds", Head: "OLDEST", Right: true, Value: func(s standing) any { return s.depth.Oldest.Seconds() },
		Cell: func(s standing) string { return age(s.depth.Oldest) },
	},
	{Key: "next_due", Value: func(s standing) any { return s.depth.NextDue }, Omit: true},
	count("done_today", "DONE", func(s standing) int { return int(s.today.Done) }),
	count("failed_today", "FAILED", func(s standing) int { return int(s.today.Failed) }),
	{Key: "error", Value: func(s standing) any { return cli.ErrorText(s.err) }, Omit: true},
}

// standingsTable writes a table of queues, with what people should know of them
// below.
func standingsTable(out io.Writer, rows []standing) error {
	if err := standingView.Table(rows).Write(out); err != nil {
		return err
	}
	for _, row := range rows {
		if note := row.note(); note != "" {
			if _, err := fmt.Fprintf(out, "%s: %s\n", cli.Printable(row.name), note); err != nil {
				return err
			}
		}
	}
	return nil
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
