package htmlreport

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"skidway/distribute/cuts"
)

// Dimensions of a cube that stand for several dimensions of cuts: whether a client is a crawler, and
// the first digit of a status.
const (
	who   = "who"   // "p", "c"; empty if it is not known
	class = "class" // "2xx"
)

// Values of the dimension who.
const (
	people  = "p"
	crawler = "c"
)

// rest is the value of all values that are not among the highest ones of a list.
const rest = "(all others)"

// A period is a range of days as places in the days of a page, both inclusive.
type period struct{ from, to int }

func (p period) days() int { return p.to - p.from + 1 }

// A cube has counts for each day of the page by a few dimensions. That of crawlers has no people.
type cube struct {
	By    string // the columns of the table that it is made of
	table cuts.Table
	Dims  []string // at most one dimension of a list, who and class, in this order
	Rows  []*cubeRow
	at    map[string]*cubeRow

	// least are the values of the list of which lines may have been moved into [cuts.Other].
	least map[string]bool
}

// A cubeRow has the counts of one combination of values.
type cubeRow struct {
	Values []string
	Days   []int64
}

func (c *cube) add(values []string, day, days int, n int64) {
	key := strings.Join(values, "\x1f")
	row := c.at[key]
	if row == nil {
		row = &cubeRow{slices.Clone(values), make([]int64, days)}
		c.at[key], c.Rows = row, append(c.Rows, row)
	}
	row.Days[day] += n
}

// list returns the dimension that the rows are a list by; empty: none.
func (c *cube) list() string {
	if len(c.Dims) > 0 && c.Dims[0] != who && c.Dims[0] != class {
		return c.Dims[0]
	}
	return ""
}

// has reports whether the cube has all of some dimensions.
func (c *cube) has(dims ...string) bool {
	return !slices.ContainsFunc(dims, func(d string) bool { return d != "" && !slices.Contains(c.Dims, d) })
}

// sums adds up a period by the value of a dimension, with only the given value of who; both may be empty.
func (c *cube) sums(dim, onlyWho string, p period) map[string]int64 {
	sums := map[string]int64{}
	place, whoPlace := slices.Index(c.Dims, dim), slices.Index(c.Dims, who)
	for _, row := range c.Rows {
		if onlyWho != "" && (whoPlace < 0 || row.Values[whoPlace] != onlyWho) {
			continue
		}
		value := ""
		if place >= 0 {
			value = row.Values[place]
		}
		for _, n := range row.Days[p.from : p.to+1] {
			sums[value] += n
		}
	}
	return sums
}

// line returns the counts of each day of a period, of the rows with a value.
func (c *cube) line(dim, value string, p period) []float64 {
	line := make([]float64, p.days())
	place := slices.Index(c.Dims, dim)
	for _, row := range c.Rows {
		if place >= 0 && row.Values[place] != value {
			continue
		}
		for i, n := range row.Days[p.from : p.to+1] {
			line[i] += float64(n)
		}
	}
	return line
}

// calendar are the days of a page.
type calendar struct {
	first time.Time
	n     int
	shown period  // the days of the report
	prior *period // the days with which they are compared
}

func newCalendar(tables []cuts.Table) (c calendar, ok bool) {
	from, to, before := "", "", ""
	for _, t := range tables {
		if t.From == "" || t.To == "" {
			continue
		}
		if from == "" || t.From < from {
			from = t.From
		}
		to, before = max(to, t.To), max(before, t.BeforeFrom)
	}
	if from == "" {
		return c, false
	}
	first, last := date(from), date(to)
	c.first, c.n = first, int(last.Sub(first)/day)+1
	c.shown = period{0, c.n - 1}
	if before != "" {
		distance := int(first.Sub(date(before)) / day)
		c.first, c.n = date(before), c.n+distance
		c.shown, c.prior = period{distance, c.n - 1}, &period{0, distance - 1}
	}
	return c, c.n > 0 && c.n <= maxDays
}

const (
	day     = 24 * time.Hour
	maxDays = 2 * 4096
)

func date(text string) time.Time {
	t, _ := time.Parse(time.DateOnly, text)
	return t
}

// place returns the place of a day, -1 if it is not among them.
func (c calendar) place(text string) int {
	at, err := time.Parse(time.DateOnly, text)
	if i := int(at.Sub(c.first) / day); err == nil && i >= 0 && i < c.n {
		return i
	}
	return -1
}

func (c calendar) at(i int) time.Time { return c.first.AddDate(0, 0, i) }

