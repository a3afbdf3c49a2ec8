package logs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/cuts"
)

// figureCell returns a number as it is in tables.
func figureCell(f cuts.Figure, counts *cuts.Counts, atLeast bool) string {
	return figureMark(f, atLeast) + comma(f.Value(counts))
}

// figureMark returns what stands before a number in tables, if it is not exact.
func figureMark(f cuts.Figure, atLeast bool) string {
	switch {
	case f.Name == cuts.VisitorsFigure:
		return "≈"
	case atLeast && !strings.HasPrefix(f.Name, "duration_p"):
		return "≥"
	}
	return ""
}

// tableView returns the columns of a table, and where there is one number only, a bar in
// proportion to the highest one.
func tableView(t *cuts.Table) (v cli.View[cuts.Row]) {
	last := ""
	used := 0
	for i, name := range t.By {
		used += len(name) + 4 // a day is three columns wider than its heading
		c := cli.Column[cuts.Row]{
			Key: name, Head: strings.ToUpper(name), Omit: true,
			Value: func(row cuts.Row) any { return row.Values[i] },
		}
		if i == 0 && len(t.By) > 1 && slices.Contains([]string{"day", "week", "month", "hour"}, name) {
			c.Cell = func(row cuts.Row) string {
				if row.Values[0] == last {
					return "" // each day is printed once
				}
				last = row.Values[0]
				return last
			}
		}
		v = append(v, c)
	}
	columns := t.Figures()
	for _, f := range columns {
		v = append(v, figureView(f, t.TotalBefore != nil)...)
	}
	v = append(v, cli.Column[cuts.Row]{Key: "at_least", Only: "json", Omit: true, Value: func(row cuts.Row) any { return row.AtLeast }})
	if t.TotalBefore != nil {
		v = append(v, cli.Column[cuts.Row]{Key: "before_at_least", Only: "json", Omit: true, Value: func(row cuts.Row) any { return row.BeforeAtLeast }})
	}
	if len(columns) > 1 || t.TotalBefore != nil {
		return v
	}
	highest := int64(1)
	for _, row := range t.Rows {
		highest = max(highest, row.Requests)
	}
	room := max(cli.TableWidth-used-len("REQUESTS")-8, 4)
	return append(v, cli.Column[cuts.Row]{
		Head: " ", Cell: func(row cuts.Row) string { return strings.Repeat("▇", int(max(row.Requests, 0)*int64(room)/highest)) },
	})
}

// figureView returns the columns of a number, and of the number before and the change.
func figureView(f cuts.Figure, compared bool) cli.View[cuts.Row] {
	v := cli.View[cuts.Row]{{
		Key: f.Name, Head: strings.ToUpper(f.Name), Right: true,
		Value: func(row cuts.Row) any { return known(f.Value(&row.Counts)) },
		Cell:  func(row cuts.Row) string { return figureCell(f, &row.Counts, row.AtLeast) },
	}}
	if !compared {
		return v
	}
	change := func(row cuts.Row) any {
		n, ok := f.Value(&row.Counts)
		before, hadOne := f.Value(row.Before)
		percent, changed := cuts.Change(n, before)
		if !ok || !hadOne || !changed {
			return nil
		}
		return percentText(fmt.Sprintf("%.1f", percent))
	}
	return append(v, cli.Column[cuts.Row]{
		Key: f.Name + "_before", Head: "BEFORE", Right: true,
		Value: func(row cuts.Row) any { return known(f.Value(row.Before)) },
		Cell:  func(row cuts.Row) string { return figureCell(f, row.Before, row.BeforeAtLeast) },
	}, cli.Column[cuts.Row]{
		Key: f.Name + "_change", Head: "CHANGE", Right: true, Value: change,
		Cell: func(row cuts.Row) string {
			if text, ok := change(row).(percentText); ok {
				return string(text) + " %"
			}
			return ""
		},
	})
}

// A percentText is a number with one decimal.
type percentText string

// MarshalJSON implements [json.Marshaler].
func (p percentText) MarshalJSON() ([]byte, error) { return []byte(p), nil }

// known returns a number, nil if it is not known.
func known(n int64, ok bool) any {
	if !ok {
		return nil
	}
	return n
}

// comma returns a number as it is in tables.
func comma(n int64, ok bool) string {
	if !ok {
		return "-"
	}
	return humanize.Comma(n)
}
