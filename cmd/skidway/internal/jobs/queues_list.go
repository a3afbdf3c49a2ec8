package jobs

import (
	"cmp"
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
		Short: "Lists all queues with the numbers of their jobs",
		Long: `Lists all queues: the numbers of waiting jobs by priority, of delayed, active
and dead jobs, and of workers; the age of the oldest waiting job; and how many
jobs were done, and how many attempts failed, today (UTC).`,
		Example: `  skidway queues list
  skidway queues list -o json`,
		Args: cobra.NoArgs,
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openQueues, func(ctx context.Context, client *queue.Client, _ []string) error {
		rows, err := readStatuses(ctx, client, nil)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			a.Console.Notice("there is no queue yet: the first job creates one, see 'skidway enqueue --help'")
		}
		return a.Print(output.Word,
			func(out io.Writer) error { return statusTable(out, rows) },
			func(out io.Writer) error { return cli.WriteCSV(out, statusView.CSV(rows)) },
			func(out io.Writer) error {
				return cli.WriteJSON(out, map[string]any{"queues": statusView.Objects(rows)})
			})
	})
}

// A queueStatus is the state of a queue.
type queueStatus struct {
	name    string
	depth   queue.Depth
	workers int // living ones
	total   queue.Counts
	today   queue.Counts
	err     error // of a queue that can't be read, such as one of a newer release
}

