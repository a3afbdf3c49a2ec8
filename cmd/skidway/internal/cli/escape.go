package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text as one line with its unprintable characters escaped,
// which could change the terminal: names of files come from anywhere.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; ")
	return escape(text, func(r rune) bool {
		return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' // joiners: part of words and of emoji
	})
}

// isControl reports whether a character is a control character (C0, DEL, C1) or
// changes the direction of the text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// escape returns a text with the characters escaped that keep rejects, and with
// the bytes that are not UTF-8.
func escape(text string, keep func(rune) bool) string {
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
