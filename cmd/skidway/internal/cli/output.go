package cli

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"skidway/internal/escape"
)

// OutputFlag adds -o, a table on a terminal and CSV otherwise, and --csv-raw. more are formats that only
// this command has.
func OutputFlag(a *App, c *cobra.Command, more ...string) *Choice {
	format := &Choice{Words: append([]string{"table", "csv", "json"}, more...)}
	c.Flags().VarP(format, "output", "o", "output format (default: table on a terminal, else csv)")
	Complete(c, "output", format.Words...)
	c.Flags().BoolVar(&a.rawCSV, "csv-raw", false, "print CSV cells as they are: formulas not quoted, control characters not escaped")
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

// A rawCSV is output whose CSV cells are written as they are.
type rawCSV struct{ io.Writer }

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
		switch {
		case format == "table" && terminal != nil:
			width, _ := TerminalSize(terminal)
			out = &screen{out, width}
		case a.rawCSV:
			out = rawCSV{out}
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
func WriteJSON(out io.Writer, object any) error { return writeJSON(out, object, "  ") }

// WriteJSONLine writes an object as one line of JSON.
func WriteJSONLine(out io.Writer, object any) error { return writeJSON(out, object, "") }

// writeJSON escapes the control characters that package json does not escape.
func writeJSON(out io.Writer, object any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(object); err != nil {
		return err
	}
	_, err := io.WriteString(out, escape.Text(text.String(), func(r rune) bool { return r == '\n' || !escape.IsControl(r) }))
	return err
}

// WriteCSV writes rows, the first of which is the heading. Unless --csv-raw is
// given, it escapes control characters, and puts a quotation mark before cells that
// spreadsheets would take for formulas.
func WriteCSV(out io.Writer, rows [][]string) error {
	w := csv.NewWriter(out)
	if _, raw := out.(rawCSV); !raw {
		for _, row := range rows {
			for i := range row {
				row[i] = escape.Cell(row[i])
			}
		}
	}
	_ = w.WriteAll(rows) // Error returns the error
	return w.Error()
}

// PrintWord prints word as a line, or object in JSON.
func (a *App) PrintWord(format, word string, object any) error {
	line := func(out io.Writer) error { _, err := fmt.Fprintln(out, word); return err }
	return a.Print(format, line, line, func(out io.Writer) error { return WriteJSON(out, object) })
}

// Stamp returns a time for programs, "" for the zero time.
func Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// Printable returns a text as one line with its unprintable characters escaped,
// which could change the terminal: names of files come from anywhere.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; ")
	return escape.Text(text, func(r rune) bool {
		return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' // joiners: part of words and of emoji
	})
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

// ShellWord returns a text as a shell takes it, in quotes where it needs them.
func ShellWord(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("._-/:", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return ShellText(text)
	}
	return text
}

// ShellText returns a text as a shell takes it, in quotes; it may have tabs, which a terminal does not show.
func ShellText(text string) string {
	if strings.Contains(text, "\t") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`).Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
