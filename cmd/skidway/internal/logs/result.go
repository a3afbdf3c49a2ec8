package logs

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	if err := a.Print(format, r.table, r.csv, r.json); err != nil {
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

// cells are a row's values in the order of the columns.
func (r *result) cells(row distribute.Row) []string {
	var cells []string
	for _, column := range r.columns {
		if column == "day" {
			cells = append(cells, row.Group)
		} else {
			cells = append(cells, row.Member)
		}
	}
	return cells
}

func (r *result) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write(append(slices.Clone(r.columns), "requests")) // Error tells
	// By day and country even with --top, which shows the highest first.
	rows := slices.SortedFunc(slices.Values(r.rows), func(a, b distribute.Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member))
	})
	for _, row := range rows {
		_ = w.Write(append(r.cells(row), strconv.FormatInt(row.Requests, 10)))
	}
	w.Flush()
	return w.Error()
}

type (
	rowJSON struct {
		Day      string `json:"day,omitempty"`
		Country  string `json:"country,omitempty"`
		Requests int64  `json:"requests"`
	}
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
		Rows      []rowJSON     `json:"rows"`
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
		Rows: []rowJSON{}, Builds: []buildJSON{}, Problems: []problemJSON{},
		Abandoned: append([]string{}, r.abandoned...), Moving: r.moving,
		Summary: summaryJSON{t.Lines, t.Counted, t.Unknown, t.Unparsable, t.Files, t.Partial, t.Failed, r.took.Seconds()},
	}
	for _, row := range r.rows {
		line := rowJSON{Requests: row.Requests}
		if slices.Contains(r.columns, "day") {
			line.Day = row.Group
		}
		if slices.Contains(r.columns, "country") {
			line.Country = row.Member
		}
		object.Rows = append(object.Rows, line)
	}
	for _, b := range r.builds {
		object.Builds = append(object.Builds, buildJSON(b))
	}
	for _, p := range r.problems {
		object.Problems = append(object.Problems, problemJSON(p))
	}
	return cli.WriteJSON(out, object)
}

// table shows each row with a bar, as long as its number is to the highest.
func (r *result) table(out io.Writer) error {
	var t cli.Table
	for _, column := range r.columns {
		t.Heads, t.Right = append(t.Heads, strings.ToUpper(column)), append(t.Right, false)
	}
	t.Heads, t.Right = append(t.Heads, "REQUESTS", ""), append(t.Right, true, false)
	most, used := int64(1), 0
	for _, row := range r.rows {
		most = max(most, row.Requests)
	}
	for _, column := range r.columns {
		used += len(column) + 4 // a day is three longer than its head
	}
	room := cli.TableWidth - used - len("REQUESTS") - 8
	last := ""
	for _, row := range r.rows {
		cells := r.cells(row)
		if len(cells) == 2 {
			if cells[0] == last {
				cells[0] = "" // a day is named once
			} else {
				last = cells[0]
			}
		}
		length := int(row.Requests * int64(room) / most)
		t.Add(append(cells, humanize.Comma(row.Requests), strings.Repeat("▇", length))...)
	}
	return t.Write(out)
}
