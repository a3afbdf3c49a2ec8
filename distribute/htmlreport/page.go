package htmlreport

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/distribute"
	"skidway/distribute/accesslog/agents"
	"skidway/distribute/cuts"
	"skidway/distribute/worldmap"
	"skidway/internal/look"
)

// Options are settings of a page.
type Options struct {
	// Channel is the name of the channel; empty: files were counted without one.
	Channel string

	// Generated is the time that the page shows as that of the report.
	Generated time.Time

	// Where is the filter of the query of the report, beside that of its settings; empty: none.
	Where string

	// Attribution is the credit of a country database; empty: none.
	Attribution string

	// MaxBytes bounds the page. Zero means [DefaultMaxBytes].
	MaxBytes int
}

// DefaultMaxBytes bounds a page unless Options.MaxBytes is set.
const DefaultMaxBytes = 1 << 20

// A TooLargeError is the error for a page that does not fit its bound with the fewest details.
type TooLargeError struct{ Bytes, MaxBytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the page has %d bytes with the fewest details, more than %d: choose fewer days, or allow more", e.Bytes, e.MaxBytes)
}

// A TooManyDaysError is the error for a report of more days than a page can have, those with which
// they are compared among them.
type TooManyDaysError struct {
	First, Last string
	Days        int
}

func (e *TooManyDaysError) Error() string {
	return fmt.Sprintf("a page has at most %s days, and from %s to %s are %s: choose fewer days", humanize.Comma(maxDays), e.First, e.Last, humanize.Comma(int64(e.Days)))
}

// ErrNoDays is the error for a report whose tables have no column day, see [Query].
var ErrNoDays = errors.New("the report has no table by day")

//go:embed page.html
var pageHTML string

//go:embed report.css
var reportStyle string

//go:embed number.js
var numberScript string

//go:embed page.js
var pageScript string

// pageTemplate parses the template at its first use: most commands write no page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// A detail is how much of a report a page has.
type detail struct {
	weekly int // countries behind the highest so many are counted by week
	listed int // values of a list behind the highest so many are added up
}

// lists is the number of values of a list, but for countries, of which all are there.
const lists = 50

// details are tried in turn, until the page is small enough. The first has everything.
var details = []detail{{everyCountry, lists}, {100, lists}, {50, lists}, {25, lists}, {10, lists}, {10, 25}, {10, 10}, {0, 10}}

const everyCountry = 1 << 20

// Write writes the page of a report, whose tables are those of [Query]. It is a file of HTML that needs
// nothing else. Errors are [ErrNoDays], a [TooManyDaysError], a [TooLargeError], and those of w.
func Write(w io.Writer, report distribute.Report, options Options) error {
	hasDay := func(t cuts.Table) bool { return slices.Contains(t.By, "day") }
	counted := len(report.Tables) > 0
	report.Tables = slices.DeleteFunc(slices.Clone(report.Tables), func(t cuts.Table) bool { return !hasDay(t) })
	if len(report.Tables) == 0 && counted {
		return ErrNoDays
	}
	days, err := newCalendar(report.Tables)
	if err != nil {
		return err
	}
	bound := cmp.Or(options.MaxBytes, DefaultMaxBytes)
	size := 0
	for _, d := range details {
		var page strings.Builder
		if err := pageTemplate().Execute(&page, newPage(report, options, days, d)); err != nil {
			return err
		}
		if size = page.Len(); size <= bound {
			_, err := io.WriteString(w, page.String())
			return err
		}
	}
	return &TooLargeError{size, bound}
}

// Query returns what a page shows of counts with some settings: for each cut its dimensions by
// day, and the days alone if visitors are counted.
func Query(settings cuts.Settings) (by [][]string) {
	for _, cut := range settings.Cuts {
		names := []string{"day"}
		for _, d := range cut {
			if !isTime(d.Kind.String()) {
				names = append(names, d.String())
			}
		}
		by = append(by, names)
	}
	if days := []string{"day"}; settings.Visitors != nil && !slices.ContainsFunc(by, func(names []string) bool { return slices.Equal(names, days) }) {
		by = append(by, days)
	}
	return by
}

