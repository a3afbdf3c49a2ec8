package stream

import (
	"bytes"
	"regexp"
)

// SplitObjects makes the Splitter pass on JSON objects: those of an array, of the array of records or
// events that is the first value of an object, or one after the other, with line breaks anywhere. Lines
// between them that are no JSON are passed on as lines are. state is what ObjectsState returned where
// the content begins, or [ObjectsBegin]. It must be called before Split.
func (s *Splitter) SplitObjects(state string) {
	s.objects = &objectSplit{lineBegin: state == ObjectsBegin, records: state == insideRecords}
	s.objects.keep()
}

// ObjectsState returns what SplitObjects needs to go on at Resume; empty if the Splitter passes on lines.
func (s *Splitter) ObjectsState() string {
	if s.objects == nil {
		return ""
	}
	return s.objects.resume
}

// The states of a Splitter of objects.
const (
	ObjectsBegin  = "lines"   // at the begin of a file, or of a line behind it
	behindObject  = "objects" // behind an object, in whose line no text begins
	insideRecords = "records" // between objects of an array that is in an object
)

// objectSplit is how far a Splitter has read the object that it is in.
type objectSplit struct {
	depth   int // of objects and arrays; 0: between objects
	quoted  bool
	escaped bool // the next byte of a string has no meaning

	records   bool   // the objects are in an array that an object holds
	closing   bool   // what follows that array in its object is read, and not passed on
	lineBegin bool   // between objects: only blanks stand before in the line
	bracket   bool   // the last byte is a [ with which a line begins
	text      bool   // in a line that is no JSON
	resume    string // the state at Resume
}

// keep makes the state that of Resume.
func (o *objectSplit) keep() {
	switch {
	case o.records:
		o.resume = insideRecords
	case o.lineBegin:
		o.resume = ObjectsBegin
	default:
		o.resume = behindObject
	}
}

// between reads a byte between objects. It begins an object, a line of text, or what closes the object
// around an array of records, or none of these.
func (o *objectSplit) between(c byte) {
	bracket := o.bracket
	o.bracket = false
	switch c {
	case '{':
		o.depth = 1
	case '\n':
		o.lineBegin = true
	case ' ', '\t', '\r', 0, 0xef, 0xbb, 0xbf: // with a byte order mark
	case '[':
		o.bracket, o.lineBegin = o.lineBegin && !o.records, false
	case ']':
		if o.records {
			o.depth, o.closing = 1, true
		}
		o.lineBegin = false
	case ',', '}':
		o.lineBegin = false
	default:
		o.text = (o.lineBegin || bracket) && !o.records
		o.lineBegin = o.text // there
	}
}

// splitObjects passes on the objects of a block, and the lines between them.
func (s *Splitter) splitObjects(block []byte) {
	before := s.offset
	s.offset += int64(len(block))
	o, start := s.objects, 0
	for i := 0; i < len(block); i++ {
		switch {
		case o.text:
			end := bytes.IndexByte(block[i:], '\n')
			if end < 0 {
				i = len(block)
				continue
			}
			i += end
			s.object(block[start:i], before+int64(i)+1)
			o.text = false
		case o.depth == 0:
			start = s.betweenObjects(block, i, before)
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
		case block[i] == '[' && o.depth == 1 && !o.records && isRecords(s.carry, block[start:i]):
			o.depth, o.records, o.lineBegin, s.carry = 0, true, false, s.carry[:0]
		case block[i] == '{' || block[i] == '[':
			o.depth++
		case block[i] == '}' || block[i] == ']':
			if o.depth--; o.depth == 0 {
				s.endObject(block[start:i+1], before+int64(i)+1)
			}
		}
	}
	if o.text || o.depth > 0 && !o.closing {
		s.addCarry(block[start:])
	}
}

// betweenObjects reads the byte of a block between objects, and returns where the object or the line
// starts that begins there.
func (s *Splitter) betweenObjects(block []byte, i int, before int64) (start int) {
	o := s.objects
	bracket := o.bracket
	o.between(block[i])
	switch {
	case o.text && bracket:
		if start = i - 1; i == 0 {
			start = 0
			s.addCarry([]byte("["))
		}
		s.resume = before + int64(i) - 1
	case o.text, o.depth > 0:
		start = i
		s.resume = before + int64(i)
	case o.bracket:
		return i
	default:
		start = i
		s.resume = before + int64(i) + 1
	}
	o.keep()
	return start
}

// endObject ends an object whose last part is given, before the byte at an offset. It is passed on
// unless its records were.
func (s *Splitter) endObject(part []byte, end int64) {
	o := s.objects
	o.lineBegin = false
	if o.closing {
		o.closing, o.records = false, false
		s.resume = end
		o.keep()
		return
	}
	s.object(part, end)
}

// object passes on an object, or a line between objects, whose last part is given; the others are in
// carry. What follows it begins at an offset.
func (s *Splitter) object(part []byte, end int64) {
	s.lines++
	switch {
	case len(s.carry) == 0 && !s.tooLong && len(part) <= MaxLine:
		s.line(part)
	default:
		if s.addCarry(part); s.tooLong {
			s.lines--
			s.skip(s.resume)
		} else {
			s.line(s.carry)
		}
		s.carry, s.tooLong = s.carry[:0], false
	}
	s.resume = end
	s.objects.keep()
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
		lines = bytes.SplitN(content, []byte("\n"), n+1)
		return lines[:min(len(lines), n)], false
	}
	s := NewSplitter(0, func(line []byte) {
		if len(lines) < n && line != nil {
			lines = append(lines, bytes.Clone(line))
		}
	})
	s.SplitObjects(ObjectsBegin)
	s.Split(content)
	if line, _ := s.Tail(); len(lines) < n && len(line) > 0 {
		lines = append(lines, line)
	}
	return lines, true
}
