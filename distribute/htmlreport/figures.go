package htmlreport

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/distribute"
	"skidway/internal/chart"
)

// A figure is one of the large numbers. The script finds it by its key.
type figure struct{ Key, Name, Value, Note string }

// maxFigures is the number of figures in a row of the page.
const maxFigures = 6

// figures sets the figures: those of the list below that were counted.
func (p *page) figures(report distribute.Report, all []*cube, total *cube, days calendar, visitors visitors) {
	requests := total.sum("", "", &days.shown)
	p.addFigure("all", "Requests", short(requests), days.compared(short(requests/int64(days.shown.days()))+" a day", requests, total.sum("", "", days.prior)))
	if visitors.known {
		p.addFigure("", visitorFigure, "≈ "+short(visitors.total), days.compared(shownDays(days), visitors.total, visitors.before))
	}
	if total.has(who) {
		p.addShare("people", "People", total, days, who, people)
		p.addShare("crawlers", "Crawlers", total, days, who, crawler)
	}
	find := func(list, dim string) *cube {
		if i := slices.IndexFunc(all, func(c *cube) bool { return c.list() == list && c.has(dim) }); i >= 0 {
			return all[i]
		}
		return nil
	}
	if c := find("", class); c != nil {
		p.addShare("errors", "Server errors", c, days, class, "5xx")
	}
	byCountry := find("country", "")
	if byCountry != nil {
		p.addFigure("countries", "Countries", fmt.Sprint(countries(byCountry, days.shown)), "with requests")
	}
	line := linesOf(total, days.shown)
	busiest := slices.Index(line, slices.Max(line))
	p.addFigure("busiest", "Busiest day", dayName(days.at(days.shown.from+busiest)), counted(int64(line[busiest]), short(int64(line[busiest])), "request"))
	if byCountry != nil {
		if ranked := byCountry.ranked(); slices.Contains(ranked, unknownCountry) || !slices.Contains(ranked, rest) { // which may have it
			p.addShare("unknown", "Unknown country", byCountry, days, "country", unknownCountry)
		}
	}
	tally := report.Subscriber.Tally
	p.addFigure("", "Lines", short(tally.Lines), "of all days, in "+counted(tally.Files, humanize.Comma(tally.Files), "file"))
	p.addFigure("", "Unparsable", short(tally.Unparsable), share(tally.Unparsable, tally.Lines)+" of the lines of all days")
}

// addFigure adds a figure, if there is room.
func (p *page) addFigure(key, name, value, note string) {
	if len(p.Figures) < maxFigures {
		p.Figures = append(p.Figures, figure{key, name, value, note})
	}
}

// addShare adds the figure of the requests with a value, and their share of those of the cube.
func (p *page) addShare(key, name string, c *cube, days calendar, dim, value string) {
	n := c.sum(dim, value, &days.shown)
	p.addFigure(key, name, short(n), days.compared(share(n, c.sum("", "", &days.shown))+" of all", n, c.sum(dim, value, days.prior)))
}

// compared returns text behind the change from the period before, if there is one.
func (c calendar) compared(text string, n, before int64) string {
	if c.prior == nil || change(n, before) == "" {
		return text
	}
	return change(n, before) + ", " + text
}

// visitorFigure is the name of the figure of visitors.
const visitorFigure = "Visitors"

// HasVisitors reports whether the page shows visitors.
func (p *page) HasVisitors() bool {
	return slices.ContainsFunc(p.Figures, func(f figure) bool { return f.Name == visitorFigure })
}

// shownDays returns the days that are shown at first as text. The number of visitors of others is
// not known.
func shownDays(days calendar) string {
	first, last := dayName(days.at(days.shown.from)), dayName(days.at(days.shown.to))
	if first == last {
		return first
	}
	return first + " to " + last
}

// countries returns the number of countries with requests in a period.
func countries(c *cube, at period) (n int) {
	for value, requests := range c.sums("country", "", at) {
		if requests > 0 && len(value) == 2 && value != unknownCountry {
			n++
		}
	}
	return n
}

// linesOf returns the counts of each day of a period.
func linesOf(c *cube, at period) []float64 { return c.line("", "", at) }

// A plot has the lines of a period: all requests, those of crawlers, and of the period before.
type plot struct {
	Label                        string
	Line, Area, Crawlers, Before string
	Y, X                         []string // an empty one of X is hidden
}

