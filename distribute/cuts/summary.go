package cuts

import (
	"cmp"
	"slices"
	"time"

	"skidway/internal/filter"
	"skidway/internal/hyperloglog"
)

// A summary adds the cells of one cut up to the rows of a table.
type summary struct {
	selection *Selection
	cut       int           // index of the one that was counted
	stored    Cut           // its dimensions that are in members
	fields    [numKinds]int // of each kind, the place in stored
	by        Cut           // of the table
	places    []int         // of each dimension of by in stored; -1: it is made of the day
	series    []Series      // that are read
	measures  []Measure

	// certain and possible report whether the lines of a cell match the filter: all of them, and
	// maybe some. Those of a cell with [Other] may differ.
	certain, possible filter.Matcher

	rows        map[string]*Row // by their values, joined
	now, before period
	visitors    bool   // there are visitors
	first, last string // days with counts
	folded      int64
}

// A period is what a summary adds up of a range of days.
type period struct {
	total    Counts
	visitors hyperloglog.Sketch
	rows     map[*Row]*hyperloglog.Sketch // visitors of each row
	moved    map[string][]bool            // by the times of a row: the dimensions of by of which values were moved into Other
}

func newPeriod() period {
	return period{moved: map[string][]bool{}, rows: map[*Row]*hyperloglog.Sketch{}}
}

func newSummary(s Settings, index int, by Cut, selection *Selection, where *LineFilter) *summary {
	t := &summary{
		selection: selection, cut: index, by: by, stored: s.Cuts[index].stored(), measures: s.Measures, rows: map[string]*Row{},
		now: newPeriod(), before: newPeriod(),
	}
	for i, d := range t.stored {
		t.fields[d.Kind] = i
	}
	for _, d := range by {
		t.places = append(t.places, slices.Index(t.stored, d))
	}
	for _, m := range s.Measures {
		t.series = append(t.series, m.series()...)
	}
	if where != nil {
		t.certain, t.possible = where.filter.Bounds(time.Time{})
	}
	return t
}

// series returns the series of the measure.
func (m Measure) series() (list []Series) {
	switch m {
	case Requests:
		return []Series{requestSeries}
	case Bytes:
		return []Series{byteSeries}
	}
	for i := range len(Histogram{}) {
		list = append(list, bucketSeries(i))
	}
	return list
}

func (t *summary) wants(g Group) bool { return g.Cut == t.cut && slices.Contains(t.series, g.Series) }

// addGroup adds cells of one day and series.
func (t *summary) addGroup(g Group, cells map[string]int64, folded int64) {
	p, now := t.periodOf(g.Day)
	if now && g.Series == requestSeries {
		t.folded += folded
		if t.first == "" || g.Day < t.first {
			t.first = g.Day
		}
		t.last = max(t.last, g.Day)
	}
	for member, n := range cells {
		list, ok := values(member, len(t.stored))
		if !ok || n == 0 {
			continue
		}
		cell := &cellRecord{t, g.Day, list}
		certain := t.certain == nil || t.certain(cell)
		if !certain && !t.possible(cell) {
			continue
		}
		row := t.row(t.valuesOf(g.Day, list, now))
		p.note(t, row, list)
		switch {
		case !certain && now:
			row.AtLeast = true
		case !certain:
			row.BeforeAtLeast = true
		case now:
			row.Counts.add(g.Series, n)
			p.total.add(g.Series, n)
		default:
			row.Before.add(g.Series, n)
			p.total.add(g.Series, n)
		}
	}
}

// periodOf returns the period that a day is in, and whether it is the selected one.
func (t *summary) periodOf(day string) (p *period, now bool) {
	if t.selection.before == "" || day >= t.selection.from {
		return &t.now, true
	}
	return &t.before, false
}

// wantsVisitors reports whether the table needs the visitors of days, or of their countries. The
// sum of all rows is that of days.
func (t *summary) wantsVisitors(country string) bool {
	return t.visitors && (country == "" || t.byCountry())
}

func (t *summary) byCountry() bool { return slices.Contains(t.by, Dimension{Kind: Country}) }

// addVisitors adds visitors of a day, or of a country on it.
func (t *summary) addVisitors(day, country string, visitors *hyperloglog.Sketch) {
	p, now := t.periodOf(day)
	if country == "" {
		p.visitors.Merge(visitors)
	}
	if t.byCountry() != (country != "") {
		return
	}
	if !now {
		day = addDays(day, t.selection.days())
	}
	list := make([]string, len(t.by))
	for i, d := range t.by {
		if list[i] = country; d.Kind != Country {
			list[i] = timeValue(d.Kind, day)
		}
	}
	row := t.row(list)
	if p.rows[row] == nil {
		p.rows[row] = new(hyperloglog.Sketch)
	}
	p.rows[row].Merge(visitors)
}

// estimate sets the numbers of visitors of the rows and of their sum.
func (t *summary) estimate() {
	for row, visitors := range t.now.rows {
		row.Visitors = visitors.Count()
	}
	for row, visitors := range t.before.rows {
		row.Before.Visitors = visitors.Count()
	}
	t.now.total.Visitors, t.before.total.Visitors = t.now.visitors.Count(), t.before.visitors.Count()
}

