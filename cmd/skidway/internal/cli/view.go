package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Column is one value that a [View] prints of each row.
type Column[T any] struct {
	Key   string         // heading in CSV and name in JSON; empty: the column is in tables only
	Head  string         // heading in tables; empty: the column is in CSV and JSON only
	Right bool           // aligns the cells to the right
	Fit   bool           // cuts the cells so that the table fits [TableWidth]; for the last column
	Wide  bool           // leaves the column out where the table is wider than the terminal
	Whole bool           // never cuts the cells to the width of the terminal
	Value func(T) any    // in CSV and JSON
	Cell  func(T) string // in tables; nil: the value as in CSV
	Omit  bool           // leaves zero and empty values out of JSON
	Only  string         // "csv" or "json": the key is in that format only

	OmitNil bool // leaves nil out where Omit leaves empty values out, but not zero
}

// Of returns a view of rows that hold what another view prints.
func Of[T, U any](v View[U], part func(T) U) View[T] {
	columns := make(View[T], len(v))
	for i, c := range v {
		columns[i] = Column[T]{
			Key: c.Key, Head: c.Head, Right: c.Right, Fit: c.Fit, Wide: c.Wide, Whole: c.Whole, Omit: c.Omit, Only: c.Only, OmitNil: c.OmitNil,
			Value: func(row T) any { return c.Value(part(row)) },
		}
		if c.Cell != nil {
			columns[i].Cell = func(row T) string { return c.Cell(part(row)) }
		}
	}
	return columns
}

func (c *Column[T]) cell(row T) string {
	if c.Cell != nil {
		return Printable(c.Cell(row))
	}
	return Printable(text(c.Value(row)))
}

// omits reports whether a value is left out.
func (c *Column[T]) omits(value any) bool {
	return c.Omit && empty(value) || c.OmitNil && value == nil
}

// A View declares once how rows are printed, in each format.
type View[T any] []Column[T]

// Table returns rows as a table.
func (v View[T]) Table(rows []T) *Table {
	t := &Table{}
	for _, c := range v {
		if c.Head == "" {
			continue
		}
		column := tableColumn{cells: []string{c.Head}, right: c.Right, fit: c.Fit, wide: c.Wide, whole: c.Whole}
		for _, row := range rows {
			column.cells = append(column.cells, c.cell(row))
		}
		t.columns = append(t.columns, column)
	}
	return t
}

// CSV returns rows as records. The first is the heading.
func (v View[T]) CSV(rows []T) [][]string {
	records := make([][]string, 1+len(rows))
	for _, c := range v {
		if c.Key == "" || c.Only == "json" {
			continue
		}
		records[0] = append(records[0], c.Key)
		for i, row := range rows {
			records[1+i] = append(records[1+i], text(c.Value(row)))
		}
	}
	return records
}

// Object returns a row as a JSON object.
func (v View[T]) Object(row T) (o Object) {
	for _, c := range v {
		if c.Key == "" || c.Only == "csv" {
			continue
		}
		if value := c.Value(row); !c.omits(value) {
			o = append(o, Field{c.Key, value})
		}
	}
	return o
}

// Objects returns rows as JSON objects, never nil.
func (v View[T]) Objects(rows []T) []Object {
	objects := make([]Object, len(rows))
	for i, row := range rows {
		objects[i] = v.Object(row)
	}
	return objects
}

// PrintView prints rows by a view. In JSON it prints object, or an array of the rows if
// object is nil.
func PrintView[T any](a *App, format string, v View[T], rows []T, object any) error {
	if object == nil {
		object = v.Objects(rows)
	}
	return a.Print(format, v.Table(rows).Write,
		func(out io.Writer) error { return WriteCSV(out, v.CSV(rows)) },
		func(out io.Writer) error { return WriteJSON(out, object) })
}

// Figures returns a row as CSV records of a key and a value.
func (v View[T]) Figures(row T) (records [][]string) {
	for _, c := range v {
		if c.Key == "" || c.Only == "json" {
			continue
		}
		if value := c.Value(row); !c.omits(value) {
			records = append(records, []string{c.Key, text(value)})
		}
	}
	return records
}

