package stream

import "bytes"

// MaxLine is the longest line that a Splitter passes on, in bytes.
const MaxLine = 1 << 20

// A Splitter cuts blocks of content into lines, or into JSON objects and the lines between them, and
// passes each to a function, a line without its newline. One that lies in several blocks is put together in
// carry.
type Splitter struct {
	line    func([]byte)
	whole   func([]byte) int64 // nil: lines are passed on one by one
	start   int64              // in the uncompressed content, before the first block
	offset  int64              // after the last block
	resume  int64              // after the last line or object, with what needs not be read again
	lines   int64              // passed on so far, with objects
	carry   []byte
	tooLong bool // the line or object in carry passed MaxLine; all of it is skipped
	long    LongLines
	objects *objectSplit // nil: it passes on lines
}

// LongLines describes the lines and objects that are longer than MaxLine.
type LongLines struct {
	Count  int64
	Offset int64 // of the first one, in the uncompressed content
	Line   int64 // number of the first one, from 1; zero if the content does not begin with the file
}

// Skip passes over n bytes that belong to the next line and are not passed on. It
// must be called between lines.
func (s *Splitter) Skip(n int64) { s.offset += n }

// Inside returns the number of bytes of the unfinished line that are not needed any more,
// because it is longer than MaxLine or they are NULs, and whether it is longer. An object is
// needed from its beginning.
func (s *Splitter) Inside() (n int64, tooLong bool) {
	if len(s.carry) > 0 || s.objects != nil {
		return 0, false
	}
	return s.offset - s.resume, s.tooLong
}

// SetInside makes the content begin inside a line, as Inside has returned it. It must be
// called before Split.
func (s *Splitter) SetInside(n int64, tooLong bool) { s.offset, s.tooLong = s.offset+n, tooLong }

// NewSplitter returns a Splitter of content that begins at offset. line is
// called with each line, nil for one that is longer than MaxLine, and must not keep
// it.
func NewSplitter(offset int64, line func([]byte)) *Splitter {
	return &Splitter{line: line, start: offset, offset: offset, resume: offset}
}

// PassWhole makes the Splitter pass on blocks of whole lines, each line with its newline and
// none longer than MaxLine, where it can: whole is called with them instead of line, must
// not keep them, and returns the number of the lines. A Splitter of objects passes all on one by
// one. It must be called before Split.
func (s *Splitter) PassWhole(whole func(lines []byte) int64) { s.whole = whole }

// Start returns the offset of the first block.
func (s *Splitter) Start() int64 { return s.start }

// Offset returns the offset after the last block.
func (s *Splitter) Offset() int64 { return s.offset }

// Resume returns the offset after the last line or object, where another Splitter can go on.
func (s *Splitter) Resume() int64 { return s.resume }

// Split passes on the lines or objects of the next block. It keeps no reference to it.
func (s *Splitter) Split(block []byte) {
	if s.objects != nil {
		s.splitObjects(block)
		return
	}
	s.offset += int64(len(block))
	if len(s.carry) > 0 || s.tooLong {
		if block = s.finishCarry(block); block == nil {
			return
		}
	}
	if s.whole != nil && len(block) <= MaxLine {
		if n := bytes.LastIndexByte(block, '\n') + 1; n > 0 {
			s.lines += s.whole(block[:n])
			block = block[n:]
		}
	}
	for {
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			break
		}
		line := block[:end]
		if end > MaxLine {
			line = withoutHole(line)
		}
		if len(line) > MaxLine {
			s.skip(s.offset - int64(len(block)))
		} else {
			s.lines++
			s.line(line)
		}
		block = block[end+1:]
	}
	s.resume = s.offset - int64(len(block))
	s.addCarry(block)
}

// withoutHole returns what follows the NULs at the begin of a line: a hole of any length is no
// content.
func withoutHole(line []byte) []byte { return bytes.TrimLeft(line, "\x00") }

// addCarry keeps a part of a line that continues in the next block.
func (s *Splitter) addCarry(part []byte) {
	if len(s.carry) == 0 {
		part = withoutHole(part)
	}
	if len(s.carry)+len(part) > MaxLine {
		s.tooLong = true
		s.carry = s.carry[:0]
	}
	if !s.tooLong {
		s.carry = append(s.carry, part...)
	}
}

// finishCarry ends the line that the blocks before began and returns what
// follows it, nil if the line continues.
func (s *Splitter) finishCarry(block []byte) []byte {
	end := bytes.IndexByte(block, '\n')
	part := block
	if end >= 0 {
		part = block[:end]
	}
	s.addCarry(part)
	if end < 0 {
		return nil
	}
	if s.tooLong {
		s.skip(s.resume)
	} else {
		s.lines++
		s.line(s.carry)
	}
	s.carry, s.tooLong = s.carry[:0], false
	return block[end+1:]
}

// skip passes on a line that is too long, which begins at an offset.
func (s *Splitter) skip(offset int64) {
	s.long = s.withLong(offset)
	s.lines++
	s.line(nil)
}

// withLong returns the long lines with the next line, which begins at an offset.
func (s *Splitter) withLong(offset int64) LongLines {
	long := s.long
	if long.Count == 0 {
		long.Offset = offset
		if s.start == 0 {
			long.Line = s.lines + 1
		}
	}
	long.Count++
	return long
}

// Tail returns the last line or object, if open is true: it has no end yet. It is nil if it is longer than
// MaxLine. size is the length of the content behind Resume, which may also be what closes an array.
func (s *Splitter) Tail() (line []byte, size int64, open bool) {
	size = s.offset - s.resume
	if open = size > 0; s.objects != nil {
		open = s.objects.open()
	}
	if open && !s.tooLong {
		line = s.carry
	}
	return line, size, open
}

// SetLongLines sets the lines that are longer than MaxLine and come before the first
// block. It must be called before Split.
func (s *Splitter) SetLongLines(long LongLines) { s.long = long }

// FinishedLongLines returns the lines that are longer than MaxLine and have a newline.
func (s *Splitter) FinishedLongLines() LongLines { return s.long }

// LongLines returns the lines that are longer than MaxLine, with the last line if
// it has no newline yet.
func (s *Splitter) LongLines() LongLines {
	if s.tooLong {
		return s.withLong(s.resume)
	}
	return s.long
}
