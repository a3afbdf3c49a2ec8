package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// A quickLayout reads most lines of a layout: those with an IPv4 address and the time of the last
// line but for its seconds. What it reads, split reads too, with the same result; the other lines
// are left to split.
type quickLayout struct {
	head  string
	steps []quickStep
	port  bool      // may follow the address
	start *clfStart // of lines that begin as the Common Log Format does; nil if none do
}

// A quickStep is some values up to one that is read, or to the end of a text that decides where
// the last one ends.
type quickStep struct {
	words      int         // that are skipped; the end of the last one is that of the step if field is noField
	last       *layoutPart // the last word, which may have blanks; nil: it has none
	part       *layoutPart // that is skipped behind the words; nil: none
	field      Field       // Address, Time, or the Clock behind a Date: it is read behind the words
	timed      bool        // it is a time that may go on behind a blank
	end        string      // of the step; its first bytes are text
	text, mask uint64
	gap        gap // the words, with the blank behind them
}

// A gap is what the words of a step were in the last line: many servers write the same in each one, such as
// their own name.
type gap struct {
	pieceText
	misses uint8 // lines in a row that have other words; from maxGapMisses on, none are compared
}

const maxGapMisses = 8

// learn remembers the words of a line that has others, with the blank behind them.
func (g *gap) learn(words []byte) {
	if g.misses++; g.misses == maxGapMisses {
		words = nil
	}
	g.set(words)
}

// quick returns nil if every line of the layouts must be cut as a whole.
func (l layouts) quick(o Options, port bool) *quickLayout {
	if o.scope() != needed || len(l) == 0 {
		return nil
	}
	q := &quickLayout{head: l[0].head, port: port, start: l.clfStart(o)}
	words, found := 0, FieldSet(0)
	for i := 0; i < l[0].needed; i++ {
		part := &l[0].parts[i]
		if part.field == Date && l[0].parts[i+1].field == Clock {
			i++
			part = &l[0].parts[i]
		}
		step := quickStep{words: words, end: part.end, timed: part.timed}
		if part.timed && part.field != Time {
			return nil
		}
		found |= Fields(part.field)
		switch part.field {
		case Address, Time, Clock:
			step.field = part.field
			if part.end == "" || strings.Contains("0123456789.:", part.end[:1]) {
				return nil
			}
		default:
			switch {
			case part.end == "":
				return nil
			case part.end[0] == ' ' && !part.quoted:
				if words++; part.end == " " {
					continue
				}
				step.words, step.last = words, part
			default:
				step.part = part
			}
		}
		for i := range min(len(part.end), 8) {
			step.text |= uint64(part.end[i]) << (8 * i)
			step.mask |= 0xff << (8 * i)
		}
		q.steps = append(q.steps, step)
		words = 0
	}
	for _, other := range l { // else a time that was read may go on behind this layout's end of it
		for i, part := range other.parts {
			if part.field == Time && (i >= l[0].needed || part.end != l[0].parts[i].end) {
				return nil
			}
		}
	}
	if found.Has(Date) || found.Has(Time) && found.Has(Clock) {
		return nil
	}
	return q
}

// read reads a line with the head, and reports whether it could. If there is a start, which did
// not read the line, the line begins with an address of n bytes, which the caller has read.
func (q *quickLayout) read(line []byte, n int, times *timeReader) (record Record, ok bool) {
	at, steps := len(q.head), q.steps
	if q.start != nil {
		if at, steps = q.behindAddress(line, n); at == 0 {
			return Record{}, false
		}
		if q.start.words > 0 {
			at = behindBlanks(line, at)
		}
	}
	for i := range steps {
		step := &steps[i]
		if step.words > 0 {
			start := at
			switch {
			case step.gap.size > 0 && step.gap.begins(line, at):
				at += step.gap.size - 1
				step.gap.misses = 0
			case step.words > 2:
				at = wordsEnd(line, at, step.words, false)
			default:
				if at = wordEnd(line, at); at >= 0 && step.words == 2 {
					at = wordEnd(line, behindBlanks(line, at))
				}
			}
			if at < 0 {
				return Record{}, false
			}
			if step.gap.misses < maxGapMisses && at != start+step.gap.size-1 {
				step.gap.learn(line[start : at+1])
			}
			if step.field != noField || step.part != nil {
				at = behindBlanks(line, at)
			}
		}
		switch step.field {
		case Address:
			addr, n := ipv4(line[at:])
			if record.Addr = addr; n == 0 {
				return Record{}, false
			}
			if at += n; q.port {
				at += portLen(line, at)
			}
		case Time:
			if !times.last.begins(line, at) {
				return Record{}, false
			}
			record.Day = times.day
			if at += times.last.size; step.timed && goesOn(line, at) {
				return Record{}, false
			}
		case Clock: // behind its date
			if !times.both.begins(line, at) {
				return Record{}, false
			}
			at += times.both.size
			record.Day = times.bothDay
		default:
			if step.part != nil {
				at = step.partEnd(line, at)
			}
		}
		end := at + len(step.end)
		if at < 0 || max(end, at+8) > len(line) || binary.LittleEndian.Uint64(line[at:])&step.mask != step.text ||
			len(step.end) > 8 && string(line[at+8:end]) != step.end[8:] {
			if end = step.lateEnd(line, at); end < 0 {
				return Record{}, false
			}
		}
		if at = end; len(step.end) == 1 && step.text == ' ' {
			at = behindBlanks(line, at)
		}
	}
	return record, true
}

