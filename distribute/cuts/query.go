package cuts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/internal/hyperloglog"
)

// A Query is what a report reads. The zero value is everything that was counted.
type Query struct {
	// From and To are the first and the last day, inclusive ("2026-11-01"); empty: no bound.
	From, To string

	// Last is the number of days before the newest counted one, that included, which may be
	// unfinished; days after tomorrow (UTC) are only the newest if there are no others. It
	// replaces From and To; zero: no bound.
	Last int

	// By has the dimensions of each table: all of them in one cut that was counted, or made of
	// its days. Empty means the cuts as they were counted.
	By [][]string

	// Where is a filter by dimensions of the chosen cuts; empty: everything.
	Where string

	// Visitors asks for the visitors of each row. All tables must be by the days for which they are
	// counted, or times that are made of them, and by country if they are counted by it, and Where
	// must be empty. Tables of this kind have visitors anyway.
	Visitors bool

	// Compare adds the numbers of as many days directly before From, which must be set, or Last.
	Compare bool
}

// A QueryError is the error for a query that does not fit what was counted.
type QueryError struct{ Reason string }

func (e *QueryError) Error() string { return e.Reason }

func wrongQuery(format string, values ...any) error {
	return &QueryError{fmt.Sprintf(format, values...)}
}

// A Selection is a query of counts with some settings, whose days are known.
type Selection struct {
	from, to string         // empty: no bound
	before   string         // the first day of the period before; empty: there is none
	zone     *time.Location // of the hours; nil: that of each line
	tables   []*summary
}

// Select resolves the query. newest is the last day that was counted, empty if there is none.
func (q *Query) Select(s Settings, newest string) (*Selection, error) {
	if q == nil {
		q = new(Query)
	}
	selection := &Selection{from: q.From, to: q.To, zone: s.zone()}
	if err := selection.setDays(q, newest); err != nil {
		return nil, err
	}
	chosen := make([]Cut, len(q.By))
	for i, names := range q.By {
		var err error
		if chosen[i], err = ParseCut(names); err != nil {
			return nil, &QueryError{err.Error()}
		}
	}
	if len(chosen) == 0 {
		chosen = s.Cuts
	}
	where, err := ParseLineFilter(q.Where)
	if err != nil {
		return nil, &QueryError{err.Error()}
	}
	for _, by := range chosen {
		index, err := s.choose(by, where)
		if err != nil {
			return nil, err
		}
		table := newSummary(s, index, by, selection, where)
		if table.visitors = where == nil && s.HasVisitors(by); q.Visitors && !table.visitors {
			return nil, noVisitors(s, by)
		}
		selection.tables = append(selection.tables, table)
	}
	return selection, nil
}

// choose returns the index of the cut that is added up to a table: of those that have all
// dimensions of the table and of the filter, the one with the fewest others. A cut with fewer
// dimensions has fewer cells, of which fewer were moved into [Other]. A filter of paths is one of
// whole paths, if a cut has them.
func (s Settings) choose(by Cut, where *LineFilter) (int, error) {
	best, lacking, least := -1, "", 0
	for i, cut := range s.Cuts {
		if !cut.covers(by) {
			continue
		}
		lacks, misfit := where.lacks(cut), len(cut.stored())
		if where.Uses(Path) && !slices.Contains(cut, Dimension{Kind: Path}) {
			misfit += int(numKinds)
		}
		if lacks != "" {
			misfit += 2 * int(numKinds)
		}
		if best < 0 || misfit < least {
			best, lacking, least = i, lacks, misfit
		}
	}
	switch {
	case best < 0:
		return best, wrongQuery("by %s: no cut that was counted has all of it: %s", by, join(s.Cuts))
	case lacking != "" && !slices.Contains(kindNames[:], lacking):
		return best, wrongQuery("the filter uses %s, which is not in counts, but in lines only: count with this filter", lacking)
	case lacking != "":
		cut := s.Cuts[best]
		return best, wrongQuery("the filter uses %s, and the cut %s has %s only: count by it", lacking, cut, strings.Join(cut.Columns(), ", "))
	}
	return best, nil
}

