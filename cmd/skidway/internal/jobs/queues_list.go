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
	"skidway/ops"
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
	return runService(a, c, func(ctx context.Context, client service, _ []string) error {
		rows, err := client.Statuses(ctx, nil)
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

// count returns a column with a number of a queue.
func count(key, head string, value func(ops.QueueStatus) int) cli.Column[ops.QueueStatus] {
	return cli.Column[ops.QueueStatus]{
		Key: key, Head: head, Right: true, Value: func(s ops.QueueStatus) any { return value(s) },
		Cell: func(s ops.QueueStatus) string { return shortCount(value(s)) },
	}
}

// wide returns a column that narrow terminals do not show.
func wide(c cli.Column[ops.QueueStatus]) cli.Column[ops.QueueStatus] {
	c.Wide = true
	return c
}

var statusView = cli.View[ops.QueueStatus]{
	{Key: "queue", Head: "QUEUE", Value: func(s ops.QueueStatus) any { return s.Name }, Cell: func(s ops.QueueStatus) string { return cli.Cut(s.Name, 24) }},
	count("high", "HIGH", func(s ops.QueueStatus) int { return s.Depth.WaitingBy[queue.High] }),
	count("normal", "NORMAL", func(s ops.QueueStatus) int { return s.Depth.WaitingBy[queue.Normal] }),
	count("low", "LOW", func(s ops.QueueStatus) int { return s.Depth.WaitingBy[queue.Low] }),
	count("delayed", "DELAYED", func(s ops.QueueStatus) int { return s.Depth.Delayed }),
	count("active", "ACTIVE", func(s ops.QueueStatus) int { return s.Depth.Active }),
	count("dead", "DEAD", func(s ops.QueueStatus) int { return s.Depth.Dead }),
	count("finished", "", func(s ops.QueueStatus) int { return s.Depth.Finished }),
	count("workers", "WORKERS", func(s ops.QueueStatus) int { return s.Workers }),
	{Key: "paused", Value: func(s ops.QueueStatus) any { return s.Depth.Paused }},
	{
		Key: "oldest_seconds", Head: "OLDEST", Right: true, Value: func(s ops.QueueStatus) any { return s.Depth.Oldest.Seconds() },
		Cell: func(s ops.QueueStatus) string { return ops.Age(s.Depth.Oldest) },
	},
	{Key: "next_due", Value: func(s ops.QueueStatus) any { return s.Depth.NextDue }, Omit: true},
	wide(count("done_today", "DONE", func(s ops.QueueStatus) int { return int(s.Today.Succeeded) })),
	wide(count("failed_today", "FAILED", func(s ops.QueueStatus) int { return int(s.Today.Failed) })),
	{Key: "error", Value: func(s ops.QueueStatus) any { return cli.ErrorText(s.Err) }, Omit: true},
}

// statusTable writes a table of queues, with their notes below.
func statusTable(out io.Writer, rows []ops.QueueStatus) error {
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
func notes(rows []ops.QueueStatus) (lines []string) {
	for _, row := range rows {
		if note := row.Note(); note != "" {
			lines = append(lines, cli.Printable(row.Name)+": "+cli.Printable(note))
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

func queuesShow(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show QUEUE",
		Short: "Shows a queue, and why its jobs do not run",
		Long: `Shows the state of a queue, its counters of the last days, and why its jobs do
not run, if they do not: the queue is paused, no worker serves it, its workers
are quiet or busy, or all its jobs are delayed. It also names the diagnoses that
hold, by the rules that "skidway config alerts --help" describes.`,
		Example: `  skidway queues show mail
  skidway queues show mail -o json`,
		Args: cli.Args("QUEUE"), ValidArgsFunction: completeQueues(a),
	}
	rules := cli.RulesFlag(c.Flags())
	output := cli.OutputFlag(a, c)
	return runService(a, c, func(ctx context.Context, client service, args []string) error {
		client, err := withRules(client, c.Flags().Changed("rules"), rules)
		if err != nil {
			return err
		}
		report, err := client.Report(ctx, args[0])
		if err != nil {
			return err
		}
		for _, problem := range report.Unreadable {
			a.Console.Problem("", problem) // it has the name
		}
		view := newQueueView(report)
		return a.Print(output.Word, view.table, view.csv, view.json)
	})
}

// withRules returns a service whose diagnoses follow rules. A server has its own.
func withRules(s service, given bool, rules func() ([]ops.Rule, error)) (service, error) {
	d, isDirect := s.(direct)
	if !isDirect {
		if given {
			return nil, cli.WrongUsage("--rules: the server has rules of its own: give them to 'skidway serve'")
		}
		return s, nil
	}
	own, err := rules()
	if err != nil {
		return nil, err
	}
	d.ops, err = ops.NewClient(d.Client, &ops.Config{Rules: own})
	return d, err
}

// A queueView prints one queue.
type queueView struct {
	*ops.Report
	days []dayCounts
}

func newQueueView(report *ops.Report) *queueView {
	view := &queueView{Report: report}
	for _, day := range report.Days {
		view.days = append(view.days, dayCounts{day.Day.Format(time.DateOnly), day.Counts})
	}
	return view
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
	if err := statusTable(out, []ops.QueueStatus{v.QueueStatus}); err != nil {
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
	if err := countsView.Table(append(shown, dayCounts{"", v.Total})).Write(out); err != nil {
		return err
	}
	text := "\n"
	for _, diagnosis := range v.Diagnoses {
		text += cli.Printable(diagnosis.String()) + "\n"
	}
	for _, finding := range v.Findings {
		text += cli.Printable(finding) + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

// csv prints one figure a line.
func (v *queueView) csv(out io.Writer) error {
	records := statusView.CSV([]ops.QueueStatus{v.QueueStatus})
	rows := [][]string{{"figure", "value"}}
	for i, key := range records[0] {
		rows = append(rows, []string{key, records[1][i]})
	}
	for _, diagnosis := range v.Diagnoses {
		rows = append(rows, []string{"diagnosis", diagnosis.String()})
	}
	for _, finding := range v.Findings {
		rows = append(rows, []string{"finding", finding})
	}
	return cli.WriteCSV(out, rows)
}

func (v *queueView) json(out io.Writer) error {
	object := statusView.Object(v.QueueStatus)
	if len(v.Diagnoses) > 0 {
		object = append(object, cli.Field{Key: "diagnoses", Value: diagnosisView.Objects(v.Diagnoses)})
	}
	return cli.WriteJSON(out, append(object, cli.Field{Key: "findings", Value: v.Findings}, cli.Field{Key: "total", Value: countsView.Object(dayCounts{"", v.Total})},
		cli.Field{Key: "days", Value: countsView.Objects(v.days)}))
}

var diagnosisView = cli.View[ops.Diagnosis]{
	{Key: "name", Value: func(d ops.Diagnosis) any { return d.Name }},
	{Key: "rank", Value: func(d ops.Diagnosis) any { return d.Rank }},
	{Key: "summary", Value: func(d ops.Diagnosis) any { return d.Summary }},
	{Key: "since", Value: func(d ops.Diagnosis) any { return d.Since.UTC() }},
}
