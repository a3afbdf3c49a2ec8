// Package escape makes texts from outside harmless where they are shown.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with the characters escaped that keep rejects, and with the bytes that are
// not UTF-8.
func Text(text string, keep func(rune) bool) string {
	var escaped strings.Builder
	kept := 0 // the text before it is in escaped
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			escaped.WriteString(text[kept:i])
			fmt.Fprintf(&escaped, `\x%02x`, text[i])
		case !keep(r):
			escaped.WriteString(text[kept:i])
			fmt.Fprintf(&escaped, `\u%04x`, r)
		default:
			continue
		}
		kept = i + size
	}
	return escaped.String() + text[kept:]
}

// IsControl reports whether a character is a control character (C0, DEL, C1) or changes the
// direction of the text.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Cell returns a cell of CSV without control characters, and with a quotation mark before what
// spreadsheets would take for a formula. A line feed and a tab stay, and so do a number with a
// sign, and "-" alone.
func Cell(cell string) string {
	cell = Text(cell, func(r rune) bool { return r == '\n' || r == '\t' || !IsControl(r) })
	if cell == "" || cell == "-" || !strings.ContainsRune("=+-@\t", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
