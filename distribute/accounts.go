package distribute

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"skidway/distribute/cuts"
)

// account returns the day and the numbers of a cell of the accounts; the day of another cell is
// empty.
func (c Cell) account() (day string, a cuts.Account) {
	if c.Group != cuts.AccountGroup {
		return "", a
	}
	day, name, _ := strings.Cut(c.Member, " ")
	a.Add(name, c.N)
	return day, a
}

// expiry returns how a tally changes when the lines of an account expire.
func expiry(a cuts.Account) Tally {
	return Tally{
		Counted: -a.Counted, Unknown: -a.Unknown, Filtered: -a.Filtered, Expired: a.Counted + a.Unknown + a.Filtered, Private: -a.Private, Crawlers: -a.Crawlers,
	}
}

// day returns the day of a cell of a [Counting], empty for another one.
func (c Cell) day() string {
	if day, _ := c.account(); day != "" {
		return day
	}
	g, _ := cuts.ParseGroup(c.Group)
	return g.Day
}

// isFiltered reports whether the cell has lines that a filter refused, which are in no cell that is
// stored.
func (c Cell) isFiltered() bool {
	return c.Group == cuts.AccountGroup && strings.HasSuffix(c.Member, " "+cuts.FilteredAccount)
}

// byDay returns the cells that are not 0 and are stored, by their day, and the days that have only lines
// that a filter refused.
func (r *fileResult) byDay() (days map[string][]Cell, others []string, err error) {
	days = map[string][]Cell{}
	dayOfGroup, filtered := map[string]string{}, map[string]bool{}
	for name, n := range r.cells {
		if n == 0 {
			continue
		}
		if strings.Contains(name.group, "\t") || strings.Contains(name.member, "\t") {
			return nil, nil, fmt.Errorf("the aggregation counts in %q, %q: group and member can't hold a tab", name.group, name.member)
		}
		cell := Cell{name.group, name.member, n}
		if cell.isFiltered() {
			filtered[cell.day()] = true
			continue
		}
		day, known := dayOfGroup[name.group]
		if !known {
			if day = cell.day(); name.group != cuts.AccountGroup {
				dayOfGroup[name.group] = day
			}
		}
		days[day] = append(days[day], cell)
	}
	maps.DeleteFunc(filtered, func(day string, _ bool) bool { return days[day] != nil })
	return days, slices.Collect(maps.Keys(filtered)), nil
}

// expire drops the cells of days, whose lines are expired.
func (r *fileResult) expire(days map[string]bool) {
	maps.DeleteFunc(r.cells, func(name cellName, n int64) bool {
		cell := Cell{name.group, name.member, n}
		if !days[cell.day()] {
			return false
		}
		_, account := cell.account()
		moved := expiry(account)
		r.tally.Add(moved)
		r.read.Add(moved)
		return true
	})
	r.tail.cells = slices.DeleteFunc(r.tail.cells, func(cell Cell) bool {
		if !days[cell.day()] {
			return false
		}
		_, account := cell.account()
		r.tail.tally.Add(expiry(account))
		return true
	})
}