func newPlot(c *cube, hasWho bool, days calendar) (p plot) {
	line := linesOf(c, days.shown)
	var crawlers, before []float64
	if hasWho {
		crawlers = c.line(who, crawler, days.shown)
	}
	if days.prior != nil {
		before = linesOf(c, *days.prior)
	}
	top := chart.Top(line, crawlers, before)
	draw := func(line []float64) string {
		if len(line) == 1 {
			line = append(line, line[0])
		}
		return chart.Line(line, top)
	}
	p.Line, p.Crawlers, p.Before = draw(line), draw(crawlers), draw(before)
	p.Area = chart.Area(p.Line)
	p.Y = []string{axis(top), axis(top / 2), "0"}
	last := days.shown.days() - 1
	p.X = make([]string, axisLabels)
	for i := range axisLabels {
		if at := i * last / (axisLabels - 1); i == 0 || at > (i-1)*last/(axisLabels-1) {
			p.X[i] = dayName(days.at(days.shown.from + at))
		}
	}
	p.Label = fmt.Sprintf("Requests per day: least %s, most %s. The tables below have the same numbers.", humanize.Comma(int64(slices.Min(line))), humanize.Comma(int64(slices.Max(line))))
	return p
}

// axisLabels is the number of days below the plot.
const axisLabels = 4

// A month has the days of the table of a month.
type month struct {
	Name, Sum string
	Hidden    bool
	Days      []monthDay
}

type monthDay struct {
	Name                        string
	N, People, Crawlers, Before string
	Visitors                    string
	Hidden                      bool
}

// monthsOf returns the tables of all days, of which those that are not shown at first are hidden.
func monthsOf(c *cube, days calendar, visitors visitors) (all []month) {
	everything := period{0, days.n - 1}
	line := linesOf(c, everything)
	var persons, crawlers []float64
	if c.has(who) {
		persons, crawlers = c.line(who, people, everything), c.line(who, crawler, everything)
	}
	sum := int64(0)
	for i := range days.n {
		at := days.at(i)
		name := at.Format("January 2006")
		if len(all) == 0 || all[len(all)-1].Name != name {
			all, sum = append(all, month{Name: name, Hidden: true}), 0
		}
		m := &all[len(all)-1]
		d := monthDay{Name: at.Format(time.DateOnly), N: humanize.Comma(int64(line[i])), Hidden: i < days.shown.from || i > days.shown.to}
		if persons != nil {
			d.People, d.Crawlers = humanize.Comma(int64(persons[i])), humanize.Comma(int64(crawlers[i]))
		}
		if n, known := visitors.days[d.Name]; known {
			d.Visitors = "≈ " + humanize.Comma(n)
		}
		if !d.Hidden {
			m.Hidden = false
			sum += int64(line[i])
			if days.prior != nil {
				d.Before = humanize.Comma(int64(line[i-days.shown.days()]))
			}
		}
		m.Sum = counted(sum, humanize.Comma(sum), "request")
		m.Days = append(m.Days, d)
	}
	return all
}

// An accountRow is a line of how the numbers add up.
type accountRow struct {
	Name, Note, N string
	Total         bool
}

// A problem is a file whose lines are not all counted.
type problem struct{ File, Note string }

// account sets how all lines of the subscriber add up.
func (p *page) account(report distribute.Report) {
	t := report.Subscriber.Tally
	row := func(name, note string, n int64, always bool) {
		if n > 0 || always {
			p.Account = append(p.Account, accountRow{Name: name, Note: note, N: humanize.Comma(n)})
		}
	}
	row("Counted", "", t.Counted, true)
	row("Unknown country", "private, missing or unknown address (ZZ)", t.Unknown, true)
	row("Filtered", "not of the lines that were to be counted", t.Filtered, report.Settings.Where != nil)
	row("Expired", "of days that are not kept", t.Expired, report.Settings.Keep > 0)
	row("Unparsable", "blank or in no known format", t.Unparsable, true)
	p.Account = append(p.Account, accountRow{"Lines", "of all days", humanize.Comma(t.Lines), true})
	row("Private addresses", "a part of unknown country", t.Private, report.Settings.UsePlaces())
	row("Crawlers", "a part of counted and unknown country", t.Crawlers, report.Settings.HasCrawlers())
	for _, bad := range report.Problems {
		p.Problems = append(p.Problems, problem{printable(bad.File), printable(bad.Detail)})
	}
	for _, name := range report.Abandoned {
		p.Problems = append(p.Problems, problem{printable(name), "its upload was given up; ship it again"})
	}
	files, have := counted(t.Files+t.Failed, humanize.Comma(t.Files+t.Failed), "file"), "have"
	if len(p.Problems) == 1 {
		have = "has"
	}
	p.ProblemsHead = fmt.Sprintf("%d of %s %s a problem:", len(p.Problems), files, have)
}
