package accesslog

import (
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
	end        string      // of the step; its first bytes are text
	text, mask uint64
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
		step := quickStep{words: words, end: part.end}
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

// read reads a line, and reports whether it could. If there is a start, which did not read the line,
// the line begins with an address of n bytes, which the caller has read.
func (q *quickLayout) read(line []byte, n int, times *timeReader) (record Record, ok bool) {
	if q.head != "" && (len(line) < len(q.head) || string(line[:len(q.head)]) != q.head) {
		return Record{}, false
	}
	at, steps := len(q.head), q.steps
	if q.start != nil {
		rest, ok := cutPrefix(line[n:], steps[0].end) // the user stands behind it
		if n == 0 || !ok {
			return Record{}, false
		}
		at, steps = len(line)-len(rest), steps[1:]
	}
	for i := range steps {
		step := &steps[i]
		if step.words > 0 {
			if at = wordsEnd(line, at, step.words, false); at < 0 {
				return Record{}, false
			}
			if step.field != noField || step.part != nil {
				at = behindBlanks(line, at)
			}
		}
		switch step.field {
		case Address:
			addr, n := ipv4(line[at:])
			if n == 0 {
				return Record{}, false
			}
			record.Addr = addr
			if at += n; q.port {
				at += portLen(line, at)
			}
		case Time:
			if !times.last.begins(line, at) {
				return Record{}, false
			}
			at += times.last.size
			record.Day = times.day
		case Clock: // behind its date
			if !times.both.begins(line, at) {
				return Record{}, false
			}
			at += times.both.size
			record.Day = times.bothDay
		default:
			if step.part != nil && at+9 <= len(line) && line[at] == '-' && step.end[0] != '-' && binary.LittleEndian.Uint64(line[at+1:])&step.mask == step.text {
				at++
			} else if step.part != nil {
				if at = step.part.endFrom(line, at); at < 0 {
					return Record{}, false
				}
			}
		}
		end := at + len(step.end)
		if max(end, at+8) > len(line) || binary.LittleEndian.Uint64(line[at:])&step.mask != step.text ||
			len(step.end) > 8 && string(line[at+8:end]) != step.end[8:] {
			if step.last == nil {
				return Record{}, false
			}
			more := step.last.valueEnd(line[at:])
			if more < 0 {
				return Record{}, false
			}
			end += more
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
