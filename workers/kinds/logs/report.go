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
	"skidway/distribute/cuts"
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
func (a ReportArgs) days(job *queue.Job) cuts.Query {
	if a.Day.Day != "" {
		a.From, a.To = a.Day.Day, a.Day.Day
	}
	var o cuts.Query
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
	Lines      int64    `json:"lines"` // counted + unknown_country + filtered + expired + unparsable
	Counted    int64    `json:"counted"`
	Unknown    int64    `json:"unknown_country"`
	Filtered   int64    `json:"filtered,omitempty"`
	Expired    int64    `json:"expired,omitempty"`
	Unparsable int64    `json:"unparsable"`
	All        int64    `json:"all"`                 // counted + unknown_country
	Crawlers   *int64   `json:"crawlers,omitempty"`  // of all; nil if they are not counted
	People     *int64   `json:"people,omitempty"`    // of all, those that are not of crawlers; nil if these are not counted
	PeopleBy   string   `json:"people_by,omitempty"` // what would count people, where crawlers are not counted
	Visitors   *int64   `json:"visitors,omitempty"`  // of the reported days, estimated; nil if the rows have none
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
	result := resultOf(report, args.Top)
	result.From, result.To = options.From, options.To
	return setResult(ctx, result)
}

func resultOf(report distribute.Report, top int) Result {
	t := report.Subscriber.Tally
	result := Result{
		Lines: t.Lines, Counted: t.Counted, Unknown: t.Unknown, Filtered: t.Filtered, Expired: t.Expired, Unparsable: t.Unparsable, All: t.All(), PeopleBy: report.Settings.WithCrawlers(),
		Files: t.Files, Problems: []string{},
	}
	if report.Settings.HasCrawlers() {
		people := t.People()
		result.Crawlers, result.People = &t.Crawlers, &people
	}
	for _, p := range report.Problems {
		result.Problems = append(result.Problems, p.File+": "+p.Detail)
	}
	for _, file := range report.Abandoned {
		result.Problems = append(result.Problems, file+": not counted, its upload was abandoned: ship it again")
	}
	var text, table strings.Builder
	records := csv.NewWriter(&text)
	counts := report.Tables[0]
	if counts.HasVisitors {
		result.Visitors = &counts.Total.Visitors
	}
	columns, figures := slices.Clone(counts.By), counts.Figures()
	for _, f := range figures {
		columns = append(columns, f.Name)
	}
	_ = records.Write(columns) // into memory
	aligned := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(aligned, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range counts.Top(top) {
		cells := slices.Clone(row.Values)
		for _, f := range figures {
			cell := ""
			if n, known := f.Value(&row.Counts); known {
				cell = strconv.FormatInt(n, 10)
			}
			cells = append(cells, cell)
		}
		_ = records.Write(cells)
		_, _ = fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	records.Flush()
	_ = aligned.Flush()
	result.CSV, result.Table = text.String(), table.String()
	return result
}

// CountArgs are the args of logs.count: some files.
type CountArgs struct {
	Paths  []string `json:"paths"`            // as in [ShipArgs]
	By     []string `json:"by,omitempty"`     // names of dimensions; empty means day and country
	Where  string   `json:"where,omitempty"`  // a filter of the lines, as of [cuts.ParseLineFilter]; empty means all
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
	if _, err := cuts.ParseCut(a.By); err != nil {
		return fields.Wrong("by", "%v", err)
	}
	if _, err := cuts.ParseLineFilter(a.Where); err != nil {
		return fields.Wrong("where", "%v", err)
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

func (l *Handlers) counting(a CountArgs) *distribute.CountingConfig {
	c := &distribute.CountingConfig{Where: a.Where, Format: a.Format, Countries: l.config.Countries, Networks: l.config.Networks}
	if len(a.By) > 0 {
		c.By = [][]string{a.By}
	}
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
	aggregation, err := distribute.NewCounting(l.counting(args))
	if err != nil {
		return workers.Dead(err)
	}
	db, err := skidway.Open(ctx, "embedded:", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch, err := distribute.NewBatch(db, aggregation, &distribute.BatchConfig{Workers: 1, Members: distribute.AccessLogs(false, args.Paths...), Notify: logTo(ctx)}).Run(ctx, files)
	if err != nil {
		return err
	}
	for _, file := range batch.Files {
		if file.Outcome == distribute.Failed {
			return fmt.Errorf("no file is counted: %w", file.Err)
		}
	}
	return setResult(ctx, resultOf(batch.Report, args.Top))
}
