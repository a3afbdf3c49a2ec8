package logs

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/geo"
)

// A result is a count, ready to be printed.
type result struct {
	columns   []string // "day", "country" or both
	rows      []distribute.Row
	tally     distribute.Tally
	took      time.Duration
	builds    []distribute.BuildShare
	problems  []problem
	abandoned []string
	moving    bool
}

// A problem is what is wrong with a file.
type problem struct {
	File, Note string
	missing    bool // lines of it are not in the counts
}

func resultOf(report distribute.Report) result {
	s := report.Subscriber
	var problems []problem
	for _, p := range report.Problems {
		problems = append(problems, problem{p.File, p.Detail, p.Missing()})
	}
	return result{
		columns: distribute.Columns(s.Settings), rows: report.Rows, tally: s.Tally, took: s.Busy, builds: s.Builds,
		problems: problems, abandoned: report.Abandoned, moving: report.Moving,
	}
}

// printResult prints the rows, and on standard error the country databases and the
// closing line.
func printResult(a *cli.App, format string, r result) error {
	if err := a.Print(format, r.view().Table(r.rows).Write, r.csv, r.json); err != nil {
		return err
	}
	if r.moving {
		a.Console.Notice("counting goes on: the rows were read at different times")
	}
	if slices.Contains(r.columns, "country") && len(r.builds) > 0 {
		a.Console.Notice("country database: %s", strings.Join(buildNames(r.builds), ", "))
		if credit := attribution(r.builds); credit != "" {
			a.Console.Notice("%s", credit)
		}
	}
	a.Console.Line(closingLine(r.tally, r.took))
	return nil
}

// closingLine returns the summary of a count: lines = counted + unknown_country + unparsable.
func closingLine(t distribute.Tally, took time.Duration) string {
	return fmt.Sprintf("lines=%d counted=%d unknown_country=%d unparsable=%d files=%d seconds=%.3f",
		t.Lines, t.Counted, t.Unknown, t.Unparsable, t.Files, took.Seconds())
}

// buildNames returns the names of the databases, with their shares if there are
// several.
func buildNames(builds []distribute.BuildShare) []string {
	var names []string
	for _, b := range builds {
		name := b.Build
		if len(builds) > 1 {
			name += fmt.Sprintf(" (%d lines)", b.Lines)
		}
		names = append(names, name)
	}
	return names
}

// attribution returns the credit of the embedded database if it, of any date, was
// used.
func attribution(builds []distribute.BuildShare) string {
	embedded, err := geo.Default()
	if err != nil {
		return ""
	}
	for _, b := range builds {
		if strings.HasPrefix(b.Build, embedded.Build().Name+" ") {
			return geo.Attribution
		}
	}
	return ""
}

// view returns the columns of the count, and in tables a bar in proportion to the
// highest number.
func (r *result) view() (v cli.View[distribute.Row]) {
	highest, used, last := int64(1), 0, ""
	for _, row := range r.rows {
		highest = max(highest, row.Requests)
	}
	for _, column := range r.columns {
		used += len(column) + 4 // a day is three columns wider than its heading
		c := cli.Column[distribute.Row]{Key: column, Head: strings.ToUpper(column), Omit: true}
		if column == "day" {
			c.Value = func(row distribute.Row) any { return row.Group }
			c.Cell = func(row distribute.Row) string {
				if len(r.columns) == 2 && row.Group == last {
					return "" // each day is printed once
				}
				last = row.Group
				return row.Group
			}
		} else {
			c.Value, c.Cell = func(row distribute.Row) any { return row.Member }, func(row distribute.Row) string { return row.Member }
		}
		v = append(v, c)
	}
	room := cli.TableWidth - used - len("REQUESTS") - 8
	return append(v, cli.Column[distribute.Row]{
		Key: "requests", Head: "REQUESTS", Right: true, Value: func(row distribute.Row) any { return row.Requests },
		Cell: func(row distribute.Row) string { return humanize.Comma(row.Requests) },
	}, cli.Column[distribute.Row]{
		Head: " ", Cell: func(row distribute.Row) string { return strings.Repeat("▇", int(row.Requests*int64(room)/highest)) },
	})
}

func (r *result) csv(out io.Writer) error {
	// By day and country, also with --top, which puts the highest first.
	rows := slices.SortedFunc(slices.Values(r.rows), func(a, b distribute.Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member))
	})
	return cli.WriteCSV(out, r.view().CSV(rows))
}

var tallyView = cli.View[distribute.Tally]{
	{Key: "lines", Value: func(t distribute.Tally) any { return t.Lines }},
	{Key: "counted", Value: func(t distribute.Tally) any { return t.Counted }},
	{Key: "unknown_country", Value: func(t distribute.Tally) any { return t.Unknown }},
	{Key: "unparsable", Value: func(t distribute.Tally) any { return t.Unparsable }},
	{Key: "files", Value: func(t distribute.Tally) any { return t.Files }},
	{Key: "partial", Value: func(t distribute.Tally) any { return t.Partial }},
	{Key: "failed", Value: func(t distribute.Tally) any { return t.Failed }},
}

var buildView = cli.View[distribute.BuildShare]{
	{Key: "build", Value: func(b distribute.BuildShare) any { return b.Build }},
	{Key: "lines", Value: func(b distribute.BuildShare) any { return b.Lines }},
}

var problemView = cli.View[problem]{
	{Key: "file", Value: func(p problem) any { return p.File }},
	{Key: "note", Value: func(p problem) any { return p.Note }},
	{Key: "missing", Value: func(p problem) any { return p.missing }},
}

func (r *result) json(out io.Writer) error {
	object := cli.Object{
		{Key: "rows", Value: r.view().Objects(r.rows)},
		{Key: "summary", Value: append(tallyView.Object(r.tally), cli.Field{Key: "seconds", Value: r.took.Seconds()})},
		{Key: "builds", Value: buildView.Objects(r.builds)},
		{Key: "problems", Value: problemView.Objects(r.problems)},
		{Key: "abandoned", Value: append([]string{}, r.abandoned...)},
	}
	if r.moving {
		object = append(object, cli.Field{Key: "moving", Value: true})
	}
	return cli.WriteJSON(out, object)
}
