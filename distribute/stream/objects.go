package stream

import (
	"bytes"
	"slices"
	"strings"
)

// SplitObjects makes the Splitter pass on JSON objects: those of an array, of the array of records or
// events that is the first value of an object, or one after the other, with line breaks anywhere. Lines
// outside arrays that do not begin with an object are passed on as lines, without the blanks before them.
// So are the lines of what begins as an object but cannot be one, such as an object that was cut off.
// state is what ObjectsState returned where the content begins, or [ObjectsBegin]. It must be called
// before Split.
func (s *Splitter) SplitObjects(state string) {
	s.objects = &objectSplit{mode: behindObject, base: s.resume}
	o := s.objects
	if mode := slices.Index(modeStates[:], state); mode >= 0 {
		o.mode = splitMode(mode)
	}
	if o.array, o.records = state == modeStates[betweenElements], state == insideRecords; o.records {
		o.mode, o.array = betweenElements, true
	}
	s.resumeAt(0)
}

// ObjectsState returns what SplitObjects needs to go on at Resume; empty if the Splitter passes on lines.
func (s *Splitter) ObjectsState() string {
	if s.objects == nil {
		return ""
	}
	return s.objects.resumeState
}

// A splitMode is what a Splitter of objects reads.
type splitMode uint8

const (
	atLine          splitMode = iota // outside arrays, where only blanks stand before in the line
	behindObject                     // outside arrays, in the line of an object or an array that has ended
	behindLine                       // the rest of such a line, in which no object begins
	openBracket                      // blanks behind a [, which begins an array or a line of text
	openBrace                        // blanks behind a {, which begins an object or a line of text
	closedBrackets                   // blanks behind a [], an empty array or the begin of a line of text
	inText                           // a line that is no JSON
	betweenElements                  // between the objects of an array
	inObject                         // an object
	behindRecords                    // what follows an array of records in its object, which is not passed on
)

// ObjectsBegin is the state of a Splitter of objects where a file begins.
const ObjectsBegin = "lines"

// insideRecords is the state between objects of an array that is in an object.
const insideRecords = "records"

// modeStates are the states of a Splitter that goes on in a mode. In other modes it goes on where the
// text, the object or the end of the records begins.
var modeStates = [...]string{atLine: ObjectsBegin, behindObject: "objects", behindLine: "rest", betweenElements: "array"}

// An objectSplit is how far a Splitter of objects has read.
type objectSplit struct {
	mode        splitMode
	resumeState string // the state at Resume

	block []byte
	base  int64 // the offset of the block
	start int   // where text or an object begins in the block; 0 if in a block before

	midLine bool // what is open began behind an object in its line

	array   bool // the objects are in an array
	records bool // that array is in an object
	newLine bool // between the objects of an array: only blanks stand before in the line

	depth   int // of objects and arrays
	quoted  bool
	escaped bool // the next byte of a string has no meaning
	last    byte // of the object: the last byte that is no blank
	broken  bool // a line break follows it
}

// resumeAt sets the place where another Splitter goes on in the same mode, as an index in the block.
func (s *Splitter) resumeAt(i int) {
	o := s.objects
	s.resume = o.base + int64(i)
	if o.resumeState = modeStates[o.mode]; o.records {
		o.resumeState = insideRecords
	}
}

// splitObjects passes on the objects of a block, and the lines between them.
func (s *Splitter) splitObjects(block []byte) {
	o := s.objects
	o.block, o.base, o.start = block, s.offset, 0
	s.offset += int64(len(block))
	for i := 0; i < len(block); {
		switch o.mode {
		case atLine, behindObject, behindLine:
			i = s.readOutside(i)
		case openBracket, openBrace, closedBrackets:
			i = s.readUndecided(i)
		case inText:
			i = s.readText(i)
		case betweenElements:
			i = s.readElements(i)
		default:
			i = s.readObject(i)
		}
	}
	if o.mode.keeps() {
		s.addCarry(block[o.start:])
	}
	o.block = nil
}

// keeps reports whether what was read since the last place to go on is needed.
func (m splitMode) keeps() bool { return m >= openBracket && m != betweenElements }

// open reports whether the end of the content cuts off an object or a line.
func (o *objectSplit) open() bool {
	return o.mode == openBrace || o.mode == inText || o.mode == inObject
}

// readOutside reads a byte outside of arrays, objects and text, and returns the index of the next one, or
// the same if it begins text.
func (s *Splitter) readOutside(i int) int {
	o := s.objects
	switch c := o.block[i]; {
	case c == '\n':
		if o.mode == atLine { // blank
			s.object(o.block[i:i])
		}
		o.mode = atLine
	case o.mode == behindLine:
		end := bytes.IndexByte(o.block[i:], '\n')
		if end < 0 {
			end = len(o.block) - i
		}
		s.resumeAt(i + end)
		return i + end
	case isBlank(c), c == ',' && o.mode == behindObject, o.base+int64(i) < 3 && strings.IndexByte("\xef\xbb\xbf", c) >= 0: // a byte order mark
	case c == '{' || c == '[':
		s.resumeAt(i)
		o.start, o.midLine = i, o.mode != atLine
		if o.mode = openBrace; c == '[' {
			o.mode = openBracket
		}
		return i + 1
	case o.mode == atLine:
		s.resumeAt(i)
		o.mode, o.start = inText, i
		return i
	default:
		o.mode = behindLine
	}
	s.resumeAt(i + 1)
	return i + 1
}

// isBlank reports whether a byte has no meaning between objects.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == 0 }

// readText reads a line of text up to its newline.
func (s *Splitter) readText(i int) int {
	o := s.objects
	end := bytes.IndexByte(o.block[i:], '\n')
	if end < 0 {
		return len(o.block)
	}
	s.object(o.block[o.start : i+end])
	o.mode = atLine
	s.resumeAt(i + end + 1)
	return i + end + 1
}

// readElements reads a byte between the objects of an array. A line that begins with text ends the array.
func (s *Splitter) readElements(i int) int {
	o := s.objects
	switch c := o.block[i]; {
	case c == '\n':
		s.resumeAt(i) // what follows is the begin of a line
		o.newLine = true
		return i + 1
	case isBlank(c):
		if !o.newLine {
			s.resumeAt(i + 1)
		}
		return i + 1
	case c == '{':
		s.resumeAt(i)
		o.enter(c)
		o.mode, o.start = inObject, i
	case c == ']' && o.records:
		s.resumeAt(i)
		o.enter(c)
		o.mode, o.start = behindRecords, i
	case c == ']':
		o.mode, o.array = behindObject, false
		s.resumeAt(i + 1)
	case c != ',' && o.newLine:
		o.mode, o.array, o.records, o.newLine = atLine, false, false, false
		s.resumeAt(i)
		return i
	default:
		s.resumeAt(i + 1)
	}
	o.newLine = false
	return i + 1
}

// object passes on an object, or a line between objects, whose last part is given; the others are in
// carry.
func (s *Splitter) object(part []byte) {
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
}