// endFrom is valueEnd of the value that begins at a place of the line.
func (p *layoutPart) endFrom(line []byte, at int) int {
	if p.quoted {
		return lex.StringEnd(line, at)
	}
	end := p.valueEnd(line[at:])
	if end < 0 {
		return -1
	}
	return at + end
}

// behindBlanks returns the place of the first byte from a place on that is no blank: columns may
// be padded.
func behindBlanks(line []byte, at int) int {
	for at < len(line) && line[at] == ' ' {
		at++
	}
	return at
}

// portLen returns the length of a colon and a port at a place of the line; 0 if there is none.
func portLen(line []byte, at int) int {
	if at+8 > len(line) || line[at] != ':' {
		return 0
	}
	digits := bits.TrailingZeros64(nonDigitMarks(binary.LittleEndian.Uint64(line[at:])>>8)) / 8
	if digits == 0 || digits > 5 {
		return 0
	}
	return 1 + digits
}

// hasHead reports whether a line begins with the head of the layout.
func (q *quickLayout) hasHead(line []byte) bool {
	return q.head == "" || len(line) >= len(q.head) && string(line[:len(q.head)]) == q.head
}

// behindAddress returns the place behind an address of n bytes and what ends it, and the steps that
// follow; 0 if the line does not begin so.
func (q *quickLayout) behindAddress(line []byte, n int) (at int, steps []quickStep) {
	rest, ok := cutPrefix(line[n:], q.steps[0].end) // the user stands behind it
	if n == 0 || !ok {
		return 0, nil
	}
	return len(line) - len(rest), q.steps[1:]
}

// partEnd returns the place where the part ends that begins at a place of the line; -1 if its end
// does not follow.
func (s *quickStep) partEnd(line []byte, at int) int {
	if at+9 <= len(line) && line[at] == '-' && s.end[0] != '-' && binary.LittleEndian.Uint64(line[at+1:])&s.mask == s.text {
		return at + 1
	}
	return s.part.endFrom(line, at)
}

// lateEnd returns the place behind the step's end where that does not follow the first blank of the
// last word; -1 if there is none.
func (s *quickStep) lateEnd(line []byte, at int) int {
	if s.last == nil {
		return -1
	}
	n := s.last.valueEnd(line[at:])
	if n < 0 {
		return -1
	}
	return at + n + len(s.end)
}

// wordEnd is wordsEnd of one word, which is faster for few of them.
func wordEnd(line []byte, at int) int {
	n := bytes.IndexByte(line[at:], ' ')
	if n < 0 || n > 0 && line[at+n-1] == ',' {
		return -1
	}
	return at + n
}

// wordsEnd returns the place of the blank that follows some words of a line, or of the tab where
// these separate words too: a word ends at the first of several, and there none begins. It is -1
// if it can't tell by that where they end: near the end of the line, behind a comma and a blank,
// and, with tabs, where a word begins with a quote.
func wordsEnd(line []byte, at, words int, tabs bool) int {
	const blank, tab, comma, quote = ' ' * eachByte, '\t' * eachByte, ',' * eachByte, '"' * eachByte
	var last, blanksLast uint64 // the word before, and its blanks
	if tabs {
		blanksLast = 0x80 << 56
	}
	for ; at+8 <= len(line); at += 8 {
		word := binary.LittleEndian.Uint64(line[at:])
		blanks := zeroBytes(word ^ blank)
		if tabs {
			blanks |= zeroBytes(word ^ tab)
		}
		if blanks == 0 && (!tabs || line[at] != '"' || blanksLast>>56 == 0) {
			last, blanksLast = word, 0
			continue
		}
		blanksBefore := blanks<<8 | blanksLast>>56
		var odd uint64 // where a value goes on or begins that may have blanks
		if tabs {
			odd = zeroBytes(word^quote) & blanksBefore
		} else {
			odd = zeroBytes((word<<8|last>>56)^comma) & blanks
		}
		last, blanksLast = word, blanks
		ends := blanks &^ blanksBefore
		if count := int(ends >> 7 * eachByte >> 56); count < words {
			if odd != 0 {
				return -1
			}
			words -= count
			continue
		}
		for ; words > 1; words-- {
			ends &= ends - 1
		}
		if end := ends & -ends; odd&(end|(end-1)) != 0 {
			return -1
		}
		return at + bits.TrailingZeros64(ends)/8
	}
	return -1
}

// eachByte times a byte is a word of it.
const eachByte = 0x0101010101010101

// zeroBytes returns the highest bit of each byte of a word that is zero.
func zeroBytes(word uint64) uint64 {
	const low7 = 0x7f * eachByte
	return ^((word&low7 + low7) | word | low7)
}
