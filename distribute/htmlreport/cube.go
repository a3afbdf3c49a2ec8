package htmlreport

import (
	"cmp"
	"maps"
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
	if n == 0 {
		return
	}
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

// sums adds up a period by the value of a dimension, with only the given value of who; both may be
// empty.
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

// sum adds up the rows of a period with a value of a dimension; both empty: all rows.
func (c *cube) sum(dim, value string, p *period) int64 {
	if p == nil {
		return 0
	}
	return c.sums(dim, "", *p)[value]
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

// newCalendar returns the days that were asked for, or, if these are more than maxDays, those of
// them that were counted. It returns nil if there are none, and a [TooManyDaysError].
func newCalendar(tables []cuts.Table) (*calendar, error) {
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
	if before == "" && daysBetween(from, to) >= maxDays {
		from, to = countedDays(tables)
	}
	if from == "" || from > to {
		return nil, nil
	}
	c := &calendar{first: date(from), n: daysBetween(from, to) + 1}
	c.shown = period{0, c.n - 1}
	if before != "" {
		distance := daysBetween(before, from)
		c.first, c.n = date(before), c.n+distance
		c.shown, c.prior = period{distance, c.n - 1}, &period{0, distance - 1}
	}
	if c.n > maxDays {
		return nil, &TooManyDaysError{First: c.first.Format(time.DateOnly), Last: to, Days: c.n}
	}
	return c, nil
}

// countedDays returns the first and the last day of the rows of tables, empty if there is none.
func countedDays(tables []cuts.Table) (first, last string) {
	for _, t := range tables {
		place := slices.Index(t.By, "day")
		for _, row := range t.Rows {
			if day := row.Values[place]; first == "" || day < first {
				first = day
			}
			last = max(last, row.Values[place])
		}
	}
	return first, last
}

func daysBetween(from, to string) int { return int(date(to).Sub(date(from)) / day) }

const (
	day     = 24 * time.Hour
	maxDays = 2 * cuts.MaxDays
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

// cubes returns the cubes of tables with a day: for each dimension that can be listed, and without
// any, those of which no other one has all dimensions. Those that have who come first.
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
		c.fill(days, listed)
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

// each calls yield with the numbers of all days: the values of the dimensions, which are used
// again, and the row of the table.
func (c *cube) each(days calendar, yield func(values []string, place int, n int64, row *cuts.Row)) {
	t := c.table
	dayColumn := slices.Index(t.By, "day")
	columns := make([]int, len(c.Dims))
	for i, dim := range c.Dims {
		switch dim {
		case who:
			columns[i] = slices.IndexFunc(t.By, isCrawler)
		case class:
			columns[i] = slices.IndexFunc(t.By, isStatus)
		default:
			columns[i] = slices.Index(t.By, dim)
		}
	}
	values := make([]string, len(c.Dims))
	for r := range t.Rows {
		row := &t.Rows[r]
		skip := false
		for i, dim := range c.Dims {
			values[i] = row.Values[columns[i]]
			switch {
			case dim == who:
				values[i] = whoOf(values[i])
			case dim == class:
				values[i] = classOf(values[i])
			case isCrawler(dim):
				skip = values[i] == "-"
			}
		}
		place := days.place(row.Values[dayColumn])
		if skip || place < 0 {
			continue
		}
		yield(values, place, row.Requests, row)
		if earlier := place - days.shown.from; row.Before != nil && earlier >= 0 {
			yield(values, earlier, row.Before.Requests, row)
		}
	}
}

// fill adds the rows of the table. All values of a list but the highest ones are added up to one,
// but for countries, which are few. So only these have a number for each day, however many values
// there are.
func (c *cube) fill(days calendar, listed int) {
	if c.list() == "" {
		c.each(days, func(values []string, place int, n int64, _ *cuts.Row) { c.add(values, place, days.n, n) })
		c.sort()
		return
	}
	totals, least, moved := map[string]int64{}, map[string]bool{}, false
	c.each(days, func(values []string, _ int, n int64, row *cuts.Row) {
		if n != 0 {
			totals[values[0]] += n
		}
		if row.AtLeast {
			least[values[0]] = true
		}
		moved = moved || values[0] == cuts.Other
	})
	if moved {
		c.least = least
	}
	if ranked := rank(totals); len(ranked) > listed && (c.list() != "country" || listed != lists) {
		for _, value := range ranked[listed:] {
			delete(totals, value)
			if c.least[value] {
				c.least[rest] = true
			}
		}
	}
	c.each(days, func(values []string, place int, n int64, _ *cuts.Row) {
		if _, high := totals[values[0]]; !high {
			values = slices.Clone(values)
			values[0] = rest
		}
		c.add(values, place, days.n, n)
	})
	c.sort()
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

// ranked returns the values of a list, the highest first.
func (c *cube) ranked() []string {
	if len(c.Rows) == 0 {
		return nil
	}
	return rank(c.sums(c.list(), "", period{0, len(c.Rows[0].Days) - 1}))
}

// rank returns the values with some totals, the highest first.
func rank(totals map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(totals), func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
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
