package logs

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// ReportArgs are the args of logs.report: the counts of a subscriber, of some days.
type ReportArgs struct {
	Channel    string `json:"channel"`
	Subscriber string `json:"subscriber"`

	// From and To are the first and the last day, in the form of [Day]; empty
	// means no bound. Day sets both.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Day

	Top int `json:"top,omitempty"` // rows of each day, the highest ones; zero means all
}

// Kind returns "logs.report".
func (ReportArgs) Kind() string { return "logs.report" }

// Check returns a [workers.FieldError] for the first field that is not allowed.
func (a ReportArgs) Check() error {
	if err := checkName("channel", "channel", a.Channel); err != nil {
		return err
	}
	if err := checkName("subscriber", "subscriber", a.Subscriber); err != nil {
		return err
	}
	switch {
	case a.Day.Day != "" && (a.From != "" || a.To != ""):
		return fields.Wrong("day", "it sets from and to: leave these out")
	case a.Top < 0:
		return fields.Wrong("top", "%d: it must not be negative", a.Top)
	}
	return cmp.Or(checkDay("from", a.From), checkDay("to", a.To), a.Day.check())
}

// days returns the bounds of the report of a job.
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

// Result is the result of logs.report and logs.count, as JSON. The sums are those of
// all lines that were counted, also of days that are not reported.
type Result struct {
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	Lines      int64    `json:"lines"` // counted + unknown_country + unparsable
	Counted    int64    `json:"counted"`
	Unknown    int64    `json:"unknown_country"`
	Unparsable int64    `json:"unparsable"`
	Files      int64    `json:"files"`
	Problems   []string `json:"problems"` // of files that are not counted completely
	CSV        string   `json:"csv"`      // as "skidway logs report -o csv" prints it
	Table      string   `json:"table"`    // as plain text
}

// Report is the handler of logs.report: its result has the counts of a subscriber. If
// the channel or the subscriber does not exist the job is retried. If the rows exceed
// [workers.MaxResult] the job is dead: fewer days, or Top, make fewer rows.
func (l *Handlers) Report(ctx context.Context, job *workers.Job[ReportArgs]) error {
	args := job.Args
	channel, err := distribute.OpenExisting(ctx, l.db, args.Channel)
	if err != nil {
		return invalidName(err)
	}
	options := args.days(job.Job)
	report, err := channel.Report(ctx, args.Subscriber, &options)
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
		result.Problems = append(result.Problems, p.File+": "+p.Detail)
	}
	for _, file := range report.Abandoned {
		result.Problems = append(result.Problems, file+": not counted, its upload was abandoned: ship it again")
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

// rowCells returns the values of a row in the order of the columns.
func rowCells(row distribute.Row, columns []string) []string {
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = map[string]string{"day": row.Group, "country": row.Member, "requests": strconv.FormatInt(row.Requests, 10)}[column]
	}
	return cells
}

// CountArgs are the args of logs.count: some files.
type CountArgs struct {
	Paths  []string `json:"paths"`            // as in [ShipArgs]
	By     []string `json:"by,omitempty"`     // day, country; empty means both
	Format string   `json:"format,omitempty"` // empty means auto
	LogTZ  string   `json:"log_tz,omitempty"` // zone of times that lines have without one; empty: as written
	Top    int      `json:"top,omitempty"`    // rows of each day, the highest ones; zero means all

	// The days that are counted are those of TZ; without it, those of the
	// times in the lines.
	Day
}

// Kind returns "logs.count".
func (CountArgs) Kind() string { return "logs.count" }

// Check returns a [workers.FieldError] for the first field that is not allowed.
func (a CountArgs) Check() error {
	if err := checkPaths(a.Paths); err != nil {
		return err
	}
	if a.Top < 0 {
		return fields.Wrong("top", "%d: it must not be negative", a.Top)
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
	if _, err := loadZone("log_tz", a.LogTZ); err != nil {
		return err
	}
	return a.Day.check()
}

func (l *Handlers) counting(a CountArgs) *distribute.CountryDayConfig {
	c := &distribute.CountryDayConfig{By: a.By, Format: a.Format, Countries: l.config.Countries}
	if a.TZ != "" {
		c.Zone, _ = a.zone() // check has returned the error
	}
	if a.LogTZ != "" {
		c.LogZone, _ = loadZone("log_tz", a.LogTZ)
	}
	return c
}

// Count is the handler of logs.count: it counts files in this process, without Redis.
// Its result is a [Result].
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
	db, err := skidway.Open(ctx, "embedded:", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch, err := distribute.NewBatch(db, aggregation, &distribute.BatchConfig{Workers: 1, Members: distribute.AccessLogs(false), Notify: logTo(ctx)}).Run(ctx, files)
	if err != nil {
		return err
	}
	for _, file := range batch.Files {
		if file.Outcome == distribute.Failed {
			return fmt.Errorf("no file is counted: %w", file.Err)
		}
	}
	return setResult(ctx, resultOf(batch.Report, distribute.Columns(aggregation.Settings()), args.Top))
}