// PrintFigures prints one row with a line for each column: in tables below name
// and value, in CSV below key and "value". Columns with Omit are left out of all
// formats when they are empty.
func PrintFigures[T any](a *App, format string, v View[T], row T, key, name, value string) error {
	names, values := tableColumn{cells: []string{name}, whole: true}, tableColumn{cells: []string{value}, whole: true}
	for _, c := range v {
		if c.Head != "" && !c.omits(c.Value(row)) {
			names.cells, values.cells = append(names.cells, c.Head), append(values.cells, c.cell(row))
		}
	}
	table := &Table{columns: []tableColumn{names, values}}
	return a.Print(format, table.Write,
		func(out io.Writer) error { return WriteCSV(out, append([][]string{{key, "value"}}, v.Figures(row)...)) },
		func(out io.Writer) error { return WriteJSON(out, v.Object(row)) })
}

// text returns a value as it is in CSV.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case time.Time:
		return Stamp(value)
	case float64:
		return strconv.FormatFloat(value, 'f', 3, 64)
	case []string:
		return strings.Join(value, " ")
	}
	return fmt.Sprint(value)
}

func empty(value any) bool {
	if zero, ok := value.(interface{ IsZero() bool }); ok {
		return zero.IsZero()
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// An Object is a JSON object with its fields in order.
type Object []Field

// A Field is a member of an [Object].
type Field struct {
	Key   string
	Value any
}

// MarshalJSON implements [json.Marshaler].
func (o Object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%q:", f.Key)
		if err := WriteJSONLine(&text, f.Value); err != nil {
			return nil, err
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// ErrorText returns the text of an error, "" for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TableWidth is the width of tables in columns of text, where no terminal has another.
const TableWidth = 80

// minCut is the width to which the cells of a table are cut at least, and minFit that
// of a column that fits.
const (
	minCut = 8
	minFit = 20
)

// A Table is text in columns.
type Table struct{ columns []tableColumn }

type tableColumn struct {
	cells                   []string // the heading, and one for each row
	right, fit, wide, whole bool     // as in [Column]
	width                   int
}

// Write writes the table, with columns as wide as their widest cell. On a terminal, it
// leaves columns out and cuts cells until the table fits.
func (t *Table) Write(out io.Writer) error {
	columns := slices.Clone(t.columns)
	for i := range columns {
		for _, cell := range columns[i].cells {
			columns[i].width = max(columns[i].width, utf8.RuneCountInString(cell))
		}
	}
	width := TableWidth
	if s, ok := out.(*screen); ok {
		width = s.width
		columns = leaveOut(columns, width)
	}
	if last := &columns[len(columns)-1]; last.fit {
		last.width = min(last.width, max(last.width-excess(columns, width), minFit))
	}
	if _, ok := out.(*screen); ok {
		narrow(columns, width)
	}
	w := bufio.NewWriter(out)
	for row := range columns[0].cells {
		var line strings.Builder
		for i, c := range columns {
			if i > 0 {
				line.WriteString("  ")
			}
			cell := Cut(c.cells[row], c.width)
			pad := strings.Repeat(" ", c.width-utf8.RuneCountInString(cell))
			if c.right {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " ")) // Flush returns the error
	}
	return w.Flush()
}

// excess returns how much wider than width a table of these columns is.
func excess(columns []tableColumn, width int) int {
	total := 2 * (len(columns) - 1)
	for _, c := range columns {
		total += c.width
	}
	return total - width
}

// leaveOut returns the columns without the wide ones, of which it keeps the first ones
// that leave room for the others.
func leaveOut(columns []tableColumn, width int) []tableColumn {
	for i := len(columns) - 1; i >= 0 && excess(columns, width) > 0; i-- {
		if columns[i].wide {
			columns = slices.Delete(columns, i, i+1)
		}
	}
	return columns
}

// narrow takes from the widest columns of text until the table has the width.
func narrow(columns []tableColumn, width int) {
	for excess(columns, width) > 0 {
		var widest *tableColumn
		for i := range columns {
			if c := &columns[i]; !c.right && !c.whole && (widest == nil || c.width > widest.width) {
				widest = c
			}
		}
		if widest == nil || widest.width <= minCut {
			return
		}
		widest.width--
	}
}