// cubes returns the cubes of tables with a day: for each dimension that can be listed, and without any, those of
// which no other one has all dimensions. Those that have who come first.
func cubes(tables []cuts.Table, days calendar, listed int) (all []*cube) {
	for _, t := range tables {
		for _, column := range append([]string{""}, t.By...) {
			if column == "" || !isTime(column) {
				all = append(all, &cube{By: strings.Join(t.By, ","), table: t, at: map[string]*cubeRow{}, Dims: dimsOf(column, t.By)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *cube) int {
		return cmp.Or(len(a.list())-len(b.list()), strings.Compare(a.list(), b.list()), b.count(who)-a.count(who), len(b.Dims)-len(a.Dims))
	})
	kept := all[:0]
	for _, c := range all {
		if !slices.ContainsFunc(kept, func(other *cube) bool { return other.list() == c.list() && other.has(c.Dims...) }) {
			kept = append(kept, c)
		}
	}
	for _, c := range kept {
		c.fill(days)
		c.shorten(listed)
	}
	return kept
}

// count returns how often a dimension is there: 0 or 1.
func (c *cube) count(dim string) int {
	if c.has(dim) {
		return 1
	}
	return 0
}

func isTime(column string) bool {
	return slices.Contains([]string{"day", "week", "month", "hour"}, column)
}

func isCrawler(column string) bool { return column == "crawler" || column == "crawler_class" }

func isStatus(column string) bool { return column == "status" || column == "status_class" }

func dimsOf(column string, by []string) (dims []string) {
	if column != "" {
		dims = append(dims, column)
	}
	if slices.ContainsFunc(by, isCrawler) {
		dims = append(dims, who)
	}
	if slices.ContainsFunc(by, isStatus) {
		dims = append(dims, class)
	}
	return dims
}

// fill adds the rows of the table.
func (c *cube) fill(days calendar) {
	t := c.table
	dayColumn := slices.Index(t.By, "day")
	distance := days.shown.from
	listColumn := slices.Index(t.By, c.list())
	least, moved := map[string]bool{}, false
	values := make([]string, len(c.Dims))
	for _, row := range t.Rows {
		skip := false
		for i, dim := range c.Dims {
			switch dim {
			case who:
				values[i] = whoOf(row.Values[slices.IndexFunc(t.By, isCrawler)])
			case class:
				values[i] = classOf(row.Values[slices.IndexFunc(t.By, isStatus)])
			default:
				values[i] = row.Values[slices.Index(t.By, dim)]
				skip = isCrawler(dim) && values[i] == "-"
			}
		}
		place := days.place(row.Values[dayColumn])
		if skip || place < 0 {
			continue
		}
		if listColumn >= 0 {
			least[values[0]] = least[values[0]] || row.AtLeast
			moved = moved || values[0] == cuts.Other
		}
		if row.Requests != 0 {
			c.add(values, place, days.n, row.Requests)
		}
		if row.Before != nil && row.Before.Requests != 0 && place-distance >= 0 {
			c.add(values, place-distance, days.n, row.Before.Requests)
		}
	}
	if moved {
		c.least = least
	}
}

func whoOf(value string) string {
	switch {
	case value == "-":
		return people
	case strings.HasPrefix(value, "("): // cells of both may have been moved together
		return ""
	}
	return crawler
}

func classOf(status string) string {
	if len(status) == 3 && status[0] >= '1' && status[0] <= '5' {
		return status[:1] + "xx"
	}
	return status
}

// total returns the sum of the rows with the same value in a list.
func (c *cube) totals() map[string]int64 {
	return c.sums(c.list(), "", period{0, len(c.Rows[0].Days) - 1})
}

// ranked returns the values of a list, the highest first.
func (c *cube) ranked() []string {
	if len(c.Rows) == 0 {
		return nil
	}
	totals := c.totals()
	var values []string
	for value := range totals {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	return values
}

// shorten adds up all values of a list but the highest ones to one. Countries are left, which are few.
func (c *cube) shorten(listed int) {
	if c.list() == "" || c.list() == "country" && listed == lists {
		c.sort()
		return
	}
	ranked := c.ranked()
	if len(ranked) > listed {
		moved := map[string]bool{}
		for _, value := range ranked[listed:] {
			moved[value] = true
		}
		rows := c.Rows
		c.Rows, c.at = nil, map[string]*cubeRow{}
		for _, row := range rows {
			if moved[row.Values[0]] {
				if c.least[row.Values[0]] {
					c.least[rest] = true
				}
				row.Values[0] = rest
			}
			for i, n := range row.Days {
				c.add(row.Values, i, len(row.Days), n)
			}
		}
	}
	c.sort()
}

// sort puts rows in the order of their list, the highest first.
func (c *cube) sort() {
	rank := map[string]int{}
	for i, value := range c.ranked() {
		rank[value] = i
	}
	value := func(r *cubeRow) int {
		if c.list() == "" {
			return 0
		}
		return rank[r.Values[0]]
	}
	slices.SortFunc(c.Rows, func(a, b *cubeRow) int { return cmp.Or(value(a)-value(b), slices.Compare(a.Values, b.Values)) })
}
