package jobs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func queuesWatch(a *cli.App) *cobra.Command {
	w := &watching{App: a, every: cli.Span(time.Second)}
	c := &cobra.Command{
		Use:   "watch [QUEUE]",
		Short: "Shows queues live, with rates, until Ctrl-C",
		Long: `Shows all queues, or one, again each second: how many jobs they have, and how
many come in, are done and fail in a second. On a terminal the table is drawn in
place; anywhere else there is a line for each queue each time.`,
		Example: `  skidway queues watch
  skidway queues watch mail --every 5s -o csv`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeQueues(a),
	}
	c.Flags().Var(&w.every, "every", "how long to wait in between")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		w.format = output.Word
		if file, ok := a.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && (w.format == "" || w.format == "table") {
			w.terminal, w.format = file, "table"
		}
		return withQueues(c.Context(), a, func(client *queue.Client) error { return w.run(c.Context(), client, args) })
	})
	return c
}

// A watching is one run of "queues watch".
type watching struct {
	*cli.App
	every    cli.Span
	format   string
	terminal *os.File // nil: there is none
	last     map[string]standing
	lastAt   time.Time
	begun    bool
}

func (w *watching) run(ctx context.Context, client *queue.Client, args []string) error {
	names, err := namesOf(ctx, client, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		names = nil // those that come later, too
	}
	if w.terminal != nil {
		// Nothing is told while the table is drawn, and whatever ends this
		// gives the cursor back.
		w.Console.Quiet = true
		defer func() { _, _ = io.WriteString(w.terminal, showCursor) }()
		if _, err := io.WriteString(w.terminal, hideCursor+clearScreen); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(time.Duration(w.every))
	defer ticker.Stop()
	take := func(ctx context.Context) error {
		rows, err := standings(ctx, client, names)
		if err != nil {
			return err
		}
		return w.show(rows)
	}
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			return nil
		}
	}
	return w.Follow(ctx, take, wait)
}

// What terminals obey, by ECMA-48.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearScreen = "\x1b[2J"
	toTop       = "\x1b[H"
	clearRest   = "\x1b[K" // of the line
	clearBelow  = "\x1b[J"
)

// rates are of the time since the last look; none at the first.
type rates struct {
	known           bool
	in, done, fails float64
}

func (w *watching) show(rows []standing) error {
	now := time.Now()
	seconds := now.Sub(w.lastAt).Seconds()
	of := make([]rates, len(rows))
	for i, row := range rows {
		if last, ok := w.last[row.name]; ok && seconds > 0 && row.err == nil {
			of[i] = rates{
				true, float64(row.total.Enqueued-last.total.Enqueued) / seconds,
				float64(row.total.Done-last.total.Done) / seconds, float64(row.total.Failed-last.total.Failed) / seconds,
			}
		}
	}
	w.last, w.lastAt = map[string]standing{}, now
	for _, row := range rows {
		w.last[row.name] = row
	}
	shown := make([]watched, len(rows))
	for i, row := range rows {
		shown[i] = watched{row, of[i], now}
	}
	if w.terminal != nil {
		return w.draw(shown, now)
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

// draw draws the table over the last one. Lines that don't fit are left out: a
// terminal would scroll, or break them.
func (w *watching) draw(rows []watched, now time.Time) error {
	width, height, err := term.GetSize(int(w.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = cli.TableWidth, 24
	}
	var text bytes.Buffer
	_ = watchView.Table(rows).Write(&text) // a buffer takes everything
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for _, row := range rows {
		if note := row.note(); note != "" {
			lines = append(lines, cli.Printable(row.name)+": "+note)
		}
	}
	if room := max(1, height-2); len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("and %d more lines: the terminal is too small", hidden))
	}
	lines = append(lines, now.Format(time.TimeOnly)+"  Ctrl-C ends this")
	var screen strings.Builder
	screen.WriteString(toTop)
	for _, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		screen.WriteString(line + clearRest + "\r\n")
	}
	screen.WriteString(clearBelow)
	_, err = io.WriteString(w.terminal, screen.String())
	return err
}

// A watched is a queue at one look.
type watched struct {
	standing
	rates
	at time.Time
}

func watchedCount(key, head string, value func(watched) int) cli.Column[watched] {
	return cli.Column[watched]{
		Key: key, Head: head, Right: true, Value: func(q watched) any { return value(q) },
		Cell: func(q watched) string { return brief(value(q)) },
	}
}

func watchedRate(key, head string, value func(rates) float64) cli.Column[watched] {
	return cli.Column[watched]{
		Key: key, Head: head, Right: true, Value: func(q watched) any { return strconv.FormatFloat(value(q.rates), 'f', 1, 64) },
		Cell: func(q watched) string { return q.rates.cell(value(q.rates)) },
	}
}

// watchView fits 80 columns as long as numbers and names are of usual size.
var watchView = cli.View[watched]{
	{Key: "time", Value: func(q watched) any { return q.at }},
	{Key: "queue", Head: "QUEUE", Value: func(q watched) any { return q.name }, Cell: func(q watched) string { return cli.Cut(q.name, 12) }},
	watchedCount("waiting", "WAITING", func(q watched) int { return q.depth.Waiting.Total() }),
	watchedCount("delayed", "DELAYED", func(q watched) int { return q.depth.Delayed }),
	watchedCount("active", "ACTIVE", func(q watched) int { return q.depth.Active.Total() }),
	watchedCount("dead", "DEAD", func(q watched) int { return q.depth.Dead }),
	watchedCount("workers", "WORKERS", func(q watched) int { return len(q.workers) }),
	{
		Key: "oldest_seconds", Head: "OLDEST", Right: true, Value: func(q watched) any { return q.depth.Oldest.Seconds() },
		Cell: func(q watched) string { return age(q.depth.Oldest) },
	},
	watchedRate("in_per_second", "IN/S", func(r rates) float64 { return r.in }),
	watchedRate("done_per_second", "DONE/S", func(r rates) float64 { return r.done }),
	watchedRate("failed_per_second", "FAIL/S", func(r rates) float64 { return r.fails }),
}

func (r *rates) cell(rate float64) string {
	switch {
	case !r.known:
		return ""
	case rate > 0 && rate < 10:
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return brief(int(rate))
}

func watchObjects(out io.Writer, queues []watched) error {
	for _, q := range queues {
		object := append(cli.Object{{Key: "time", Value: q.at.UTC()}}, standingView.Object(q.standing)...)
		object = append(object, cli.Field{Key: "in_per_second", Value: q.in}, cli.Field{Key: "done_per_second", Value: q.done},
			cli.Field{Key: "failed_per_second", Value: q.fails})
		if err := cli.WriteJSONLine(out, object); err != nil {
			return err
		}
	}
	return nil
}
