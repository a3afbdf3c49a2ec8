package stream

import (
	"bytes"
	"regexp"
)

// SplitObjects makes the Splitter pass on JSON objects instead of lines: those of an array, of the
// array of records or events that is the first value of an object, or one after the other, with
// line breaks anywhere. What stands between them is skipped. It must be called before Split.
func (s *Splitter) SplitObjects() { s.objects = new(objectSplit) }

// objectSplit is how far a Splitter has read the object that it is in.
type objectSplit struct {
	depth   int // of objects and arrays; 0: between objects
	quoted  bool
	escaped bool // the next byte of a string has no meaning
}

// splitObjects passes on the objects of a block.
func (s *Splitter) splitObjects(block []byte) {
	before := s.offset
	s.offset += int64(len(block))
	o, start := s.objects, 0
	for i := 0; i < len(block); i++ {
		switch {
		case o.depth == 0:
			next := bytes.IndexByte(block[i:], '{')
			if next < 0 {
				s.resume = s.offset
				return
			}
			i += next
			start, o.depth = i, 1
			s.resume = before + int64(i)
		case o.escaped:
			o.escaped = false
		case o.quoted:
			next := bytes.IndexAny(block[i:], `"\`)
			if next < 0 {
				i = len(block)
				continue
			}
			i += next
			o.escaped, o.quoted = block[i] == '\\', block[i] != '"'
		case block[i] == '"':
			o.quoted = true
		case block[i] == '[' && o.depth == 1 && isRecords(s.carry, block[start:i]):
			o.depth, s.carry = 0, s.carry[:0]
		case block[i] == '{' || block[i] == '[':
			o.depth++
		case block[i] == '}' || block[i] == ']':
			if o.depth--; o.depth == 0 {
				s.object(block[start : i+1])
				s.resume = before + int64(i) + 1
			}
		}
	}
	if o.depth > 0 {
		s.addCarry(block[start:])
	}
}

// object passes on an object whose last part is given; the others are in carry.
func (s *Splitter) object(part []byte) {
	s.lines++
	if len(s.carry) == 0 && !s.tooLong && len(part) <= MaxLine {
		s.line(part)
		return
	}
	s.addCarry(part)
	if s.tooLong {
		s.lines--
		s.skip(s.resume)
	} else {
		s.line(s.carry)
	}
	s.carry, s.tooLong = s.carry[:0], false
}

// isRecords reports whether an object begins with the key of an array of records, which
// Azure puts around lines, or of the events that the CloudWatch Logs command returns.
func isRecords(first, second []byte) bool {
	if len(first)+len(second) > maxRecordsKey {
		return false
	}
	text := string(first) + string(second)
	return recordsKey.MatchString(text)
}

const maxRecordsKey = 64

var (
	recordsKey  = regexp.MustCompile(`^\{\s*"([rR]ecords|events)"\s*:\s*$`)
	objectsHead = regexp.MustCompile(`^[\s\x00\x{feff}]*(\[\s*\{\s*"|\[\s*\]\s*$|\{\s*"([rR]ecords|events)"\s*:\s*\[\s*(\{|\]\s*\}\s*$)|\{[ \t\r]*\n\s*")`)
)

// FirstLines returns the lines that a file begins with, at most n of them; or its objects,
// if it has to be read with SplitObjects: it is an array, which may be empty, or its objects
// have several lines. The last one may be cut off.
func FirstLines(content []byte, n int) (lines [][]byte, objects bool) {
	if !objectsHead.Match(content[:min(len(content), 4<<10)]) {
		lines = bytes.SplitN(content, []byte("\n"), n+1)
		return lines[:min(len(lines), n)], false
	}
	s := NewSplitter(0, func(line []byte) {
		if len(lines) < n && line != nil {
			lines = append(lines, bytes.Clone(line))
		}
	})
	s.SplitObjects()
	s.Split(content)
	if line, _ := s.Tail(); len(lines) < n && len(line) > 0 {
		lines = append(lines, line)
	}
	return lines, true
}
