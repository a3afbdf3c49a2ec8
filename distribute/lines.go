package distribute

import (
	"bytes"
	"fmt"
)

// MaxLine is the longest line that is looked at, in bytes. A longer one is
// counted as unparsable.
const MaxLine = 1 << 20

// A lineCounter cuts blocks into lines and hands them to a Counter. A line
// that lies in two blocks is put together in carry.
type lineCounter struct {
	counter  Counter
	verdicts verdicts
	start    int64 // in the uncompressed content, before the first block
	offset   int64 // after the last block
	resume   int64 // after the last newline
	carry    []byte
	tooLong  bool   // the line in carry passed MaxLine; all of it is skipped
	long     int64  // lines that did
	longName string // the first of them, for people
}

func newLineCounter(counter Counter, offset int64) *lineCounter {
	return &lineCounter{counter: counter, start: offset, offset: offset, resume: offset}
}

// block counts the lines of the next block. It keeps no reference to it.
func (l *lineCounter) block(block []byte) {
	l.offset += int64(len(block))
	if len(l.carry) > 0 || l.tooLong {
		if block = l.finishCarry(block); block == nil {
			return
		}
	}
	for {
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			break
		}
		if end > MaxLine {
			l.refuse(l.offset - int64(len(block)))
		} else {
			l.verdicts[l.counter.Line(block[:end])]++
		}
		block = block[end+1:]
	}
	l.resume = l.offset - int64(len(block))
	l.addCarry(block)
}

// addCarry keeps a part of a line that goes on in the next block.
func (l *lineCounter) addCarry(part []byte) {
	if len(l.carry)+len(part) > MaxLine {
		l.tooLong = true
		l.carry = l.carry[:0]
	}
	if !l.tooLong {
		l.carry = append(l.carry, part...)
	}
}

// finishCarry ends the line that the blocks before began and gives what
// follows it, nil if the line goes on.
func (l *lineCounter) finishCarry(block []byte) []byte {
	end := bytes.IndexByte(block, '\n')
	part := block
	if end >= 0 {
		part = block[:end]
	}
	l.addCarry(part)
	if end < 0 {
		return nil
	}
	if l.tooLong {
		l.refuse(l.resume)
	} else {
		l.verdicts[l.counter.Line(l.carry)]++
	}
	l.carry, l.tooLong = l.carry[:0], false
	return block[end+1:]
}

// refuse counts a line that is too long.
func (l *lineCounter) refuse(start int64) {
	if l.long == 0 {
		l.longName = l.name(start)
	}
	l.long++
	l.verdicts[Unparsable]++
}

// name says for people which line is the next one. It has no number if the
// counting did not begin with the file.
func (l *lineCounter) name(start int64) string {
	if l.start > 0 {
		return fmt.Sprintf("the line at byte %d of the uncompressed content", start)
	}
	number := int64(1)
	for _, n := range l.verdicts {
		number += n
	}
	return fmt.Sprintf("line %d", number)
}

// tail is the last line if it has no newline yet; nil if it is too long to be
// looked at. size is its length.
func (l *lineCounter) tail() (line []byte, size int64) {
	if !l.tooLong {
		line = l.carry
	}
	return line, l.offset - l.resume
}

func (l *lineCounter) tally() Tally {
	return l.verdicts.tally()
}

// place says how far the lines were counted.
func (l *lineCounter) place() string {
	if l.start == 0 {
		return fmt.Sprintf("counted up to line %d, byte %d of the uncompressed content", l.tally().Lines, l.resume)
	}
	return fmt.Sprintf("counted up to byte %d of the uncompressed content", l.resume)
}

// note tells a person of lines that were too long to be looked at.
func (l *lineCounter) note() string {
	long, first := l.long, l.longName
	if l.tooLong { // the last line
		long++
		if long == 1 {
			first = l.name(l.resume)
		}
	}
	if long == 0 {
		return ""
	}
	more := ""
	if long > 1 {
		more = fmt.Sprintf(", and %d more", long-1)
	}
	return fmt.Sprintf("%s is longer than %d MiB%s: counted as unparsable", first, MaxLine>>20, more)
}
