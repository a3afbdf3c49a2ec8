package stream

import (
	"bytes"
	"regexp"
	"sync"
)

// The patterns are compiled when they are first used: they take memory, and most programs use none.
var (
	objectsHead = pattern(`^[\s\x00\x{feff}]*(\[\s*\{\s*"|\[\s*\]\s*$|\{\s*"([rR]ecords|events)"\s*:\s*\[\s*(\{|\]\s*\}\s*$)|\{[ \t\r]*\n\s*")`)
	arrayHead   = pattern(`^(\[\s*\{\s*"|\{\s*"([rR]ecords|events)"\s*:\s*\[\s*\{\s*"|\{\s*"(messageType|owner)".+,\s*"logEvents"\s*:\s*\[)`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// joint is what may be the end of an object and the begin of the next one in its line.
var joint = pattern(`\}[ \t]*,?[ \t]*\{\s*"`)

// hasJoined reports whether an array of objects begins with a line, or an object that another one follows
// in its line.
func hasJoined(content []byte) bool {
	for line := range bytes.Lines(content) {
		switch line = bytes.TrimLeft(line, " \t\r\x00\ufeff"); {
		case len(line) == 0 || line[0] != '[' && line[0] != '{':
		case arrayHead().Match(line[:min(len(line), 4<<10)]), joint().Match(line) && countObjects(line) > 1:
			return true
		}
	}
	return false
}

// countObjects returns the number of objects in a line, the last of which may be cut off.
func countObjects(line []byte) (n int) {
	s := NewSplitter(0, func([]byte) { n++ })
	s.SplitObjects(ObjectsBegin)
	s.Split(line)
	if _, _, open := s.Tail(); open {
		n++
	}
	return n
}

// FirstLines returns the lines that a file begins with, at most n of them; or its objects, with the
// lines between, if it has to be read with SplitObjects: an array begins there, which may be empty, or
// its objects have several lines, or a line has several. The last one may be cut off.
func FirstLines(content []byte, n int) (lines [][]byte, objects bool) {
	if !objectsHead().Match(content[:min(len(content), 4<<10)]) && !hasJoined(content) {
		return FirstLinesOfText(content, n), false
	}
	s := NewSplitter(0, func(line []byte) {
		if len(lines) < n && line != nil {
			lines = append(lines, bytes.Clone(line))
		}
	})
	s.SplitObjects(ObjectsBegin)
	s.Split(content)
	if line, _, open := s.Tail(); open && len(lines) < n && len(line) > 0 {
		lines = append(lines, line)
	}
	return lines, true
}

// FirstLinesOfText returns the lines that a file begins with, at most n of them, whatever they hold. The
// last one may be cut off.
func FirstLinesOfText(content []byte, n int) [][]byte {
	lines := bytes.SplitN(content, []byte("\n"), n+1)
	return lines[:min(len(lines), n)]
}
