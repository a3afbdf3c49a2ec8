package stream

import (
	"bytes"
	"regexp"
)

var (
	objectsHead = regexp.MustCompile(`^[\s\x00\x{feff}]*(\[\s*\{\s*"|\[\s*\]\s*$|\{\s*"([rR]ecords|events)"\s*:\s*\[\s*(\{|\]\s*\}\s*$)|\{[ \t\r]*\n\s*")`)
	arrayHead   = regexp.MustCompile(`^(\[\s*\{\s*"|\{\s*"([rR]ecords|events)"\s*:\s*\[\s*\{\s*")`)
)

// hasArray reports whether an array of objects begins with a line behind the first one.
func hasArray(content []byte) bool {
	for {
		end := bytes.IndexByte(content, '\n')
		if end < 0 {
			return false
		}
		content = content[end+1:]
		if len(content) > 0 && (content[0] == '[' || content[0] == '{') && arrayHead.Match(content[:min(len(content), 4<<10)]) {
			return true
		}
	}
}

// FirstLines returns the lines that a file begins with, at most n of them; or its objects, with the
// lines between, if it has to be read with SplitObjects: an array begins there, which may be empty, or
// its objects have several lines. The last one may be cut off.
func FirstLines(content []byte, n int) (lines [][]byte, objects bool) {
	if !objectsHead.Match(content[:min(len(content), 4<<10)]) && !hasArray(content) {
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
