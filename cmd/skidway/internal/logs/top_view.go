package logs

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
)

// A liveView prints or draws what is counted.
type liveView struct {
	*cli.App
	distribute.LiveCounts
	failure error // of the last reading; nil: it has succeeded
	format  string
	screen  *cli.Screen // nil: one view is printed
	channel string      // empty: files are counted
	others  string      // subscribers of the channel
	rows    int         // of each table; 0: all
	every   time.Duration

	rate        rateMeter
	done, total int64              // bytes of the files that are counted
	events      []distribute.Event // that are printed below the last view
}

// A rateMeter has the numbers of lines that were read in the last seconds.
type rateMeter struct{ readings []lineReading }

type lineReading struct {
	at    time.Time
	lines int64
}

// rateSpan is the time of which the rate is: workers commit every 5 seconds.
const rateSpan = 10 * time.Second

func (m *rateMeter) add(at time.Time, lines int64) {
	if n := len(m.readings); n > 0 && lines < m.readings[n-1].lines { // a reset
		m.readings = nil
	}
	m.readings = append(m.readings, lineReading{at, lines})
	for len(m.readings) > 2 && at.Sub(m.readings[1].at) >= rateSpan {
		m.readings = m.readings[1:]
	}
}

// perSecond returns the lines per second, and whether they are known.
func (m *rateMeter) perSecond() (rate float64, known bool) {
	if len(m.readings) < 2 {
		return 0, false
	}
	first, last := m.readings[0], m.readings[len(m.readings)-1]
	seconds := last.at.Sub(first.at).Seconds()
	return math.Round(float64(last.lines-first.lines) / max(seconds, 0.001)), seconds > 0
}

// add takes a reading. After an error the counts are those of the reading before.
func (v *liveView) add(live distribute.LiveCounts, err error) {
	if v.failure = err; err == nil {
		v.LiveCounts = live
	}
}

