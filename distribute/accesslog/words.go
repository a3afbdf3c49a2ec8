package accesslog

import (
	"bytes"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// wordCutters cut a line into the words of which its fields may consist: by a character that no field
// has, by blanks, also without the brackets around words and the names before them, and by any of some
// characters.
var wordCutters = []func(line []byte) []span{
	cutBy("|"), cutBy("\t"), cutBy(";"), cutBy(" \t"), bareWords, cutBy(" \t|;,\"'[](){}<>="),
}

// A span is a part of a line.
type span struct{ start, end int }

// cutBy returns what cuts a line at separators. Quoted text is one word.
func cutBy(separators string) func(line []byte) []span {
	return func(line []byte) (words []span) {
		for i := 0; i < len(line); {
			if end := quotedEnd(line, i); end > 0 {
				words = append(words, span{i + 1, end})
				i = end + 1
				continue
			}
			if strings.IndexByte(separators, line[i]) >= 0 {
				i++
				continue
			}
			start := i
			for i < len(line) && strings.IndexByte(separators, line[i]) < 0 {
				i++
			}
			words = append(words, span{start, i})
		}
		return words
	}
}

// quotedEnd returns the place of the quote that ends a text in quotes; 0 if none begins at a place.
func quotedEnd(line []byte, at int) int {
	if line[at] != '"' {
		return 0
	}
	if n := lex.StringEnd(line[at:], 1); n > 1 {
		return at + n
	}
	return 0
}

// bareWords cuts a line at its blanks, and takes off brackets and signs around the words, and a name with
// a = or a colon before one.
func bareWords(line []byte) (words []span) {
	for i := 0; i < len(line); {
		if line[i] <= ' ' || strings.IndexByte("[({<'", line[i]) >= 0 {
			i++
			continue
		}
		if end := quotedEnd(line, i); end > 0 {
			words = append(words, span{i + 1, end})
			i = end + 1
			continue
		}
		name := i
		for name < len(line) && (isNameByte(line[name]) || line[name] == '-') {
			name++
		}
		if name > i && name+1 < len(line) && line[name+1] > ' ' && (line[name] == '=' || line[name] == ':' && line[name-1]-'0' > 9) {
			i = name + 1
			continue
		}
		end := i
		for end < len(line) && line[end] > ' ' {
			end++
		}
		bare := bytes.TrimRight(line[i:end], "])}>',;")
		if len(bare) > 0 {
			words = append(words, span{i, i + len(bare)})
		}
		i = end
	}
	return words
}