// A page has what the template shows.
type page struct {
	Title, Heading, Of, Range string
	Filters                   []string    // that requests match
	StyleHash, ScriptHash     template.JS // base64
	Style                     template.CSS
	Script                    template.JS
	Data                      template.HTML // for the script

	Days       *calendar // nil: nothing was counted
	Compared   bool
	HasRange   bool  // days can be chosen: they were counted, and there are several
	Spans      []int // the last so many days can be chosen
	HasWho     bool
	Visitors   bool // the days have visitors
	Classes    []string
	Figures    []figure
	Map        *worldmap.Drawing
	Changed    []changed
	Plot       plot
	Months     []month
	Tables     []list
	FirstTable string

	Account      []accountRow
	Problems     []problem
	ProblemsHead string
	Notes        []string
}

// The style sheet and the script of the page, which are made when they are first needed.
var (
	pageStyle   = sync.OnceValue(func() string { return look.Style + reportStyle })
	wholeScript = sync.OnceValue(func() string { return compact(numberScript + pageScript) })
)

func hashOf(text string) template.JS {
	sum := sha256.Sum256([]byte(text))
	return template.JS("sha256-" + base64.StdEncoding.EncodeToString(sum[:])) //nolint:gosec // letters and digits
}

func newPage(report distribute.Report, options Options, days *calendar, d detail) *page {
	visitors := visitorsOf(report.Tables)
	report.Tables = withoutParts(report.Tables)
	p := &page{
		Heading: headingOf(report.Tables), StyleHash: hashOf(pageStyle()), ScriptHash: hashOf(wholeScript()),
		Style: template.CSS(pageStyle()), Script: template.JS(wholeScript()), FirstTable: "report", //nolint:gosec // our own files
	}
	p.Of = "Files that were counted in one run."
	p.Title = p.Heading
	if options.Channel != "" {
		p.Of = fmt.Sprintf("Channel %s, counted by %s.", options.Channel, report.Subscriber.Name)
		p.Title += ": " + options.Channel
	}
	for _, filter := range []string{report.Settings.Where.String(), options.Where} {
		if filter != "" {
			p.Filters = append(p.Filters, printable(filter))
		}
	}
	p.account(report)
	if days != nil {
		p.counts(report, *days, d, visitors)
	}
	p.notes(report, options)
	return p
}

