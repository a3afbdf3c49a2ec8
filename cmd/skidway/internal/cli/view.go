package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
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
	Value func(T) any    // in CSV and JSON
	Cell  func(T) string // in tables; nil: the value as in CSV
	Omit  bool           // leaves zero and empty values out of JSON
	Only  string         // "csv" or "json": the key is in that format only
}

// Of returns a view of rows that hold what another view prints.
func Of[T, U any](v View[U], part func(T) U) View[T] {
	columns := make(View[T], len(v))
	for i, c := range v {
		columns[i] = Column[T]{
			Key: c.Key, Head: c.Head, Right: c.Right, Fit: c.Fit, Omit: c.Omit, Only: c.Only,
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
		return c.Cell(row)
	}
	return Printable(text(c.Value(row)))
}

// A View declares once how rows are printed, in each format.
type View[T any] []Column[T]

// Table returns rows as a table.
func (v View[T]) Table(rows []T) *Table {
	t := &Table{}
	for _, c := range v {
		if c.Head != "" {
			t.Heads, t.Right, t.Fit = append(t.Heads, c.Head), append(t.Right, c.Right), c.Fit
		}
	}
	for _, row := range rows {
		var cells []string
		for _, c := range v {
			if c.Head != "" {
				cells = append(cells, c.cell(row))
			}
		}
		t.Add(cells...)
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
		value := c.Value(row)
		if !c.Omit || !empty(value) {
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
		if value := c.Value(row); !c.Omit || !empty(value) {
			records = append(records, []string{c.Key, text(value)})
		}
	}
	return records
}

// PrintFigures prints one row with a line for each column: in tables below name
// and value, in CSV below key and "value". Columns with Omit are left out of all
// formats when they are empty.
func PrintFigures[T any](a *App, format string, v View[T], row T, key, name, value string) error {
	table := &Table{Heads: []string{name, value}, Right: make([]bool, 2)}
	for _, c := range v {
		if c.Head != "" && (!c.Omit || !empty(c.Value(row))) {
			table.Add(c.Head, c.cell(row))
		}
	}
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
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	text.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%q:", f.Key)
		if err := encoder.Encode(f.Value); err != nil {
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

// TableWidth is the width of tables in columns.
const TableWidth = 80

// A Table is text in columns.
type Table struct {
	Heads []string
	Right []bool // by column
	Fit   bool   // cuts the cells of the last column
	rows  [][]string
}

// minFit is the width to which cells of the last column are cut at least.
const minFit = 20

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
	if last := len(widths) - 1; t.Fit {
		room := TableWidth - 2*last
		for _, width := range widths[:last] {
			room -= width
		}
		widths[last] = min(widths[last], max(room, minFit))
		for _, row := range t.rows {
			row[last] = Cut(row[last], widths[last])
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
		_, _ = fmt.Fprintln(w, strings.TrimRight(line.String(), " ")) // Flush returns the error
	}
	return w.Flush()
}
