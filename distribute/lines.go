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
	verdicts [verdicts]int64
	start    int64 // in the uncompressed content, before the first block
	offset   int64 // after the last block
	resume   int64 // after the last newline
	carry    []byte
	tooLong  bool // the line in carry passed MaxLine; the rest of it is skipped
	long     int64
	longNote string
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
		l.verdicts[l.counter.Line(block[:end])]++
		block = block[end+1:]
	}
	l.carry = append(l.carry[:0], block...)
	l.resume = l.offset - int64(len(block))
}

// finishCarry ends the line that the blocks before began and gives what
// follows it, nil if the line goes on.
func (l *lineCounter) finishCarry(block []byte) []byte {
	end := bytes.IndexByte(block, '\n')
	part := block
	if end >= 0 {
		part = block[:end]
	}
	if len(l.carry)+len(part) > MaxLine {
		l.tooLong = true
		l.carry = l.carry[:0]
	}
	if !l.tooLong {
		l.carry = append(l.carry, part...)
	}
	if end < 0 {
		return nil
	}
	if l.tooLong {
		l.refuseLong()
	} else {
		l.verdicts[l.counter.Line(l.carry)]++
	}
	l.carry, l.tooLong = l.carry[:0], false
	l.resume = l.offset - int64(len(block)-end-1)
	return block[end+1:]
}

func (l *lineCounter) refuseLong() {
	l.verdicts[Unparsable]++
	l.long++
	if l.long == 1 {
		l.longNote = fmt.Sprintf("line %d is longer than %d MiB", l.tally().Lines, MaxLine>>20)
	}
}

// tail is the last line if it has no newline yet.
func (l *lineCounter) tail() (line []byte, ok bool) {
	return l.carry, len(l.carry) > 0 || l.tooLong
}

func (l *lineCounter) tally() Tally {
	return tallyOf(&l.verdicts)
}

func tallyOf(v *[verdicts]int64) Tally {
	return Tally{
		Lines: v[Counted] + v[Unknown] + v[Unparsable], Counted: v[Counted],
		Unknown: v[Unknown], Unparsable: v[Unparsable],
	}
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
	switch {
	case l.long == 0:
		return ""
	case l.long == 1:
		return l.longNote + ": counted as unparsable"
	}
	return fmt.Sprintf("%s, and %d more: counted as unparsable", l.longNote, l.long-1)
}
