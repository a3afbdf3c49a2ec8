package accesslog

import (
	"bytes"
	"fmt"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// SuggestLayout returns a layout for [ByLayout] that reads the address of most of the lines: it
// has the first public address, or else the first one, and the first time of the first line where
// they stand there, and names for all else. It is empty if there is none.
func SuggestLayout(lines [][]byte) string {
	layout, most := "", 0
	for _, line := range lines {
		line = bytes.TrimRight(trimStart(line), "\r")
		if len(line) == 0 {
			continue
		}
		for _, s := range separators {
			text, ok := layoutOf(line, s)
			if !ok {
				continue
			}
			format, err := ByLayout(text)
			if err != nil {
				continue
			}
			if read := format.addresses(lines); read > most && !format.choice(lines).Unsure() {
				layout, most = text, read
			}
		}
		break
	}
	return layout
}

// addresses returns the number of lines of which the format reads an address and a time.
func (f Format) addresses(lines [][]byte) (n int) {
	parser := f.New(Options{})
	for _, line := range lines {
		if record, verdict := parser.Parse(line); verdict == Parsed && record.Addr.IsValid() {
			n++
		}
	}
	return n
}

// hasTime reports whether a time stands anywhere in a line.
func hasTime(line []byte) bool {
	for _, s := range separators {
		if _, _, ok := findTime(line, lineWords(line, s)); ok {
			return true
		}
	}
	return false
}

// separators are what may stand between the fields of a line: a character that no field
// has, or any of some.
var separators = [...]string{"|", "\t", ";", " \t|;,\"'[](){}<>="}

// A span is a part of a line.
type span struct{ start, end int }

// layoutOf returns the layout of a line.
func layoutOf(line []byte, separators string) (string, bool) {
	words := lineWords(line, separators)
	at, name, ok := findTime(line, words)
	if !ok {
		return "", false
	}
	best, rank := span{}, 0
	for _, w := range words {
		if r := RankAddress(string(line[w.start:w.end])); r > rank && (w.start >= at.end || w.end <= at.start) {
			best, rank = w, r
		}
	}
	if rank == 0 {
		return "", false
	}
	return writeLayout(line, words, at, name, best), true
}

// writeLayout writes a layout with a name for each word up to the address and the time.
func writeLayout(line []byte, words []span, at span, name string, addr span) string {
	var text strings.Builder
	end := 0
	for i := 0; i < len(words); i++ {
		w, variable := words[i], fmt.Sprintf("$field%d", i+1)
		switch {
		case w.start == at.start:
			w, variable = at, name
		case w == addr:
			variable = "$remote_addr"
		case w.start > at.start && w.end <= at.end: // a further word of the time
			continue
		}
		text.Write(line[end:w.start])
		text.WriteString(variable)
		if end = w.end; end >= max(at.end, addr.end) {
			break
		}
	}
	if end < len(line) {
		text.WriteByte(line[end])
		text.WriteString("$rest")
	}
	return text.String()
}

// lineWords returns what stands between the separators of a line. Quoted text is one word.
func lineWords(line []byte, separators string) (words []span) {
	isSeparator := func(c byte) bool { return strings.IndexByte(separators, c) >= 0 }
	for i := 0; i < len(line); {
		if line[i] == '"' {
			if end := lex.StringEnd(line[i:], 1); end > 1 {
				words = append(words, span{i + 1, i + end})
				i += end + 1
				continue
			}
		}
		if isSeparator(line[i]) {
			i++
			continue
		}
		start := i
		for i < len(line) && !isSeparator(line[i]) {
			i++
		}
		words = append(words, span{start, i})
	}
	return words
}

// findTime returns where the first time of a line stands, and the variable for it.
func findTime(line []byte, words []span) (at span, name string, ok bool) {
	for i, first := range words {
		for last := min(i+2, len(words)-1); last >= i; last-- { // with a date, a clock and an offset
			value := line[first.start:words[last].end]
			if _, ok := readTime(value); !ok {
				continue
			}
			switch {
			case value[2] == '/':
				name = "$time_local"
			case lex.Number(value[:10]) >= 0:
				name = "$msec"
			default:
				name = "$time_iso8601"
			}
			return span{first.start, words[last].end}, name, true
		}
	}
	return span{}, "", false
}

// RankAddress returns how much a value is like the client's address: 2 if it is an address, or
// begins a list of addresses or an array in JSON, with a public one, 1 if with none, and 0 if it is
// something else.
func RankAddress(value string) int {
	if array, ok := strings.CutPrefix(value, "[\""); ok {
		value, _, _ = strings.Cut(array, "\"")
	}
	first, _, _ := strings.Cut(value, ",")
	switch {
	case !address([]byte(strings.TrimSpace(first))).IsValid():
		return 0
	case !IsPublic(client([]byte(value), nil)):
		return 1
	}
	return 2
}

// RankTime returns how much a value is like the time of a line: 2 if it is a time that is read
// without naming its notation, 1 if it is a date, and 0 if it is something else.
func RankTime(value string) int {
	times := newTimeReader(Options{})
	_, ok := times.read([]byte(value))
	switch {
	case !ok:
		return 0
	case len(value) == dateLen && value[4] == '-':
		return 1
	}
	return 2
}

// RankClock returns 1 if a value is a time of day, and 0 if it is something else.
func RankClock(value string) int {
	if _, ok := readClock([]byte(value)); ok {
		return 1
	}
	return 0
}