// headingOf returns what the report is about.
func headingOf(tables []cuts.Table) string {
	names := []string{}
	for _, name := range []string{"country", "crawler", "status"} {
		if slices.ContainsFunc(tables, func(t cuts.Table) bool {
			return slices.ContainsFunc(t.By, func(c string) bool { return strings.TrimSuffix(c, "_class") == name })
		}) {
			names = append(names, name)
		}
	}
	names = append(names, "day")
	last := len(names) - 1
	if last == 0 {
		return "Requests per day"
	}
	return "Requests per " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// counts sets all that shows counts.
func (p *page) counts(report distribute.Report, days calendar, d detail, visitors visitors) {
	all := cubes(report.Tables, days, d.listed)
	p.Days, p.Compared = &days, days.prior != nil
	p.Range = rangeText(days)
	if p.HasRange = days.n > 1 && byDay(report.Settings); p.HasRange {
		p.Spans = spansOf(days.n)
	}
	total := all[0] // which has people and crawlers if any has
	p.HasWho = total.has(who)
	if i := slices.IndexFunc(all, func(c *cube) bool { return c.list() == "" && c.has(class) }); i >= 0 {
		p.Classes = classesOf(all[i])
	}
	values := valueIndex{}
	for _, c := range all {
		if c.list() == "" || len(values[c.list()]) > 0 {
			continue
		}
		l := listOf(c, all, days, values)
		if l.Dim == "country" {
			drawing := worldmap.Draw(c.sums("country", "", days.shown), "request", "requests")
			p.Map, p.FirstTable = &drawing, "t-"+l.ID
			p.Changed = changedMost(l.Rows, p.Compared)
		}
		p.Tables = append(p.Tables, l)
	}
	slices.SortStableFunc(p.Tables, func(a, b list) int { return rankOf(a.Dim) - rankOf(b.Dim) })
	if p.Map == nil && len(p.Tables) > 0 {
		p.FirstTable = "t-" + p.Tables[0].ID
	}
	p.figures(report, all, total, days, visitors)
	p.Plot = newPlot(total, p.HasWho, days)
	p.Visitors = len(visitors.days) > 0
	p.Months = monthsOf(total, days, visitors)
	p.Data = encode(days, all, values, d.weekly)
	p.detailNotes(report.Tables, d, len(values["country"]))
}

// HasChanged reports whether there are countries that have changed.
func (p *page) HasChanged() bool { return len(p.Changed) > 0 && p.Changed[0].Name != "" }

// byDay reports whether a cut has the dimension day. The settings of counts that are not by cuts
// have none.
func byDay(s cuts.Settings) bool { return len(s.Cuts) == 0 || s.Has(cuts.Day) }

// spansOf returns the numbers of last days that can be chosen.
func spansOf(days int) []int {
	return slices.DeleteFunc([]int{7, 28, 90}, func(span int) bool { return span >= days })
}

// rankOf returns the place of a table in the page.
func rankOf(dim string) int {
	order := []string{"country", "continent", "status", "status_class", "crawler", "crawler_class"}
	if i := slices.Index(order, dim); i >= 0 {
		return i
	}
	return len(order)
}

// classesOf returns the status classes that were counted, in their order.
func classesOf(c *cube) (classes []string) {
	if len(c.Rows) == 0 {
		return nil
	}
	for value := range c.sums(class, "", period{0, len(c.Rows[0].Days) - 1}) {
		if len(value) == 3 && strings.HasSuffix(value, "xx") {
			classes = append(classes, value)
		}
	}
	slices.Sort(classes)
	return classes
}

// rangeText returns the days as text. The script does the same.
func rangeText(days calendar) string {
	first, last := days.at(days.shown.from), days.at(days.shown.to)
	text := first.Format("2 Jan 2006")
	if n := days.shown.days(); n > 1 {
		layout := "2 Jan"
		if first.Year() != last.Year() {
			layout = "2 Jan 2006"
		}
		text = first.Format(layout) + " to " + last.Format("2 Jan 2006") + fmt.Sprintf(", %d days", n)
	}
	if days.prior != nil {
		text += ", compared with the " + strings.TrimPrefix(fmt.Sprintf("%d days before", days.shown.days()), "1 ")
	}
	return text + "."
}

// detailNotes tells what the page leaves out to be small enough.
func (p *page) detailNotes(tables []cuts.Table, d detail, countries int) {
	if !p.HasWho {
		p.Notes = append(p.Notes, "People and crawlers are not counted apart: count with "+withCrawler(tables)+".")
	}
	if d.weekly < countries {
		p.Notes = append(p.Notes, fmt.Sprintf("To keep the page small, countries behind the highest %d are counted by week: numbers of a part of a week are marked ≈.", d.weekly))
	}
	if d.listed < lists {
		p.Notes = append(p.Notes, fmt.Sprintf("To keep the page small, the values behind the highest %d of each table are added up as %s; the map has no colour for such countries.", d.listed, rest))
	}
	for _, t := range tables {
		if t.Folded > 0 {
			are := "are"
			if t.Folded == 1 {
				are = "is"
			}
			p.Notes = append(p.Notes, fmt.Sprintf("By %s there were too many different values in these days: %d of those with the fewest requests %s added up as %s, and the numbers of others are the least that they can be.", strings.Join(t.By, ","), t.Folded, are, cuts.Other))
		}
	}
}

// withCrawler returns the options that count people and crawlers apart in each table.
func withCrawler(tables []cuts.Table) string {
	var options []string
	for _, t := range tables {
		options = append(options, "--by "+strings.Join(t.By, ",")+",crawler")
	}
	return strings.Join(options, " ")
}

// notes adds what the foot of the page says.
func (p *page) notes(report distribute.Report, options Options) {
	if report.Moving {
		p.Notes = append(p.Notes, "Counting went on while the numbers were read: they are of different times.")
	}
	p.Notes = append(p.Notes, "Made by Skidway, "+options.Generated.Format("2006-01-02 15:04:05 MST")+". A crawler is known by its user agent, by the list "+agents.Source()+".")
	for _, build := range report.Subscriber.Builds {
		p.Notes = append(p.Notes, "Country database: "+build.Build+".")
	}
	if options.Attribution != "" {
		p.Notes = append(p.Notes, options.Attribution+".")
	}
	if p.HasVisitors() {
		p.Notes = append(p.Notes, "A visitor is a pair of address and user agent that is no crawler, and counts once in all days of a number. Numbers of visitors are estimates (≈) with a standard error of 0.81 %; they are of everyone but crawlers, whatever is chosen.")
	}
	if p.Map != nil {
		p.Notes = append(p.Notes, worldmap.Credit)
	}
}
