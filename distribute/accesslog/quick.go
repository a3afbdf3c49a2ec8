package accesslog

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"strings"
)

// A quickLayout reads most lines of a layout: those with an IPv4 address and, where the time is
// one field, the time of the last line but for its seconds. What it reads, split reads too, with
// the same result; the other lines are left to split.
type quickLayout struct {
	head  string
	steps []quickStep
	port  bool // may follow the address
}

// A quickStep is a value that is read, behind some that are skipped.
type quickStep struct {
	part  *layoutPart
	words int // that are skipped before, each with a blank behind it
	field Field
	end   wordText // of the value, or how that begins
	dash  wordText // a value of - and its end
}

// A wordText is a text of at most eight bytes.
type wordText struct{ text, mask uint64 }

func newWordText(text string) (w wordText) {
	for i := range min(len(text), 8) {
		w.text |= uint64(text[i]) << (8 * i)
		w.mask |= 0xff << (8 * i)
	}
	return w
}

// begins reports whether a word begins with the text.
func (w *wordText) begins(word uint64) bool { return word&w.mask == w.text }

// quick returns nil if every line of the layouts must be cut as a whole.
func (l layouts) quick(o Options, port bool) *quickLayout {
	if o.scope() != needed || len(l) == 0 {
		return nil
	}
	q := &quickLayout{head: l[0].head, port: port}
	words, found := 0, FieldSet(0)
	for i := range l[0].needed {
		part := &l[0].parts[i]
		plain := part.field != Address && part.field != Time
		found |= Fields(part.field)
		switch {
		case part.end == "", !plain && strings.Contains("0123456789.:", part.end[:1]):
			return nil
		case !neededFields.Has(part.field) && part.end == " ":
			words++
			continue
		}
		step := quickStep{part: part, words: words, field: part.field, end: newWordText(part.end)}
		if step.dash = newWordText("-" + part.end); len(part.end) > 7 || part.end[0] == '-' || !plain {
			step.dash = wordText{1, 0} // no word begins with it
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
	if found.Has(Time) && found.Has(Clock) {
		return nil
	}
	return q
}

// read reads a line, and reports whether it could.
func (q *quickLayout) read(line []byte, times *timeReader) (record Record, ok bool) {
	if len(line) < len(q.head) || string(line[:len(q.head)]) != q.head {
		return Record{}, false
	}
	at := len(q.head)
	var date []byte
	for i := range q.steps {
		step := &q.steps[i]
		if step.words > 0 {
			if at = skipWords(line, at, step.words, false); at < 0 {
				return Record{}, false
			}
			at = behindBlanks(line, at)
		}
		start := at
		switch step.field {
		case Address:
			record.Addr, at = q.address(line, at)
		case Time:
			if at += times.last.size; at > len(line) || !times.last.matches(line[start:at]) {
				return Record{}, false
			}
			record.Day = times.day
		default:
			at = step.valueEnd(line, at)
		}
		end := at + len(step.part.end)
		if at < 0 || max(end, at+8) > len(line) || !step.end.begins(binary.LittleEndian.Uint64(line[at:])) ||
			len(step.part.end) > 8 && string(line[at:end]) != step.part.end {
			return Record{}, false
		}
		switch step.field {
		case Date:
			date = line[start:at]
		case Clock:
			if record.Day, ok = times.readTwo(date, line[start:at], nil); !ok {
				return Record{}, false
			}
		}
		if at = end; step.part.end == " " {
			at = behindBlanks(line, at)
		}
	}
	return record, true
}

// valueEnd returns where the value that begins at a place ends, if its end is there; a negative
// number if it can't tell.
func (s *quickStep) valueEnd(line []byte, at int) int {
	if at+8 <= len(line) && s.dash.begins(binary.LittleEndian.Uint64(line[at:])) {
		return at + 1
	}
	switch {
	case s.part.quoted:
		return stringEnd(line, at)
	case s.part.end[0] == ' ' && !s.part.stamp:
		return skipWords(line, at, 1, false) - 1
	}
	end := s.part.valueEnd(line[at:])
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

// address returns the IPv4 address at a place, and the place behind it and its port; that is -1
// if there is none.
func (q *quickLayout) address(line []byte, at int) (netip.Addr, int) {
	addr, n := ipv4(line[at:])
	if n == 0 {
		return addr, -1
	}
	at += n
	if q.port && at < len(line) && line[at] == ':' {
		start := at
		for at++; at < len(line) && line[at]-'0' <= 9; at++ {
		}
		if !isPort(line[start:at]) {
			return addr, -1
		}
	}
	return addr, at
}

// skipWords returns the place behind some words of a line, each of which a blank follows, or a
// tab where these separate words too. It is -1 if it can't tell by that where they end: near the
// end of the line, behind two blanks, behind a comma and a blank, and, with tabs, where a word
// begins with a quote.
func skipWords(line []byte, at, words int, tabs bool) int {
	const blanks, tab = ' ' * eachByte, '\t' * eachByte
	quoted := func(at int) bool { return tabs && at < len(line) && line[at] == '"' }
	if quoted(at) {
		return -1
	}
	for ; at+8 <= len(line); at += 8 {
		word := binary.LittleEndian.Uint64(line[at:])
		marks := zeroBytes(word ^ blanks)
		if tabs {
			marks |= zeroBytes(word ^ tab)
		}
		for ; marks != 0; marks &= marks - 1 {
			end := at + bits.TrailingZeros64(marks)/8
			if end > 0 && (isBlank(line[end-1]) || line[end-1] == ',') {
				return -1
			}
			if words--; words == 0 {
				return end + 1
			}
			if quoted(end + 1) {
				return -1
			}
		}
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
