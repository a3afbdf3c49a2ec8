// Package words has the texts of the dashboard, and shows numbers and times in words.
package words

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed texts.txt
var textFile string

// Texts returns the texts of all pages by their keys, which it parses at its first use. They must
// not be changed.
var Texts = sync.OnceValue(func() map[string]string { return parseTexts(textFile) })

// parseTexts parses lines of the form "key = text". Lines without "=" and those that begin with
// "#" are left out.
func parseTexts(file string) map[string]string {
	parsed := map[string]string{}
	for line := range strings.Lines(file) {
		key, value, found := strings.Cut(line, "=")
		if found && !strings.HasPrefix(line, "#") {
			parsed[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return parsed
}

// T returns a text with values in place of its verbs %s; those behind the last verb are left out. If it
// has the form "one|many", the first value is the number that decides. It panics if there is no such text:
// a test asks for each.
func T(key string, values ...any) string {
	format, found := Texts()[key]
	if !found {
		panic("dash: there is no text " + key)
	}
	if one, many, both := strings.Cut(format, "|"); both {
		format = many
		if len(values) > 0 && Text(values[0]) == "1" {
			format = one
		}
	}
	if len(values) == 0 {
		return format
	}
	shown := make([]any, min(len(values), strings.Count(format, "%s")))
	for i := range shown {
		shown[i] = Text(values[i])
	}
	return fmt.Sprintf(format, shown...)
}

// Of returns the text of a value that comes from Redis, whose key is the prefix and the value.
// Without such a text, as for what a later version has written, it is the value.
func Of(prefix, value string, values ...any) string {
	if _, found := Texts()[prefix+value]; !found {
		return value
	}
	return T(prefix+value, values...)
}
