package stream

import (
	"bytes"
)

// readUndecided reads a byte behind a { or [ that may begin an object or an array. It returns the index of
// the next byte, or the same if that is to be read in another mode.
func (s *Splitter) readUndecided(i int) int {
	o := s.objects
	switch c := o.block[i]; {
	case o.midLine && c == '\n' && o.mode != openBrace:
		s.carry, o.mode = s.carry[:0], behindLine
		s.resumeAt(i)
		return i
	case o.mode == closedBrackets && c == '\n':
		s.carry, o.mode = s.carry[:0], atLine
		s.resumeAt(i + 1)
	case o.base+int64(i)-s.resume >= MaxLine:
		s.abandon(i)
		return i
	case isBlank(c) || c == '\n':
	case o.mode == openBracket && c == '{':
		o.mode = openBrace
	case o.mode == openBracket && c == ']':
		o.mode = closedBrackets
	case o.mode == openBrace && (c == '"' || c == '}'):
		s.beginObject(i)
		return i
	default:
		s.abandon(i)
		return i
	}
	return i + 1
}

// beginObject begins an object whose brace was read, perhaps behind the bracket of an array; i is the index
// of what follows it.
func (s *Splitter) beginObject(i int) {
	o := s.objects
	var place int64
	if at := bytes.IndexByte(s.carry, '{'); at >= 0 {
		place = s.resume + int64(at)
		s.carry = s.carry[:copy(s.carry, s.carry[at:])]
	} else {
		o.start += bytes.IndexByte(o.block[o.start:i], '{')
		place = o.base + int64(o.start)
		s.carry = s.carry[:0]
	}
	if place > s.resume {
		o.mode, o.array = betweenElements, true
		s.resumeAt(int(place - o.base))
	}
	o.enter('{')
	o.mode = inObject
}

// enter begins what is read as an object, behind its first byte.
func (o *objectSplit) enter(first byte) {
	o.depth, o.quoted, o.escaped, o.last, o.broken = 1, false, false, first, false
}

// readObject reads an object, or what follows its records, up to its end or that of the block.
func (s *Splitter) readObject(i int) int {
	o := s.objects
	for ; i < len(o.block); i++ {
		c := o.block[i]
		if o.quoted {
			if o.escaped && c != '\n' {
				o.escaped = false
				continue
			}
			next := bytes.IndexAny(o.block[i:], "\"\\\n")
			if next < 0 {
				return len(o.block)
			}
			i += next
			switch o.block[i] {
			case '\\':
				o.escaped = true
			case '"':
				o.quoted = false
			default: // no string has a newline
				s.abandon(i + 1)
				return i + 1
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r':
			continue
		case '\n':
			if o.broken = true; o.base+int64(i)-s.resume >= MaxLine {
				s.abandon(i + 1)
				return i + 1
			}
			continue
		}
		if o.broken && !mayContinue(o.last, c) {
			s.abandon(i)
			return i
		}
		if s.readToken(i, c); o.mode != inObject && o.mode != behindRecords {
			return i + 1
		}
	}
	return i
}

// mayContinue reports whether a line of an object may begin with a byte, where the line before ends with
// another.
func mayContinue(last, next byte) bool {
	switch next {
	case ']', '}':
		return true
	case ':':
		return last == '"'
	}
	switch last {
	case '{':
		return next == '"'
	case '[', ',', ':':
		return next-'0' <= 9 || bytes.IndexByte([]byte(`"{[-tfn`), next) >= 0
	}
	return next == ','
}

// readToken reads a byte of an object that is no blank and in no string.
func (s *Splitter) readToken(i int, c byte) {
	o := s.objects
	o.last, o.broken = c, false
	switch c {
	case '"':
		o.quoted = true
	case '[':
		if o.depth == 1 && o.mode == inObject && !o.array && isRecords(s.carry, o.block[o.start:i]) {
			o.mode, o.array, o.records, s.carry = betweenElements, true, true, s.carry[:0]
			s.resumeAt(i + 1)
			return
		}
		o.depth++
	case '{':
		o.depth++
	case ']', '}':
		if o.depth--; o.depth == 0 {
			s.endObject(i + 1)
		}
	}
}

// endObject ends an object before an index. It is passed on unless its records were.
func (s *Splitter) endObject(end int) {
	o := s.objects
	if o.mode == inObject {
		s.object(o.block[o.start:end])
	} else {
		s.carry, s.tooLong, o.array, o.records = s.carry[:0], false, false, false
	}
	if o.mode = behindObject; o.array {
		o.mode = betweenElements
	}
	s.resumeAt(end)
}

// abandon passes on the lines of what was read as an object up to an index and is none, or as one line what
// is longer than MaxLine. The last line of it is read on.
func (s *Splitter) abandon(i int) {
	o := s.objects
	undecided := o.mode != inObject && o.mode != behindRecords
	passed := o.mode == behindRecords || undecided && o.midLine // the begin belongs to a line that was passed on
	size := o.base + int64(i) - s.resume
	text := s.carry
	if size <= MaxLine {
		text = append(text, o.block[o.start:i]...)
	} else {
		s.skip(s.resume)
		text, passed = nil, undecided
	}
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		if !passed {
			s.lines++
			s.line(text[:end])
		}
		text, passed = text[end+1:], false
	}
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	o.mode, o.array, o.records, o.newLine, s.tooLong = atLine, false, false, false, false
	if passed {
		o.mode, text = behindLine, nil
	}
	s.resumeAt(i - len(text))
	if len(text) > 0 {
		o.mode, o.start = inText, i
	}
	s.carry = append(s.carry[:0], text...)
}

// isRecords reports whether the text of an object, in two parts, ends with the key of an array of records:
// which Azure puts around lines, or of the events that the CloudWatch Logs command returns, as the first
// key, or of the events that a subscription to CloudWatch Logs sends.
func isRecords(first, second []byte) bool {
	if n := len(first) + len(second) - maxRecordsKey; n > 0 { // the begin is of no use
		cut := min(n, len(first))
		first, second = first[cut:], second[n-cut:]
	}
	return recordsKey().MatchString(string(first) + string(second))
}

const maxRecordsKey = 64

var recordsKey = pattern(`^\{\s*"([rR]ecords|events)"\s*:\s*$|,\s*"logEvents"\s*:\s*$`)
