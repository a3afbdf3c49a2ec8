package jobs

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
)

func queuesWatch(a *cli.App) *cobra.Command {
	w := &watchCmd{App: a, every: cli.Span(time.Second)}
	c := &cobra.Command{
		Use:   "watch [QUEUE]",
		Short: "Shows queues live, with rates, until Ctrl-C",
		Long: `Shows all queues, or one, once a second: the numbers of their jobs, and how many
jobs are added, done and failed per second. On a terminal it redraws the table
in place. Otherwise it prints one line per queue each time.`,
		Example: `  skidway queues watch
  skidway queues watch mail --every 5s -o csv`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(&w.every, "every", "time between two readings")
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		w.format = output.Word
		if w.format == "" || w.format == "table" {
			w.screen = a.Screen()
		}
		return withService(c.Context(), a, func(client service) error { return w.run(c.Context(), client, firstOf(args)) })
	})
	return c
}

// A watchCmd is the command "queues watch".
type watchCmd struct {
	*cli.App
	every  cli.Span
	format string
	screen *cli.Screen // nil: standard output is no terminal
	last   map[string]ops.QueueStatus
	lastAt time.Time
	begun  bool
}

func (w *watchCmd) run(ctx context.Context, client service, name string) error {
	names, err := client.QueueNames(ctx, name)
	if err != nil {
		return err
	}
	if name == "" {
		names = nil // includes queues that are made later
	}
	defer w.screen.Close()
	if err := w.screen.Open(); err != nil {
		return err
	}
	take := func(ctx context.Context) error {
		rows, err := client.Statuses(ctx, names)
		if err != nil {
			return err
		}
		return w.show(rows)
	}
	return w.FollowEvery(ctx, time.Duration(w.every), take)
}

// rates are per second, since the last reading. The first reading has none.
type rates struct {
	known           bool
	in, done, fails float64
}

func (w *watchCmd) show(rows []ops.QueueStatus) error {
	now := time.Now()
	seconds := now.Sub(w.lastAt).Seconds()
	of := make([]rates, len(rows))
	for i, row := range rows {
		if last, ok := w.last[row.Name]; ok && seconds > 0 && row.Err == nil && last.Err == nil {
			of[i] = rates{
				true, float64(row.Total.Enqueued-last.Total.Enqueued) / seconds,
				float64(row.Total.Succeeded-last.Total.Succeeded) / seconds, float64(row.Total.Failed-last.Total.Failed) / seconds,
			}
		}
	}
	w.last, w.lastAt = map[string]ops.QueueStatus{}, now
	for _, row := range rows {
		w.last[row.Name] = row
	}
	shown := make([]watchRow, len(rows))
	for i, row := range rows {
		shown[i] = watchRow{row, of[i], now}
	}
	if w.screen != nil {
		return w.draw(shown)
	}
	head := !w.begun
	w.begun = true
	return w.Print(w.format, watchView.Table(shown).Write,
		func(out io.Writer) error {
			records := watchView.CSV(shown)
			if !head {
				records = records[1:]
			}
			return cli.WriteCSV(out, records)
		},
		func(out io.Writer) error { return watchObjects(out, shown) })
}

// draw draws the table over the last one.
func (w *watchCmd) draw(rows []watchRow) error {
	var text bytes.Buffer
	_ = watchView.Table(rows).Write(&text) // a buffer returns no error
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for _, row := range rows {
		lines = append(lines, notes([]ops.QueueStatus{row.QueueStatus})...)
	}
	return w.screen.Draw(lines)
}

// A watchRow is one reading of a queue.
type watchRow struct {
	ops.QueueStatus
	rates
	at time.Time
}

func watchCount(key, head string, value func(watchRow) int) cli.Column[watchRow] {
	return cli.Column[watchRow]{
		Key: key, Head: head, Right: true, Value: func(q watchRow) any { return value(q) },
		Cell: func(q watchRow) string { return shortCount(value(q)) },
	}
}

func watchRate(key, head string, value func(rates) float64) cli.Column[watchRow] {
	return cli.Column[watchRow]{
		Key: key, Head: head, Right: true, Value: func(q watchRow) any {
			if !q.known {
				return nil
			}
			return strconv.FormatFloat(value(q.rates), 'f', 1, 64)
		},
		Cell: func(q watchRow) string { return q.rates.cell(value(q.rates)) },
	}
}

// watchView fits in 80 columns if numbers and names have the usual sizes.
var watchView = cli.View[watchRow]{
	{Key: "time", Value: func(q watchRow) any { return q.at }},
	{Key: "queue", Head: "QUEUE", Value: func(q watchRow) any { return q.Name }, Cell: func(q watchRow) string { return cli.Cut(q.Name, 12) }},
	watchCount("waiting", "WAITING", func(q watchRow) int { return q.Depth.Waiting }),
	watchCount("delayed", "DELAYED", func(q watchRow) int { return q.Depth.Delayed }),
	watchCount("active", "ACTIVE", func(q watchRow) int { return q.Depth.Active }),
	watchCount("dead", "DEAD", func(q watchRow) int { return q.Depth.Dead }),
	watchCount("workers", "WORKERS", func(q watchRow) int { return q.Workers }),
	{
		Key: "oldest_seconds", Head: "OLDEST", Right: true, Value: func(q watchRow) any { return q.Depth.Oldest.Seconds() },
		Cell: func(q watchRow) string { return ops.Age(q.Depth.Oldest) },
	},
	watchRate("in_per_second", "IN/S", func(r rates) float64 { return r.in }),
	watchRate("done_per_second", "DONE/S", func(r rates) float64 { return r.done }),
	watchRate("failed_per_second", "FAIL/S", func(r rates) float64 { return r.fails }),
}

// value returns a rate, nil if it is not known.
func (r *rates) value(rate float64) any {
	if !r.known {
		return nil
	}
	return rate
}

func (r *rates) cell(rate float64) string {
	switch {
	case !r.known:
		return ""
	case rate > 0 && rate < 10:
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return shortCount(int(rate))
}

func watchObjects(out io.Writer, queues []watchRow) error {
	for _, q := range queues {
		object := append(cli.Object{{Key: "time", Value: q.at.UTC()}}, statusView.Object(q.QueueStatus)...)
		object = append(object, cli.Field{Key: "in_per_second", Value: q.value(q.in)}, cli.Field{Key: "done_per_second", Value: q.value(q.done)},
			cli.Field{Key: "failed_per_second", Value: q.value(q.fails)})
		if err := cli.WriteJSONLine(out, object); err != nil {
			return err
		}
	}
	return nil
}
