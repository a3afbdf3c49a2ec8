package htmlreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"skidway/distribute/worldmap"
	"skidway/internal/chart"
	"skidway/internal/escape"
)

// A list is a table of the page.
type list struct {
	ID, Dim, Head, Column string
	Of                    string // whose requests these are: "everyone"
	Count                 int    // of rows with requests
	Long                  bool   // not all rows are shown at first
	Who, Sparks           bool
	Rows                  []listRow
}

type listRow struct {
	Index                          int // of the value, for the script
	Key, Name, Code                string
	N, Share, Bar                  string
	Change, Direction              string
	People, Crawlers, Part         string
	Spark                          *chart.Spark
	Who, Sparks, Hidden            bool
	requests, before, people, bots int64
}

// sparkRows is the number of rows that have a line and a bar.
const sparkRows = 50

// heads are the headings of tables by dimension, and the names of their columns.
var heads = map[string][2]string{
	"country": {"Countries", "Country"}, "continent": {"Continents", "Continent"}, "asn": {"Networks", "Network"},
	"status": {"Status", "Status"}, "status_class": {"Status", "Class"}, "crawler": {"Crawlers by name", "Crawler"},
	"crawler_class": {"Crawlers by class", "Class"}, "browser": {"Browsers", "Browser"}, "method": {"Methods", "Method"},
	"protocol": {"Protocols", "Protocol"}, "host": {"Hosts", "Host"}, "referrer_host": {"Referrers", "Host"},
	"path": {"Paths", "Path"}, "format": {"Formats", "Format"}, "file": {"Files", "File"},
}

// continentNames are the names of continents.
var continentNames = map[string]string{
	"AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America",
}

// unknownCountry is the code of addresses whose country is not known.
const unknownCountry = "ZZ"

// nameOf returns what a value is shown as, and its code if that is not the same.
func nameOf(dim, value string) (name, code string) {
	switch dim {
	case "country":
		if value == unknownCountry {
			return "Unknown", value
		}
		if name := worldmap.Name(value); name != "" {
			return name, value
		}
	case "continent":
		if name := continentNames[value]; name != "" {
			return name, value
		}
		return "Unknown", value
	}
	if value == "-" {
		return "none", ""
	}
	return printable(value), ""
}

// printable returns a text without characters that change the direction of the page, or control it.
func printable(text string) string {
	return escape.Text(text, func(r rune) bool { return !escape.IsControl(r) })
}

// shownRows is the number of rows that are shown at first.
const shownRows = 25

// listOf returns the table of a cube. It has a row for each value of all cubes of the same list,
// and adds them to the values of the page.
func listOf(c *cube, all []*cube, days calendar, values valueIndex) list {
	dim := c.list()
	head := heads[dim]
	l := list{ID: strings.ReplaceAll(dim, "_", "-"), Dim: dim, Head: cmp.Or(head[0], dim), Column: cmp.Or(head[1], dim), Sparks: dim == "country"}
	l.Who, l.Of = c.has(who) && !isCrawler(dim), "everyone"
	if isCrawler(dim) {
		l.Of = "crawlers"
	}
	now := c.sums(dim, "", days.shown)
	persons, bots := map[string]int64{}, map[string]int64{}
	if l.Who {
		persons, bots = c.sums(dim, people, days.shown), c.sums(dim, crawler, days.shown)
	}
	before := map[string]int64{}
	if days.prior != nil {
		before = c.sums(dim, "", *days.prior)
	}
	for _, other := range append([]*cube{c}, all...) {
		if other.list() == dim {
			for _, value := range other.ranked() {
				values.index(dim, value)
			}
		}
	}
	total := int64(0)
	for i, value := range values[dim] {
		row := listRow{Index: i, Key: value, requests: now[value], before: before[value], people: persons[value], bots: bots[value], Who: l.Who, Sparks: l.Sparks}
		row.Name, row.Code = nameOf(dim, value)
		row.Hidden = row.requests == 0 && row.before == 0
		if row.requests > 0 {
			l.Count++
		}
		total += row.requests
		l.Rows = append(l.Rows, row)
	}
	l.Long = len(l.Rows) > shownRows
	slices.SortStableFunc(l.Rows, func(a, b listRow) int { return cmp.Compare(b.requests, a.requests) })
	for i := range l.Rows {
		l.Rows[i].write(total, l.Rows[0].requests, days.prior != nil)
		if c.least[l.Rows[i].Key] {
			l.Rows[i].N = "≥ " + l.Rows[i].N
		}
		if l.Sparks && i < sparkRows {
			l.Rows[i].Spark = spark(c.line(dim, l.Rows[i].Key, days.shown))
		}
		if i >= sparkRows {
			l.Rows[i].Bar = ""
		}
	}
	return l
}

// sparkPoints bounds the points of a small line; each is the mean of as many days as it takes.
const sparkPoints = 60

// spark draws a line between its lowest and its highest value. The script does the same.
func spark(days []float64) *chart.Spark {
	var line []float64
	step := (len(days) + sparkPoints - 1) / sparkPoints
	for from := 0; from < len(days); from += step {
		sum, to := 0.0, min(from+step, len(days))
		for _, n := range days[from:to] {
			sum += n
		}
		line = append(line, sum/float64(to-from))
	}
	if len(line) < 2 {
		return nil
	}
	return chart.NewSpark(line, slices.Min(line), slices.Max(line))
}

// write sets the texts of a row.
func (r *listRow) write(total, most int64, compared bool) {
	r.N, r.Share = humanize.Comma(r.requests), share(r.requests, total)
	if r.requests > 0 {
		r.Bar = chart.Coordinate(100 * float64(r.requests) / float64(most))
	}
	if compared {
		r.Change, r.Direction = change(r.requests, r.before), direction(r.requests, r.before)
	}
	if r.Who {
		r.People, r.Crawlers = humanize.Comma(r.people), humanize.Comma(r.bots)
		if r.requests > 0 {
			r.Part = fmt.Sprint((200*r.bots + r.requests) / (2 * r.requests))
		}
	}
}

// A changed is a row of the countries that have changed most; without a name it is hidden.
type changed struct{ Name, Difference, Change, Class string }

// Numbers of countries that have changed most.
const risen, fallen = 7, 4

// changedMost returns the countries with the largest differences, those with more requests first.
func changedMost(rows []listRow, compared bool) []changed {
	all := make([]changed, risen+fallen)
	if !compared {
		return all
	}
	sorted := slices.DeleteFunc(slices.Clone(rows), func(r listRow) bool { return r.requests == r.before })
	slices.SortStableFunc(sorted, func(a, b listRow) int { return cmp.Compare(b.requests-b.before, a.requests-a.before) })
	place := 0
	for i, r := range sorted {
		difference := r.requests - r.before
		if difference > 0 && i >= risen || difference < 0 && i < len(sorted)-fallen {
			continue
		}
		sign := ""
		if difference > 0 {
			sign = "+"
		}
		all[place] = changed{r.Name, sign + short(difference), change(r.requests, r.before), direction(r.requests, r.before)}
		place++
	}
	return all
}