// note notes which dimensions of a cell are Other, at the times of its row: rows with another
// value of one of them may miss lines.
func (p *period) note(t *summary, row *Row, cell []string) {
	var moved []bool
	for i, place := range t.places {
		if place < 0 || cell[place] != Other {
			continue
		}
		if moved == nil {
			key := t.timesOf(row)
			if p.moved[key] == nil {
				p.moved[key] = make([]bool, len(t.by))
			}
			moved = p.moved[key]
		}
		moved[i] = true
	}
}

// misses reports whether lines of a row may have been moved into Other.
func (p *period) misses(t *summary, row *Row) bool {
	for i, moved := range p.moved[t.timesOf(row)] {
		if moved && row.Values[i] != Other {
			return true
		}
	}
	return false
}

// timesOf returns the times of a row, joined; times are the first columns.
func (t *summary) timesOf(row *Row) string {
	n := 0
	for n < len(t.by) && t.by[n].Kind.isTime() {
		n++
	}
	return Member(row.Values[:n])
}

// row returns the row with some values.
func (t *summary) row(list []string) *Row {
	key := Member(list)
	row := t.rows[key]
	if row == nil {
		row = &Row{Values: list}
		if t.selection.before != "" {
			row.Before = new(Counts)
		}
		t.rows[key] = row
	}
	return row
}

// valuesOf returns the values of a cell in the table. Times of the period before are those as far
// from the start of the selected one.
func (t *summary) valuesOf(day string, stored []string, now bool) []string {
	shifted := day
	if !now {
		shifted = addDays(day, t.selection.days())
	}
	list := make([]string, len(t.by))
	for i, d := range t.by {
		place := t.places[i]
		switch {
		case place < 0:
			list[i] = timeValue(d.Kind, shifted)
		case d.Kind == Hour && !now:
			list[i] = hourOn(shifted, stored[place], t.selection.zone)
		default:
			list[i] = stored[place]
		}
	}
	return list
}

// timeValue returns the value of a dimension that is made of the day.
func timeValue(kind Kind, day string) string {
	switch kind {
	case Week:
		return weekOf(day)
	case Month:
		return monthOf(day)
	}
	return day
}

// hourLayout is the form of hours of lines with a zone.
const hourLayout = "2006-01-02T15:00-07:00"

// hourOn returns the hour of another day that is as far from its start as an hour is from the
// start of its own day: that differs from the clock on a day on which a zone changes it. Without
// a zone, the clock and its offset stay as they are.
func hourOn(day, hour string, zone *time.Location) string {
	if len(hour) < len(time.DateOnly) {
		return hour
	}
	clock := hour[len(time.DateOnly):]
	at, err := time.Parse("2006-01-02T15:04-07:00", hour)
	if err != nil || zone == nil {
		return day + clock
	}
	at = at.In(zone)
	start := func(day time.Time, plus int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day()+plus, 0, 0, 0, 0, zone)
	}
	other := date(day)
	moved := start(other, 0).Add(at.Sub(start(at, 0)))
	if end := start(other, 1); !moved.Before(end) { // the day is shorter
		moved = end.Add(-time.Hour)
	}
	return moved.Format(hourLayout)
}

// table returns the table of what was added.
func (t *summary) table() Table {
	s := t.selection
	t.estimate()
	table := Table{
		By: t.by.Columns(), Measures: t.measures, From: cmp.Or(s.from, t.first), To: cmp.Or(s.to, t.last),
		Cut: t.cut, HasVisitors: t.visitors, Folded: t.folded, Total: t.now.total,
	}
	for _, d := range t.by {
		table.Names = append(table.Names, d.String())
	}
	for _, row := range t.rows {
		if !row.Counts.isZero() || row.Before != nil && !row.Before.isZero() || row.AtLeast || row.BeforeAtLeast {
			row.AtLeast = row.AtLeast || t.now.misses(t, row)
			row.BeforeAtLeast = row.BeforeAtLeast || t.before.misses(t, row)
			table.Rows = append(table.Rows, *row)
		}
	}
	slices.SortFunc(table.Rows, func(a, b Row) int { return slices.Compare(a.Values, b.Values) })
	if s.before != "" {
		table.BeforeFrom, table.BeforeTo, table.TotalBefore = s.before, addDays(s.from, -1), &t.before.total
	}
	return table
}

// A cellRecord is a cell as a record of a filter of lines.
type cellRecord struct {
	of     *summary
	day    string
	values []string
}

// Value implements [filter.Record].
func (r *cellRecord) Value(field int, _ []string) filter.Value {
	kind := Kind(field)
	if kind.ofDay() {
		return dimensionValue(kind, timeValue(kind, r.day))
	}
	value := r.values[r.of.fields[kind]]
	if value == Other {
		return filter.Unknown
	}
	return dimensionValue(kind, value)
}