// noVisitors returns the error for a table whose visitors are not known.
func noVisitors(s Settings, by Cut) error {
	switch {
	case s.Visitors == nil:
		return wrongQuery("visitors: they were not counted")
	case s.HasVisitors(by):
		return wrongQuery("visitors: they are known without a filter only")
	}
	return wrongQuery("by %s: visitors were counted by %s only", by, s.Visitors)
}

func join(cuts []Cut) string {
	texts := make([]string, len(cuts))
	for i, cut := range cuts {
		texts[i] = cut.String()
	}
	return strings.Join(texts, "; ")
}

// setDays sets the range of days.
func (s *Selection) setDays(q *Query, newest string) error {
	if q.Last < 0 || q.Last > 0 && (q.From != "" || q.To != "") {
		return wrongQuery("the last %d days: leave out the first and the last day", q.Last)
	}
	if q.Last > 0 {
		s.from, s.to = newest, newest
		if newest != "" {
			s.from = addDays(newest, 1-q.Last)
		}
	}
	for _, day := range []string{s.from, s.to} {
		if _, err := time.Parse(time.DateOnly, day); err != nil && day != "" {
			return wrongQuery("day %q: want a date such as 2026-11-30", day)
		}
	}
	if !q.Compare {
		return nil
	}
	if s.from == "" && q.Last == 0 {
		return wrongQuery("a comparison needs the first day, or the number of last days")
	}
	if s.to == "" {
		s.to = max(newest, s.from)
	}
	if s.from != "" && s.from <= s.to {
		s.before = addDays(s.from, -s.days())
	}
	return nil
}

// days returns the number of days.
func (s *Selection) days() int { return daysBetween(s.from, s.to) + 1 }

// contains reports whether a day is in the range, or in the period before.
func (s *Selection) contains(day string) bool {
	first := s.from
	if s.before != "" {
		first = s.before
	}
	return (first == "" || day >= first) && (s.to == "" || day <= s.to)
}

// Wants reports whether the selection reads the cells of a group.
func (s *Selection) Wants(g Group) bool {
	return s.contains(g.Day) && slices.ContainsFunc(s.tables, func(t *summary) bool { return t.wants(g) })
}

// Add adds the cells of a group, by member, from which so many cells were moved into [Other].
func (s *Selection) Add(g Group, cells map[string]int64, folded int64) {
	for _, t := range s.tables {
		if s.contains(g.Day) && t.wants(g) {
			t.addGroup(g, cells, folded)
		}
	}
}

// WantsVisitors reports whether the selection reads the visitors of a day, which are those of a
// country unless it is empty.
func (s *Selection) WantsVisitors(day, country string) bool {
	return s.contains(day) && slices.ContainsFunc(s.tables, func(t *summary) bool { return t.wantsVisitors(country) })
}

// AddVisitors adds the visitors of a day, which are those of a country unless it is empty. They are a
// HyperLogLog in Redis's format; the error says why text is none.
func (s *Selection) AddVisitors(day, country string, text []byte) error {
	visitors, err := hyperloglog.Parse(text)
	if err != nil {
		return err
	}
	for _, t := range s.tables {
		if t.wantsVisitors(country) {
			t.addVisitors(day, country, visitors)
		}
	}
	return nil
}

// Tables returns the tables of what was added.
func (s *Selection) Tables() []Table {
	tables := make([]Table, len(s.tables))
	for i, t := range s.tables {
		tables[i] = t.table()
	}
	return tables
}

// date parses a day that was checked before.
func date(day string) time.Time {
	t, _ := time.Parse(time.DateOnly, day)
	return t
}

func addDays(day string, n int) string { return date(day).AddDate(0, 0, n).Format(time.DateOnly) }

func daysBetween(from, to string) int { return int(date(to).Sub(date(from)) / (24 * time.Hour)) }

// weekOf returns the week of a day by ISO 8601, such as "2026-W47".
func weekOf(day string) string {
	year, week := date(day).ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

// monthOf returns the month of a day, such as "2026-11".
func monthOf(day string) string { return day[:len("2006-01")] }