// readStatuses returns the states of the queues with these names; nil means all.
func readStatuses(ctx context.Context, client *queue.Client, names []string) (rows []queueStatus, err error) {
	if names == nil {
		if names, err = client.Queues(ctx); err != nil {
			return nil, err
		}
	}
	pools, err := client.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		row, err := readStatus(ctx, client, name, pools)
		if err != nil {
			if ctx.Err() != nil || cli.Unreachable(err) {
				return nil, err
			}
			row = queueStatus{name: name, err: err} // the other queues are shown still
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func readStatus(ctx context.Context, client *queue.Client, name string, pools []queue.PoolInfo) (row queueStatus, err error) {
	q, err := client.Queue(name)
	if err != nil {
		return row, err
	}
	row.name = q.Name()
	if row.depth, err = q.Depth(ctx); err != nil {
		return row, err
	}
	for _, pool := range pools {
		if pool.Expires >= 0 && pool.Serves(name) {
			row.workers++
		}
	}
	total, days, err := q.Counters(ctx, 1)
	if err != nil {
		return row, err
	}
	row.total, row.today = total, days[0].Counts
	return row, nil
}

// note returns what is wrong with the queue, or "".
func (s *queueStatus) note() string {
	switch {
	case s.err != nil:
		return cli.Printable(s.err.Error())
	case s.depth.Paused:
		return "paused: 'skidway queues resume " + s.name + "' resumes it"
	case s.workers == 0 && s.depth.Waiting+s.depth.Delayed > 0:
		return "no worker serves it"
	}
	return ""
}

// count returns a column with a number of a queue.
func count(key, head string, value func(queueStatus) int) cli.Column[queueStatus] {
	return cli.Column[queueStatus]{
		Key: key, Head: head, Right: true, Value: func(s queueStatus) any { return value(s) },
		Cell: func(s queueStatus) string { return shortCount(value(s)) },
	}
}

// wide returns a column that narrow terminals do not show.
func wide(c cli.Column[queueStatus]) cli.Column[queueStatus] {
	c.Wide = true
	return c
}

var statusView = cli.View[queueStatus]{
	{Key: "queue", Head: "QUEUE", Value: func(s queueStatus) any { return s.name }, Cell: func(s queueStatus) string { return cli.Cut(s.name, 24) }},
	count("high", "HIGH", func(s queueStatus) int { return s.depth.WaitingBy[queue.High] }),
	count("normal", "NORMAL", func(s queueStatus) int { return s.depth.WaitingBy[queue.Normal] }),
	count("low", "LOW", func(s queueStatus) int { return s.depth.WaitingBy[queue.Low] }),
	count("delayed", "DELAYED", func(s queueStatus) int { return s.depth.Delayed }),
	count("active", "ACTIVE", func(s queueStatus) int { return s.depth.Active }),
	count("dead", "DEAD", func(s queueStatus) int { return s.depth.Dead }),
	count("finished", "", func(s queueStatus) int { return s.depth.Finished }),
	count("workers", "WORKERS", func(s queueStatus) int { return s.workers }),
	{Key: "paused", Value: func(s queueStatus) any { return s.depth.Paused }},
	{
		Key: "oldest_seconds", Head: "OLDEST", Right: true, Value: func(s queueStatus) any { return s.depth.Oldest.Seconds() },
		Cell: func(s queueStatus) string { return age(s.depth.Oldest) },
	},
	{Key: "next_due", Value: func(s queueStatus) any { return s.depth.NextDue }, Omit: true},
	wide(count("done_today", "DONE", func(s queueStatus) int { return int(s.today.Succeeded) })),
	wide(count("failed_today", "FAILED", func(s queueStatus) int { return int(s.today.Failed) })),
	{Key: "error", Value: func(s queueStatus) any { return cli.ErrorText(s.err) }, Omit: true},
}

// statusTable writes a table of queues, with their notes below.
func statusTable(out io.Writer, rows []queueStatus) error {
	if err := statusView.Table(rows).Write(out); err != nil {
		return err
	}
	for _, note := range notes(rows) {
		if _, err := fmt.Fprintln(out, note); err != nil {
			return err
		}
	}
	return nil
}

// notes returns the notes of queues, each with the name of its queue.
func notes(rows []queueStatus) (lines []string) {
	for _, row := range rows {
		if note := row.note(); note != "" {
			lines = append(lines, cli.Printable(row.name)+": "+note)
		}
	}
	return lines
}

// shortCount returns a number in at most five columns.
func shortCount(n int) string {
	if n < 100_000 {
		return strconv.Itoa(n)
	}
	value, unit := humanize.ComputeSI(float64(n))
	return strconv.Itoa(int(value)) + unit
}

// age returns a duration in its largest unit.
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

func queuesShow(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show QUEUE",
		Short: "Shows a queue, and why its jobs do not run",
		Long: `Shows the state of a queue, its counters of the last days, and why its jobs do
not run, if they do not: the queue is paused, no worker serves it, its workers
are quiet or busy, or all its jobs are delayed.`,
		Example: `  skidway queues show mail
  skidway queues show mail -o json`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openQueues, func(ctx context.Context, client *queue.Client, args []string) error {
		view, err := showQueue(ctx, a, client, args[0])
		if err != nil {
			return err
		}
		return a.Print(output.Word, view.table, view.csv, view.json)
	})
}

// shownDays is the number of days that "queues show" has counts of.
const shownDays = 7

// A queueView prints one queue.
type queueView struct {
	queueStatus
	days     []dayCounts
	findings []string
}

func showQueue(ctx context.Context, a *cli.App, client *queue.Client, name string) (*queueView, error) {
	q, err := existing(ctx, client, name)
	if err != nil {
		return nil, err
	}
	view := &queueView{}
	pools, err := client.Pools(ctx)
	if err != nil {
		return nil, err
	}
	if view.queueStatus, err = readStatus(ctx, client, q.Name(), pools); err != nil {
		return nil, err
	}
	_, days, err := q.Counters(ctx, shownDays)
	if err != nil {
		return nil, err
	}
	for _, day := range days {
		view.days = append(view.days, dayCounts{day.Day.Format(time.DateOnly), day.Counts})
	}
	names, err := client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := readWorkers(ctx, a, client, names, true)
	if err != nil {
		return nil, err
	}
	now, err := redisTime(ctx, client)
	if err != nil {
		return nil, err
	}
	view.findings = diagnose(&view.queueStatus, serving(workers, q.Name()), now)
	return view, nil
}

// dayCounts are the counts of a day, or of all time.
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
	counted("done", "DONE", func(c queue.Counts) int64 { return c.Succeeded }),
	counted("failed", "FAILED", func(c queue.Counts) int64 { return c.Failed }),
	counted("retried", "RETRIED", func(c queue.Counts) int64 { return c.Retried }),
	counted("dead", "DEAD", func(c queue.Counts) int64 { return c.Dead }),
	counted("crashed", "CRASHED", func(c queue.Counts) int64 { return c.Crashed }),
	counted("cancelled", "CANCELLED", func(c queue.Counts) int64 { return c.Cancelled }),
}

func (v *queueView) table(out io.Writer) error {
	if err := statusTable(out, []queueStatus{v.queueStatus}); err != nil {
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

// csv prints one figure a line.
func (v *queueView) csv(out io.Writer) error {
	records := statusView.CSV([]queueStatus{v.queueStatus})
	rows := [][]string{{"figure", "value"}}
	for i, key := range records[0] {
		rows = append(rows, []string{key, records[1][i]})
	}
	for _, finding := range v.findings {
		rows = append(rows, []string{"finding", finding})
	}
	return cli.WriteCSV(out, rows)
}

func (v *queueView) json(out io.Writer) error {
	return cli.WriteJSON(out, append(statusView.Object(v.queueStatus),
		cli.Field{Key: "findings", Value: v.findings}, cli.Field{Key: "total", Value: countsView.Object(dayCounts{"", v.total})},
		cli.Field{Key: "days", Value: countsView.Objects(v.days)}))
}
