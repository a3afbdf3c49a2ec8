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

// A result is what was counted, ready to be printed.
type result struct {
	columns   []string // "day", "country" or both
	rows      []distribute.Row
	tally     distribute.Tally
	took      time.Duration
	builds    []distribute.BuildShare
	problems  []distribute.Problem
	abandoned []string
	moving    bool
}

func resultOf(report distribute.Report) result {
	s := report.Subscriber
	return result{
		columns: distribute.Columns(s.Settings), rows: report.Rows, tally: s.Tally, took: s.Busy, builds: s.Builds,
		problems: report.Problems, abandoned: report.Abandoned, moving: report.Moving,
	}
}

// printResult prints the rows, and on standard error which databases took part
// and the closing line.
func printResult(a *cli.App, format string, r result) error {
	if err := a.Print(format, r.view().Table(r.rows).Write, r.csv, r.json); err != nil {
		return err
	}
	if r.moving {
		a.Console.Notice("counting goes on: the rows are not all of the same moment")
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

// closingLine sums up a count: lines = counted + unknown_country + unparsable.
func closingLine(t distribute.Tally, took time.Duration) string {
	return fmt.Sprintf("lines=%d counted=%d unknown_country=%d unparsable=%d files=%d seconds=%.3f",
		t.Lines, t.Counted, t.Unknown, t.Unparsable, t.Files, took.Seconds())
}

// buildNames names the databases, with their shares if there are several.
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

// attribution is the credit to be shown if the embedded database, of whatever
// date, took part.
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

// view has the columns that were counted by, and in tables a bar, as long as its
// number is to the highest.
func (r *result) view() (v cli.View[distribute.Row]) {
	highest, used, last := int64(1), 0, ""
	for _, row := range r.rows {
		highest = max(highest, row.Requests)
	}
	for _, column := range r.columns {
		used += len(column) + 4 // a day is three longer than its head
		c := cli.Column[distribute.Row]{Key: column, Head: strings.ToUpper(column), Omit: true}
		if column == "day" {
			c.Value = func(row distribute.Row) any { return row.Group }
			c.Cell = func(row distribute.Row) string {
				if len(r.columns) == 2 && row.Group == last {
					return "" // a day is named once
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
	// By day and country even with --top, which shows the highest first.
	rows := slices.SortedFunc(slices.Values(r.rows), func(a, b distribute.Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member))
	})
	return cli.WriteCSV(out, r.view().CSV(rows))
}

type (
	summaryJSON struct {
		Lines      int64   `json:"lines"`
		Counted    int64   `json:"counted"`
		Unknown    int64   `json:"unknown_country"`
		Unparsable int64   `json:"unparsable"`
		Files      int64   `json:"files"`
		Partial    int64   `json:"partial"`
		Failed     int64   `json:"failed"`
		Seconds    float64 `json:"seconds"`
	}
	buildJSON struct {
		Build string `json:"build"`
		Lines int64  `json:"lines"`
	}
	problemJSON struct {
		File    string `json:"file"`
		Note    string `json:"note"`
		Missing bool   `json:"missing"`
	}
	resultJSON struct {
		Rows      []cli.Object  `json:"rows"`
		Summary   summaryJSON   `json:"summary"`
		Builds    []buildJSON   `json:"builds"`
		Problems  []problemJSON `json:"problems"`
		Abandoned []string      `json:"abandoned"`
		Moving    bool          `json:"moving,omitempty"`
	}
)

func (r *result) json(out io.Writer) error {
	t := r.tally
	object := resultJSON{
		Rows: r.view().Objects(r.rows), Builds: []buildJSON{}, Problems: []problemJSON{},
		Abandoned: append([]string{}, r.abandoned...), Moving: r.moving,
		Summary: summaryJSON{t.Lines, t.Counted, t.Unknown, t.Unparsable, t.Files, t.Partial, t.Failed, r.took.Seconds()},
	}
	for _, b := range r.builds {
		object.Builds = append(object.Builds, buildJSON(b))
	}
	for _, p := range r.problems {
		object.Problems = append(object.Problems, problemJSON(p))
	}
	return cli.WriteJSON(out, object)
}
