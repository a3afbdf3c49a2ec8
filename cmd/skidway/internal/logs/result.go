package logs

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

// A result is a count, ready to be printed.
type result struct {
	tables    []cuts.Table
	top       int // rows of each day that are printed; 0: all
	settings  cuts.Settings
	tally     distribute.Tally
	took      time.Duration
	builds    []distribute.BuildShare
	problems  []problem
	abandoned []string
	moving    bool
	sources   []distribute.Source // that were imported

	visitorsFrom string // the first day with visitors by country; empty: all have them
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
		tables: report.Tables, settings: report.Settings, tally: s.Tally, took: s.Busy, builds: s.Builds,
		problems: problems, abandoned: report.Abandoned, moving: report.Moving, sources: report.Sources, visitorsFrom: report.VisitorsFrom,
	}
}

// printResult prints the rows, and on standard error the country databases and the
// closing line.
func printResult(a *cli.App, format string, r result) error {
	var err error
	switch format {
	case ndjson:
		err = a.Write(r.ndjson)
	case markdown:
		err = a.Write(r.markdown)
	default:
		err = a.Print(format, r.table, r.csv, r.json)
	}
	if err == nil {
		r.printSummary(a)
	}
	return err
}

// printSummary prints, on standard error, the country databases and the closing line.
func (r *result) printSummary(a *cli.App) {
	if r.moving {
		a.Console.Notice("counting goes on: the rows were read at different times")
	}
	if r.visitorsFrom != "" {
		a.Console.Notice("visitors by country are known from %s on: those of earlier days were too many", r.visitorsFrom)
	}
	if len(r.builds) > 0 && (r.settings.UsePlaces() || len(r.settings.Cuts) == 0) {
		a.Console.Notice("country database: %s", strings.Join(buildNames(r.builds), ", "))
		if credit := attribution(r.builds); credit != "" {
			a.Console.Notice("%s", credit)
		}
	}
	if by := r.settings.WithCrawlers(); by != "" {
		a.Console.Notice("people and crawlers are not counted apart: --by %s does that", by)
	}
	line := closingLine(r.tally, r.settings, r.took)
	with := slices.IndexFunc(r.tables, func(t cuts.Table) bool { return t.HasVisitors })
	switch {
	case with < 0 && r.settings.Visitors != nil:
		a.Console.Notice("no table has visitors: --by %s, without --where, has them", r.settings.Visitors)
	case with >= 0:
		line += fmt.Sprintf(" visitors=≈%d", r.tables[with].Total.Visitors)
		if len(r.sources) > 0 {
			a.Console.Notice("visitors are those of the lines that were counted here: imported sources have none")
		}
	}
	if n := r.foldedCells(); n > 0 {
		line += fmt.Sprintf(" folded_cells=%d", n)
	}
	if n := len(r.sources); n > 0 {
		line += fmt.Sprintf(" sources=%d", n)
	}
	a.Console.Line(line)
}

// foldedCells returns the number of cells of the printed days that were moved into (other).
func (r *result) foldedCells() (n int64) {
	var seen []int // a cut may have several tables
	for _, t := range r.tables {
		if !slices.Contains(seen, t.Cut) {
			seen, n = append(seen, t.Cut), n+t.Folded
		}
	}
	return n
}

