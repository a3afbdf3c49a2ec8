package cli

import (
	"strings"
	"unicode"

	"skidway/internal/escape"
)

// Printable returns a text as one line with its unprintable characters escaped,
// which could change the terminal: names of files come from anywhere.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; ")
	return escape.Text(text, func(r rune) bool {
		return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' // joiners: part of words and of emoji
	})
}
