package htmlreport

import (
	"slices"
	"time"

	"skidway/distribute/cuts"
)

// visitors are the numbers of visitors of a page.
type visitors struct {
	known         bool
	total, before int64            // of the days that are shown at first, and of those with which they are compared
	days          map[string]int64 // of each day; nil: they are not known
}

// visitorsOf returns the visitors of tables.
func visitorsOf(tables []cuts.Table) (v visitors) {
	for _, t := range tables {
		if !t.HasVisitors {
			continue
		}
		v.known, v.total = true, t.Total.Visitors
		if t.TotalBefore != nil {
			v.before = t.TotalBefore.Visitors
		}
		if len(t.By) == 1 {
			v.days = visitorsByDay(t)
		}
	}
	return v
}

// visitorsByDay returns the visitors of the days of a table by day alone, and of those with which
// they are compared.
func visitorsByDay(t cuts.Table) map[string]int64 {
	days, distance := map[string]int64{}, 0
	if t.BeforeFrom != "" {
		distance = daysBetween(t.BeforeFrom, t.From)
	}
	for _, row := range t.Rows {
		days[row.Values[0]] = row.Visitors
	}
	for _, row := range t.Rows {
		if row.Before != nil {
			days[date(row.Values[0]).AddDate(0, 0, -distance).Format(time.DateOnly)] = row.Before.Visitors
		}
	}
	return days
}

// withoutParts returns the tables without those that others can be added up to: they show visitors
// only.
func withoutParts(tables []cuts.Table) []cuts.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t cuts.Table) bool {
		return t.HasVisitors && slices.ContainsFunc(tables, func(other cuts.Table) bool {
			return len(other.By) > len(t.By) && !slices.ContainsFunc(t.By, func(column string) bool { return !slices.Contains(other.By, column) })
		})
	})
}
