package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// OutputFlag adds -o: a table on a terminal, CSV otherwise.
func OutputFlag(c *cobra.Command) *Choice {
	format := &Choice{Words: []string{"table", "csv", "json"}}
	c.Flags().VarP(format, "output", "o", "output format (default: table on a terminal, else csv)")
	Complete(c, "output", format.Words...)
	return format
}

// Terminal returns the terminal that results go to, or nil.
func (a *App) Terminal() *os.File {
	if file, ok := a.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// TerminalSize returns the width and the height of a terminal in characters.
func TerminalSize(terminal *os.File) (width, height int) {
	width, height, err := term.GetSize(int(terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return TableWidth, 24
	}
	return width, height
}

// A screen is the terminal that a table is written to.
type screen struct {
	io.Writer
	width int
}

// Print writes a result in the format that was asked for.
func (a *App) Print(format string, table, csv, json func(io.Writer) error) error {
	terminal := a.Terminal()
	switch {
	case format == "" && terminal == nil:
		format = "csv"
	case format == "":
		format = "table"
	}
	return a.Write(func(out io.Writer) error {
		if format == "table" && terminal != nil {
			width, _ := TerminalSize(terminal)
			out = &screen{out, width}
		}
		return map[string]func(io.Writer) error{"table": table, "csv": csv, "json": json}[format](out)
	})
}

// Write writes to standard output through one buffer. Not to be able to write is an
// error.
func (a *App) Write(result func(io.Writer) error) error {
	out := bufio.NewWriter(a.Out)
	err := result(out)
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// PrintLine prints one value, such as an id, in a line.
func (a *App) PrintLine(value any) error {
	return a.Write(func(out io.Writer) error {
		_, err := fmt.Fprintln(out, value)
		return err
	})
}

// WriteJSON writes an object as indented JSON.
func WriteJSON(out io.Writer, object any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object)
}

// WriteJSONLine writes an object as one line of JSON.
func WriteJSONLine(out io.Writer, object any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(object)
}

// WriteCSV writes rows, the first of which is the heading.
func WriteCSV(out io.Writer, rows [][]string) error {
	w := csv.NewWriter(out)
	_ = w.WriteAll(rows) // Error returns the error
	return w.Error()
}

// PrintWord prints word as a line, or object in JSON.
func (a *App) PrintWord(format, word string, object any) error {
	line := func(out io.Writer) error { _, err := fmt.Fprintln(out, word); return err }
	return a.Print(format, line, line, func(out io.Writer) error { return WriteJSON(out, object) })
}

// Digits returns a number as text.
func Digits(n uint64) string { return strconv.FormatUint(n, 10) }

// Stamp returns a time for programs, "" for the zero time.
func Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// Cut returns the first width columns of a text, on one line.
func Cut(text string, width int) string {
	runes := []rune(Printable(text))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:width-1]) + "…"
}

// Tail returns the last width columns of a text, on one line. The end of a path is
// more useful than its beginning.
func Tail(text string, width int) string {
	runes := []rune(Printable(text))
	if len(runes) <= width {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-width+1:])
}

// LocalTime returns a time for people, in the zone of this machine.
func LocalTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format(time.DateTime)
}
