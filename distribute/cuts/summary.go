package cuts

import (
	"cmp"
	"slices"
	"time"

	"skidway/internal/filter"
)

// A summary adds the cells of one cut up to the rows of a table.
type summary struct {
	selection *Selection
	cut       int      // index of the one that was counted
	stored    Cut      // its dimensions that are in members
	by        Cut      // of the table
	places    []int    // of each dimension of by in stored; -1: it is made of the day
	series    []Series // that are read
	measures  []Measure
	matches   filter.Matcher // nil: everything
	schema    []Dimension    // of the filter's fields

	rows    map[string]*Row // by their values, joined
	folded  int64
	first   string // the first and the last day with counts
	last    string
	total   Counts
	earlier Counts
}

func newSummary(s Settings, index int, by Cut, selection *Selection) (*summary, error) {
	t := &summary{
		selection: selection, cut: index, by: by, stored: s.Cuts[index].stored(), measures: s.Measures, rows: map[string]*Row{},
	}
	for _, d := range by {
		t.places = append(t.places, slices.Index(t.stored, d))
	}
	for _, m := range s.Measures {
		t.series = append(t.series, m.series()...)
	}
	return t, nil
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
	now := t.selection.before == "" || g.Day >= t.selection.from
	if now && g.Series == requestSeries {
		t.folded += folded
		if t.first == "" || g.Day < t.first {
			t.first = g.Day
		}
		t.last = max(t.last, g.Day)
	}
	moved := make([]bool, len(t.stored)) // the dimensions of which values were moved into Other
	if folded > 0 {
		for member := range cells {
			list, _ := values(member, len(t.stored))
			for i, value := range list {
				moved[i] = moved[i] || value == Other
			}
		}
	}
	for member, n := range cells {
		list, ok := values(member, len(t.stored))
		if !ok || n == 0 || t.matches != nil && !t.matches(&cellRecord{t.schema, t.stored, g.Day, list}) {
			continue
		}
		row := t.row(t.valuesOf(g.Day, list, now))
		if now {
			row.Counts.add(g.Series, n)
			t.total.add(g.Series, n)
			row.AtLeast = row.AtLeast || t.mayMiss(row, moved)
			continue
		}
		row.Before.add(g.Series, n)
		t.earlier.add(g.Series, n)
	}
}

// mayMiss reports whether lines of a row may have been moved into Other.
func (t *summary) mayMiss(row *Row, moved []bool) (may bool) {
	for i, place := range t.places {
		if place < 0 || !moved[place] {
			continue
		}
		if row.Values[i] == Other {
			return false
		}
		may = true
	}
	return may
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

// valuesOf returns the values of a cell in the table. Times of the period before are moved by
// their distance from its start.
func (t *summary) valuesOf(day string, stored []string, now bool) []string {
	list := make([]string, len(t.by))
	for i, d := range t.by {
		value := ""
		if place := t.places[i]; place >= 0 {
			value = stored[place]
		}
		switch {
		case !d.Kind.isTime():
		case now && d.Kind != Hour:
			value = timeValue(d.Kind, day)
		case !now:
			value = t.selection.moved(d.Kind, day, value)
		}
		list[i] = value
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

// moved returns the time of the selected period that is as far from its start as a time of the
// period before from the start of that.
func (s *Selection) moved(kind Kind, day, hour string) string {
	switch kind {
	case Week:
		weeks := daysBetween(mondayOf(s.before), mondayOf(day)) / 7
		return weekOf(addDays(s.from, 7*weeks))
	case Month:
		first := date(monthOf(s.from) + "-01")
		return first.AddDate(0, monthsBetween(s.before, day), 0).Format("2006-01")
	case Hour:
		if len(hour) < len(time.DateOnly) {
			return hour
		}
		return addDays(hour[:len(time.DateOnly)], s.days()) + hour[len(time.DateOnly):]
	}
	return addDays(day, s.days())
}

// table returns the table of what was added.
func (t *summary) table() Table {
	s := t.selection
	table := Table{
		By: t.by.Columns(), Measures: t.measures, From: cmp.Or(s.from, t.first), To: cmp.Or(s.to, t.last),
		Cut: t.cut, Folded: t.folded, Total: t.total,
	}
	for _, row := range t.rows {
		if !row.Counts.isZero() || row.Before != nil && !row.Before.isZero() {
			table.Rows = append(table.Rows, *row)
		}
	}
	slices.SortFunc(table.Rows, func(a, b Row) int { return slices.Compare(a.Values, b.Values) })
	if s.before != "" {
		table.BeforeFrom, table.BeforeTo, table.TotalBefore = s.before, addDays(s.from, -1), &t.earlier
	}
	return table
}

// setFilter sets the filter of the cells.
func (t *summary) setFilter(text string, counted Cut) error {
	if text == "" {
		return nil
	}
	f, err := parseCellFilter(text, counted)
	if err != nil {
		return err
	}
	t.schema, t.matches = counted, f.Matcher(time.Time{})
	return nil
}

// A cellRecord is a cell as a record of a filter.
type cellRecord struct {
	schema []Dimension
	stored Cut
	day    string
	values []string
}

// Value implements [filter.Record].
func (r *cellRecord) Value(field int, _ []string) filter.Value {
	d := r.schema[field]
	if d.Kind.ofDay() {
		return dimensionValue(d.Kind, timeValue(d.Kind, r.day))
	}
	return dimensionValue(d.Kind, r.values[slices.Index(r.stored, d)])
}
