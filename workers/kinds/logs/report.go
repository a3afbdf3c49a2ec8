package logs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// ReportArgs are the args of logs.report: which counts, and of which days.
type ReportArgs struct {
	Channel    string `json:"channel"`
	Subscriber string `json:"subscriber"`

	// From and To are the first and the last day, each as [Day] has it; empty:
	// no bound. Where Day is given it is both.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Day

	Top int `json:"top,omitempty"` // only the highest of each day; zero: all
}

// Kind is logs.report.
func (ReportArgs) Kind() string { return "logs.report" }

// Check gives a [fields.Error] for the first field that can't be right.
func (a ReportArgs) Check() error {
	if err := checkLogName("channel", "channel", a.Channel); err != nil {
		return err
	}
	if err := checkLogName("subscriber", "subscriber", a.Subscriber); err != nil {
		return err
	}
	switch {
	case a.Day.Day != "" && (a.From != "" || a.To != ""):
		return fields.Wrong("day", "it stands for from and to: leave these out")
	case a.Top < 0:
		return fields.Wrong("top", "%d: it can't be below zero", a.Top)
	}
	for field, text := range map[string]string{"from": a.From, "to": a.To} {
		if err := checkDay(field, text); err != nil {
			return err
		}
	}
	return a.Day.check()
}

// days gives the bounds of the report for a job.
func (a ReportArgs) days(job *queue.Job) distribute.ReportOptions {
	if a.Day.Day != "" {
		a.From, a.To = a.Day.Day, a.Day.Day
	}
	var o distribute.ReportOptions
	if a.From != "" {
		o.From = a.of(job, a.From).String()
	}
	if a.To != "" {
		o.To = a.of(job, a.To).String()
	}
	return o
}

// A Result is, as JSON, the result of logs.report and logs.count. The sums
// are of all that was counted, whatever days the rows are of.
type Result struct {
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	Lines      int64    `json:"lines"` // counted + unknown_country + unparsable
	Counted    int64    `json:"counted"`
	Unknown    int64    `json:"unknown_country"`
	Unparsable int64    `json:"unparsable"`
	Files      int64    `json:"files"`
	Problems   []string `json:"problems"` // files that are not counted in whole, and why
	CSV        string   `json:"csv"`      // as "skidway logs report -o csv"
	Table      string   `json:"table"`    // for people, in plain text
}

// Report reads what a subscriber has counted. It is an error, to be tried again,
// that there is no such channel or subscriber. Rows of more than a megabyte make
// the job dead: ask for fewer days, or for the top.
func (l *Handlers) Report(ctx context.Context, job *workers.Job[ReportArgs]) error {
	args := job.Args
	channel, err := l.channel(ctx, args.Channel)
	if err != nil {
		return invalidName(err)
	}
	options := args.days(job.Job)
	report, err := channel.Report(ctx, args.Subscriber, options)
	if err != nil {
		return err
	}
	columns := distribute.Columns(report.Subscriber.Settings)
	if options != (distribute.ReportOptions{}) && !slices.Contains(columns, "day") {
		return workers.Dead(fmt.Errorf("subscriber %s does not count by day: leave out day, from and to", args.Subscriber))
	}
	result := resultOf(report, columns, args.Top)
	result.From, result.To = options.From, options.To
	return setResult(ctx, result)
}

func resultOf(report distribute.Report, columns []string, top int) Result {
	t := report.Subscriber.Tally
	result := Result{
		Lines: t.Lines, Counted: t.Counted, Unknown: t.Unknown, Unparsable: t.Unparsable, Files: t.Files, Problems: []string{},
	}
	for _, p := range report.Problems {
		result.Problems = append(result.Problems, p.File+": "+p.Note)
	}
	for _, file := range report.Abandoned {
		result.Problems = append(result.Problems, file+": not counted, its upload was given up: ship it again")
	}
	var text, table strings.Builder
	records := csv.NewWriter(&text)
	columns = append(slices.Clone(columns), "requests")
	_ = records.Write(columns) // into memory
	aligned := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(aligned, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range distribute.TopRows(report.Rows, top) {
		cells := rowCells(row, columns)
		_ = records.Write(cells)
		_, _ = fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	records.Flush()
	_ = aligned.Flush()
	result.CSV, result.Table = text.String(), table.String()
	return result
}

// rowCells are a row's values in the order of the columns.
func rowCells(row distribute.Row, columns []string) []string {
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = map[string]string{"day": row.Group, "country": row.Member, "requests": strconv.FormatInt(row.Requests, 10)}[column]
	}
	return cells
}

// CountArgs are the args of logs.count: files to count inside the worker.
type CountArgs struct {
	Paths  []string `json:"paths"`            // as those of [ShipArgs]
	By     []string `json:"by,omitempty"`     // day, country; empty: both
	Format string   `json:"format,omitempty"` // empty: auto
	Top    int      `json:"top,omitempty"`    // only the highest of each day; zero: all

	// With a TZ the days that are counted are that zone's; without, they are
	// those that the lines are written with.
	Day
}

// Kind is logs.count.
func (CountArgs) Kind() string { return "logs.count" }

// Check gives a [fields.Error] for the first field that can't be right.
func (a CountArgs) Check() error {
	if err := checkPaths(a.Paths); err != nil {
		return err
	}
	if a.Top < 0 {
		return fields.Wrong("top", "%d: it can't be below zero", a.Top)
	}
	for _, what := range a.By {
		if what != "day" && what != "country" {
			return fields.Wrong("by", "%q: want day, country, or both", what)
		}
	}
	if a.Format != "" && a.Format != "auto" {
		if _, err := accesslog.ByName(a.Format); err != nil {
			return fields.Wrong("format", "%v", err)
		}
	}
	return a.Day.check()
}

func (l *Handlers) counting(a CountArgs) distribute.CountryDayConfig {
	c := distribute.CountryDayConfig{By: a.By, Format: a.Format, Countries: l.config.Countries}
	if a.TZ != "" {
		c.Zone, _ = a.zone() // check has refused others
	}
	return c
}

// Count counts files in this process, without Redis. Nothing is kept but the
// result, a [Result].
func (l *Handlers) Count(ctx context.Context, job *workers.Job[CountArgs]) (err error) {
	args := job.Args
	files, err := l.files(args.Paths, args.of(job.Job, args.Day.Day))
	if err != nil {
		return err
	}
	aggregation, err := distribute.NewCountryDay(l.counting(args))
	if err != nil {
		return workers.Dead(err)
	}
	db, err := rdb.Open(ctx, "embedded:", rdb.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch, err := distribute.NewBatch(db, aggregation, distribute.BatchConfig{Workers: 1, Notify: tellJob(ctx)}).Run(ctx, files)
	if err != nil {
		return err
	}
	for _, file := range batch.Files {
		if file.Outcome == distribute.Failed {
			return fmt.Errorf("nothing is counted: %w", file.Err)
		}
	}
	return setResult(ctx, resultOf(batch.Report, distribute.Columns(aggregation.Settings()), args.Top))
}