// begin shows what a batch counts until stop is called.
func (v *liveView) begin(ctx context.Context, batch *distribute.Batch, total int64) (stop func(), err error) {
	v.total = total
	if v.screen == nil {
		started := time.Now()
		v.rate.add(started, 0)
		return func() { _, lines := batch.Progress(); v.rate.add(time.Now(), lines) }, nil
	}
	if err := v.screen.Open(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var drawing sync.WaitGroup
	drawing.Go(func() {
		ticker := time.NewTicker(v.every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			live, err := batch.Live(ctx)
			if err == nil && live.Now.IsZero() { // it begins or ends
				live = v.LiveCounts
			}
			v.add(live, err)
			var lines int64
			v.done, lines = batch.Progress()
			v.Subscriber.Tally.Lines = lines
			v.rate.add(time.Now(), lines)
			_ = v.draw() // the result is printed all the same, or its error reported
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); drawing.Wait() }, nil
}

// keep keeps an event, if there is a screen that it would spoil.
func (v *liveView) keep(e distribute.Event) bool {
	if v.screen != nil {
		v.events = append(v.events, e)
	}
	return v.screen != nil
}

// end prints or draws the last view, with the counts of all lines.
func (v *liveView) end(r result) error {
	v.add(distribute.LiveCounts{Subscriber: distribute.Subscriber{Tally: r.tally}, Settings: r.settings, Tables: r.tables}, nil)
	v.done = v.total
	if v.screen == nil {
		return v.print()
	}
	defer v.close()
	return v.draw()
}

// close closes the screen, and prints the events that were kept. It may be called again.
func (v *liveView) close() {
	v.screen.Close()
	for _, e := range v.events {
		printEvent(v.Console, e)
	}
	v.events = nil
}

func (v *liveView) print() error { return v.Print(v.format, v.table, v.csv, v.json) }

func (v *liveView) draw() error {
	_, height := v.screen.Size()
	head, files := v.head(), v.files()
	rows := max(1, height-len(head)-len(files)-1)
	if v.rows > 0 {
		rows = min(rows, v.rows)
	}
	return v.screen.Draw(append(append(head, v.tables(rows)...), files...))
}

func (v *liveView) table(out io.Writer) error {
	lines := append(append(v.head(), v.tables(v.rows)...), v.files()...)
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// head returns the lines above the tables.
func (v *liveView) head() (lines []string) {
	t := v.Subscriber.Tally
	if v.channel != "" {
		lines = append(lines,
			cli.Printable(fmt.Sprintf("channel %s  subscriber %s%s", v.channel, v.Subscriber.Name, v.others)),
			"window  "+windowLine(v.Used, v.Window),
			fmt.Sprintf("files   %s in Redis, %s being counted; shippers: %d", humanize.Comma(v.Files), humanize.Comma(v.Claimed), v.Shippers))
	} else if v.total > 0 {
		lines = append(lines, "files   "+windowLine(v.done, v.total))
	}
	text := "lines   " + humanize.Comma(t.Lines)
	if rate, known := v.rate.perSecond(); known {
		text += ", " + short(int64(rate), 10_000_000) + " lines/s"
	}
	if accounted := t.Counted + t.Unknown + t.Filtered + t.Expired + t.Unparsable; accounted > 0 {
		text += fmt.Sprintf("; unknown country %s, unparsable %s", short(t.Unknown, 10_000_000), short(t.Unparsable, 10_000_000))
	}
	lines = append(lines, text)
	if by := v.Settings.WithCrawlers(); by != "" {
		lines = append(lines, "people  are not counted apart: --by "+by+" does that")
	} else if v.Settings.HasCrawlers() {
		lines = append(lines, fmt.Sprintf("people  %s of %s", humanize.Comma(t.People()), humanize.Comma(t.All())))
	}
	lines = append(lines, "days    "+v.days())
	if v.failure != nil {
		lines = append(lines, "not read: "+cli.Printable(v.failure.Error()))
	}
	return append(lines, "")
}

// days returns which days the tables are of.
func (v *liveView) days() string {
	if len(v.Tables) == 0 || v.Tables[0].From == "" {
		return "none counted yet"
	}
	first, last := v.Tables[0].From, v.Tables[0].To
	text := first + " to " + last
	if first == last {
		text = first
	}
	if v.DaysShown < v.Days {
		text += fmt.Sprintf(", of %s days", humanize.Comma(v.Days))
	}
	return text
}

// Columns of a table beside others.
const (
	liveName   = 10
	liveNumber = 9
	liveShare  = 3
	liveGap    = "    "
)

// tables returns the tables side by side, each with so many rows; 0: all.
func (v *liveView) tables(rows int) (lines []string) {
	var columns [][]string
	height := 0
	for _, t := range v.Tables {
		column := liveTable(&t, rows)
		columns, height = append(columns, column), max(height, len(column))
	}
	for i := range height {
		var cells []string
		for _, column := range columns {
			cell := strings.Repeat(" ", liveName+liveNumber+liveShare+2)
			if i < len(column) {
				cell = column[i]
			}
			cells = append(cells, cell)
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, liveGap), " "))
	}
	return lines
}

// liveTable returns the heading and rows of a table.
func liveTable(t *cuts.Table, rows int) []string {
	line := func(name, number, share string) string {
		name = cli.Cut(name, liveName)
		return name + strings.Repeat(" ", liveName-utf8.RuneCountInString(name)) + fmt.Sprintf(" %*s %*s", liveNumber, number, liveShare, share)
	}
	lines := []string{line(strings.ToUpper(t.By[0]), "REQUESTS", "")}
	for _, row := range t.Top(rows) {
		number, share := short(row.Requests, 10_000_000), percent(row.Requests, t.Total.Requests)
		if row.AtLeast {
			number, share = "≥"+short(row.Requests, 1_000_000), ""
		}
		if share == "100%" {
			share = "all"
		}
		lines = append(lines, line(liveValue(t.By[0], row.Values[0]), number, share))
	}
	return lines
}

// liveValue returns a value as the view names it.
func liveValue(column, value string) string {
	if value == cuts.Missing && (column == cuts.Crawler.String() || column == cuts.CrawlerClass.String()) {
		return "people"
	}
	return value
}

// short returns a number, from a bound on with a prefix of the SI: "12.3 M".
func short(n, bound int64) string {
	if n < bound {
		return humanize.Comma(n)
	}
	return strings.TrimSpace(humanize.SIWithDigits(float64(n), 1, ""))
}

// files returns the table of the files that are being counted.
func (v *liveView) files() []string {
	if len(v.Counting) == 0 {
		return nil
	}
	var text strings.Builder
	_ = v.fileView().Table(v.Counting).Write(&text) // a strings.Builder returns no error
	lines := append([]string{""}, strings.Split(strings.TrimRight(text.String(), "\n"), "\n")...)
	if more := v.Claimed - int64(len(v.Counting)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

func (v *liveView) fileView() cli.View[distribute.LiveFile] {
	type file = distribute.LiveFile
	return cli.View[file]{
		{Key: "name", Head: "FILE", Value: func(f file) any { return f.Name }, Cell: func(f file) string { return cli.Tail(f.Name, 40) }},
		{Key: "uploaded", Head: "THERE", Right: true, Value: func(f file) any { return f.Uploaded }, Cell: func(f file) string { return arrived(f.Uploaded, f.Size) }},
		{Key: "size", Value: func(f file) any { return f.Size }},
		{Key: "lines", Head: "LINES", Right: true, Value: func(f file) any { return f.Lines }, Cell: func(f file) string { return humanize.Comma(f.Lines) }},
		{Key: "since", Head: "SINCE", Right: true, Value: func(f file) any { return f.Since }, Cell: func(f file) string {
			return max(0, v.Now.Sub(f.Since)).Round(time.Second).String()
		}},
	}
}

// lineRate returns the lines per second, nil if they are not known.
func (v *liveView) lineRate() any {
	if rate, ok := v.rate.perSecond(); ok {
		return int64(rate)
	}
	return nil
}

// csv prints one figure a line, so that all kinds of rows have the same columns.
func (v *liveView) csv(out io.Writer) error {
	rows := [][]string{figureHeads}
	if v.channel != "" {
		rows = windowFigures(v.channel, v.Used, v.Window)
	}
	add := func(kind, name, figure string, n int64) {
		rows = append(rows, []string{kind, name, figure, strconv.FormatInt(n, 10)})
	}
	if v.channel != "" {
		add("channel", v.channel, "files", v.Files)
		add("channel", v.channel, "shippers", v.Shippers)
		add("subscriber", v.Subscriber.Name, "counting", v.Claimed)
		add("subscriber", v.Subscriber.Name, "days", v.Days)
		add("subscriber", v.Subscriber.Name, "days_shown", v.DaysShown)
	}
	for _, figure := range tallyView.Figures(setTally{v.Subscriber.Tally, v.Settings}) {
		rows = append(rows, []string{"subscriber", v.Subscriber.Name, figure[0], figure[1]})
	}
	if rate, ok := v.lineRate().(int64); ok {
		add("subscriber", v.Subscriber.Name, "lines_per_second", rate)
	}
	for _, t := range v.Tables {
		for _, row := range t.Top(v.rows) {
			add(t.By[0], row.Values[0], "requests", row.Requests)
		}
	}
	records := v.fileView().CSV(v.Counting)
	for _, record := range records[1:] {
		rows = append(rows, figureRows("file", records[0], record)...)
	}
	return cli.WriteCSV(out, rows)
}

func (v *liveView) json(out io.Writer) error {
	tables := []cli.Object{}
	for _, t := range v.Tables {
		rows := make([]cli.Object, 0, len(t.Rows))
		for _, row := range t.Top(v.rows) {
			object := cli.Object{{Key: t.By[0], Value: row.Values[0]}, {Key: "requests", Value: row.Requests}}
			if row.AtLeast {
				object = append(object, cli.Field{Key: "at_least", Value: true})
			}
			rows = append(rows, object)
		}
		tables = append(tables, cli.Object{{Key: "by", Value: t.Names}, {Key: "from", Value: t.From}, {Key: "to", Value: t.To}, {Key: "rows", Value: rows}})
	}
	var object cli.Object
	if v.channel != "" {
		object = cli.Object{
			{Key: "channel", Value: v.channel}, {Key: "now", Value: v.Now.UTC()},
			windowObject(v.Used, v.Window),
			{Key: "files", Value: v.Files}, {Key: "shippers", Value: v.Shippers}, {Key: "subscriber", Value: v.Subscriber.Name},
			{Key: "days", Value: v.Days}, {Key: "days_shown", Value: v.DaysShown},
		}
	}
	return cli.WriteJSON(out, append(object,
		cli.Field{Key: "lines_per_second", Value: v.lineRate()}, cli.Field{Key: "summary", Value: summaryOf(v.Subscriber.Tally, v.Settings)},
		cli.Field{Key: "tables", Value: tables}, cli.Field{Key: "counting", Value: v.fileView().Objects(v.Counting)}))
}
