package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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

// outputFlag adds -o: a table on a terminal, CSV otherwise.
func outputFlag(c *cobra.Command) *choice {
	format := &choice{words: []string{"table", "csv", "json"}}
	c.Flags().VarP(format, "output", "o", "how to print (default: a table on a terminal, else csv)")
	complete(c, "output", format.words...)
	return format
}

// print writes a result in the format that was asked for.
func (a *app) print(format string, table, csv, json func(io.Writer) error) error {
	if format == "" {
		format = "csv"
		if file, ok := a.out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			format = "table"
		}
	}
	return a.write(map[string]func(io.Writer) error{"table": table, "csv": csv, "json": json}[format])
}

// write writes to standard output through one buffer. That it can't be written
// is an error.
func (a *app) write(result func(io.Writer) error) error {
	out := bufio.NewWriter(a.out)
	err := result(out)
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// printResult prints the rows, and on standard error which databases took part
// and the closing line.
func (a *app) printResult(format string, r result) error {
	if err := a.print(format, r.table, r.csv, r.json); err != nil {
		return err
	}
	if r.moving {
		a.console.notice("counting goes on: the rows are not all of the same moment")
	}
	if slices.Contains(r.columns, "country") && len(r.builds) > 0 {
		a.console.notice("country database: %s", strings.Join(buildNames(r.builds), ", "))
		if credit := attribution(r.builds); credit != "" {
			a.console.notice("%s", credit)
		}
	}
	a.console.line(closingLine(r.tally, r.took))
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
	return writeJSON(out, object)
}

func writeJSON(out io.Writer, object any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object)
}
