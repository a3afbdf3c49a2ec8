package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TableWidth is how wide tables get, in columns.
const TableWidth = 80

// A Table has its numbers on the right and everything else on the left.
type Table struct {
	Heads []string
	Right []bool // by column
	rows  [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table, with columns as wide as their widest cell.
func (t *Table) Write(out io.Writer) error {
	widths := make([]int, len(t.Heads))
	for _, row := range append([][]string{t.Heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	w := bufio.NewWriter(out)
	for _, row := range append([][]string{t.Heads}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.Right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " ")) // Flush tells
	}
	return w.Flush()
}
