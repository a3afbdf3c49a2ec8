package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// tableWidth is how wide tables get, in columns.
const tableWidth = 80

// A table has its numbers on the right and everything else on the left.
type table struct {
	heads []string
	right []bool // by column
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(out io.Writer) error {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	w := bufio.NewWriter(out)
	for _, row := range append([][]string{t.heads}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " ")) // Flush tells
	}
	return w.Flush()
}

// table shows each row with a bar, as long as its number is to the highest.
func (r *result) table(out io.Writer) error {
	var t table
	for _, column := range r.columns {
		t.heads, t.right = append(t.heads, strings.ToUpper(column)), append(t.right, false)
	}
	t.heads, t.right = append(t.heads, "REQUESTS", ""), append(t.right, true, false)
	most, used := int64(1), 0
	for _, row := range r.rows {
		most = max(most, row.Requests)
	}
	for _, column := range r.columns {
		used += len(column) + 4 // a day is three longer than its head
	}
	room := tableWidth - used - len("REQUESTS") - 8
	last := ""
	for _, row := range r.rows {
		cells := r.cells(row)
		if len(cells) == 2 {
			if cells[0] == last {
				cells[0] = "" // a day is named once
			} else {
				last = cells[0]
			}
		}
		length := int(row.Requests * int64(room) / most)
		t.add(append(cells, humanize.Comma(row.Requests), strings.Repeat("▇", length))...)
	}
	return t.write(out)
}

// tail shortens a text to width by what it begins with: the end of a path tells
// more.
func tail(text string, width int) string {
	runes := []rune(printable(text))
	if len(runes) <= width {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-width+1:])
}
