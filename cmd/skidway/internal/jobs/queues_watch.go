package jobs

import (
	"bytes"
	"context"
	"encoding/csv"
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
		return withQueues(a, c.Context(), func(client *queue.Client) error { return w.run(c.Context(), client, args) })
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
	if w.terminal != nil {
		return w.draw(rows, of, now)
	}
	head := !w.begun
	w.begun = true
	return w.Print(w.format,
		func(out io.Writer) error { return watchTable(rows, of).Write(out) },
		func(out io.Writer) error { return watchRows(out, rows, of, now, head) },
		func(out io.Writer) error { return watchObjects(out, rows, of, now) })
}

// draw draws the table over the last one. Lines that don't fit are left out: a
// terminal would scroll, or break them.
func (w *watching) draw(rows []standing, of []rates, now time.Time) error {
	width, height, err := term.GetSize(int(w.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = cli.TableWidth, 24
	}
	var text bytes.Buffer
	_ = watchTable(rows, of).Write(&text) // a buffer takes everything
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

// watchTable fits 80 columns as long as numbers and names are of usual size.
func watchTable(rows []standing, of []rates) *cli.Table {
	t := &cli.Table{
		Heads: []string{"QUEUE", "WAITING", "DELAYED", "ACTIVE", "DEAD", "WORKERS", "OLDEST", "IN/S", "DONE/S", "FAIL/S"},
		Right: []bool{false, true, true, true, true, true, true, true, true, true},
	}
	for i, row := range rows {
		d, r := row.depth, of[i]
		t.Add(cli.Cut(row.name, 12), brief(d.Waiting.Total()), brief(d.Delayed), brief(d.Active.Total()), brief(d.Dead),
			brief(len(row.workers)), age(d.Oldest), r.cell(r.in), r.cell(r.done), r.cell(r.fails))
	}
	return t
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

func watchRows(out io.Writer, rows []standing, of []rates, now time.Time, head bool) error {
	w := csv.NewWriter(out)
	if head {
		_ = w.Write([]string{"time", "queue", "waiting", "delayed", "active", "dead", "workers", "oldest_seconds", "in_per_second", "done_per_second", "failed_per_second"})
	}
	for i, row := range rows {
		d, number := row.depth, func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
		_ = w.Write([]string{
			cli.Stamp(now), row.name, strconv.Itoa(d.Waiting.Total()), strconv.Itoa(d.Delayed), strconv.Itoa(d.Active.Total()), strconv.Itoa(d.Dead),
			strconv.Itoa(len(row.workers)), strconv.FormatFloat(d.Oldest.Seconds(), 'f', 3, 64), number(of[i].in), number(of[i].done), number(of[i].fails),
		})
	}
	w.Flush()
	return w.Error()
}

type watchJSON struct {
	Time time.Time `json:"time"`
	standingJSON
	In    float64 `json:"in_per_second"`
	Done  float64 `json:"done_per_second"`
	Fails float64 `json:"failed_per_second"`
}

func watchObjects(out io.Writer, rows []standing, of []rates, now time.Time) error {
	for i, row := range rows {
		if err := cli.WriteJSONLine(out, watchJSON{now.UTC(), row.object(), of[i].in, of[i].done, of[i].fails}); err != nil {
			return err
		}
	}
	return nil
}