// closingLine returns the summary of a count: lines = counted + unknown_country + filtered +
// expired + unparsable. It has the third and the fourth one where they are used, and the parts
// private, crawlers and people where they are known.
func closingLine(t distribute.Tally, settings cuts.Settings, took time.Duration) string {
	others, parts := "", ""
	if settings.Where != nil {
		others += fmt.Sprintf(" filtered=%d", t.Filtered)
	}
	if t.Expired > 0 {
		others += fmt.Sprintf(" expired=%d", t.Expired)
	}
	if settings.UsePlaces() {
		parts += fmt.Sprintf(" private=%d", t.Private)
	}
	if settings.HasCrawlers() {
		parts += fmt.Sprintf(" crawlers=%d people=%d", t.Crawlers, t.People())
	}
	return fmt.Sprintf("lines=%d counted=%d unknown_country=%d%s unparsable=%d files=%d seconds=%.3f%s",
		t.Lines, t.Counted, t.Unknown, others, t.Unparsable, t.Files, took.Seconds(), parts)
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

func (r *result) table(out io.Writer) error {
	for i, t := range r.tables {
		if len(r.tables) > 1 {
			if i > 0 {
				_, _ = fmt.Fprintln(out)
			}
			_, _ = fmt.Fprintf(out, "by %s\n", strings.Join(t.Names, ", "))
		}
		if err := tableView(&t).Table(t.Top(r.top)).Write(out); err != nil {
			return err
		}
	}
	return nil
}

// csv prints the first table, sorted by its columns also with --top, which puts the highest first.
func (r *result) csv(out io.Writer) error {
	if len(r.tables) == 0 {
		return nil
	}
	t := &r.tables[0]
	rows := slices.SortedFunc(slices.Values(t.Top(r.top)), func(a, b cuts.Row) int { return slices.Compare(a.Values, b.Values) })
	return cli.WriteCSV(out, tableView(t).CSV(rows))
}

// Formats of reports beside those of [cli.OutputFlag].
const (
	ndjson   = "ndjson"
	markdown = "markdown"
)

// ndjson prints the rows of all tables, each as one line of JSON, which names the table if there
// are several.
func (r *result) ndjson(out io.Writer) error {
	for _, t := range r.tables {
		view := tableView(&t)
		if len(r.tables) > 1 {
			view = append(cli.View[cuts.Row]{{Key: "by", Value: func(cuts.Row) any { return strings.Join(t.Names, ",") }}}, view...)
		}
		for _, row := range view.Objects(t.Top(r.top)) {
			if err := cli.WriteJSONLine(out, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// markdown prints the tables in the form of Markdown.
func (r *result) markdown(out io.Writer) error {
	escaped := strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`)
	for i, t := range r.tables {
		if i > 0 {
			_, _ = fmt.Fprintln(out) // into memory
		}
		rows, figures := t.Top(r.top), t.Figures()
		for n, record := range tableView(&t).CSV(rows) {
			if n == 0 { // headings, which are our own
				_, _ = fmt.Fprintf(out, "| %s |\n", strings.Join(record, " | "))
				_, _ = fmt.Fprintln(out, "|"+strings.Repeat(" --- |", len(t.By))+strings.Repeat(" ---: |", len(record)-len(t.By)))
				continue
			}
			for j := range t.By {
				record[j] = escaped.Replace(cli.Printable(record[j]))
			}
			numbers := record[len(t.By):]
			for k, f := range figures {
				of := numbers[k*len(numbers)/len(figures):] // the number, and if it is compared, the one before
				of[0] = figureMark(f, rows[n-1].AtLeast) + of[0]
				if t.TotalBefore != nil {
					of[1] = figureMark(f, rows[n-1].BeforeAtLeast) + of[1]
				}
			}
			_, _ = fmt.Fprintf(out, "| %s |\n", strings.Join(record, " | "))
		}
	}
	return nil
}

// A setTally is a tally with the settings of the counts, which decide what of it is known.
type setTally struct {
	distribute.Tally
	settings cuts.Settings
}

// crawlers returns the lines of crawlers, nil if they are not counted.
func (t setTally) crawlers() any {
	if !t.settings.HasCrawlers() {
		return nil
	}
	return t.Crawlers
}

var tallyView = cli.View[setTally]{
	{Key: "lines", Value: func(t setTally) any { return t.Lines }},
	{Key: "counted", Value: func(t setTally) any { return t.Counted }},
	{Key: "unknown_country", Value: func(t setTally) any { return t.Unknown }},
	{Key: "filtered", Value: func(t setTally) any { return t.Filtered }},
	{Key: "expired", Value: func(t setTally) any { return t.Expired }},
	{Key: "unparsable", Value: func(t setTally) any { return t.Unparsable }},
	{Key: "private", Value: func(t setTally) any { return t.Private }},
	{Key: "crawlers", Value: setTally.crawlers, OmitNil: true},
	{Key: "files", Value: func(t setTally) any { return t.Files }},
	{Key: "partial", Value: func(t setTally) any { return t.Partial }},
	{Key: "failed", Value: func(t setTally) any { return t.Failed }},
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

var sourceView = cli.View[distribute.Source]{
	{Key: "source", Value: func(s distribute.Source) any { return s.ID }},
	{Key: "epoch", Value: func(s distribute.Source) any { return s.Epoch }},
	{Key: "commit", Value: func(s distribute.Source) any { return s.Commit }},
	{Key: "imported", Value: func(s distribute.Source) any { return s.Imported }},
	{Key: "lines", Value: func(s distribute.Source) any { return s.Tally.Lines }},
}

// summaryOf returns the numbers of lines: all that are in cells, and those of people, or else the cut
// that counts them.
func summaryOf(t distribute.Tally, settings cuts.Settings) cli.Object {
	summary := append(tallyView.Object(setTally{t, settings}), cli.Field{Key: "all", Value: t.All()})
	if by := settings.WithCrawlers(); by != "" {
		return append(summary, cli.Field{Key: "people", Value: nil}, cli.Field{Key: "people_by", Value: by})
	}
	if settings.HasCrawlers() {
		summary = append(summary, cli.Field{Key: "people", Value: t.People()})
	}
	return summary
}

func (r *result) json(out io.Writer) error {
	var tables []cli.Object
	for _, t := range r.tables {
		tables = append(tables, cli.Object{{Key: "by", Value: t.Names}, {Key: "rows", Value: tableView(&t).Objects(t.Top(r.top))}})
	}
	object := cli.Object{{Key: "rows", Value: []cli.Object{}}}
	switch len(tables) {
	case 0:
	case 1:
		object[0] = tables[0][1]
	default:
		object[0] = cli.Field{Key: "tables", Value: tables}
	}
	object = append(object, cli.Object{
		{Key: "summary", Value: append(summaryOf(r.tally, r.settings), cli.Field{Key: "seconds", Value: r.took.Seconds()})},
		{Key: "builds", Value: buildView.Objects(r.builds)},
		{Key: "problems", Value: problemView.Objects(r.problems)},
		{Key: "abandoned", Value: append([]string{}, r.abandoned...)},
	}...)
	if len(r.sources) > 0 {
		object = append(object, cli.Field{Key: "sources", Value: sourceView.Objects(r.sources)})
	}
	if r.visitorsFrom != "" {
		object = append(object, cli.Field{Key: "visitors_by_country_from", Value: r.visitorsFrom})
	}
	if r.moving {
		object = append(object, cli.Field{Key: "moving", Value: true})
	}
	return cli.WriteJSON(out, object)
}
