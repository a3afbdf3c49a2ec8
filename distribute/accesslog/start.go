package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// A Client is the text of an IPv4 address that a line begins with: four bits for each byte, and
// the number of bytes in the upper four bits. Clients with the same text are equal. The zero
// value is the empty text, which begins no line.
type Client uint64

// A LineStart reads lines that begin as nearly all lines of nearly all logs do: with an IPv4
// address, neither ident nor user, the time in brackets, and a quote. It does not convert the
// address, so that its caller can remember what it knows of it by the text. The zero value
// reads no line.
type LineStart struct {
	stamps *stampReader
	values *Values // of the parser; nil if it has none
}

// StartOf returns the reader of lines that a parser reads in the same way, at present: a
// parser of several formats may go over to another one with each line. It is the zero
// LineStart if there is none.
func StartOf(p Parser) LineStart {
	switch p := p.(type) {
	case *autoFile:
		return StartOf(p.Parser)
	case *autoParser:
		return StartOf(p.members[p.current].parser)
	case *clf:
		if !p.vhost {
			return LineStart{&p.stamps, nil}
		}
	case *clfCutter:
		if !p.vhost {
			return LineStart{&p.stamps, &p.values}
		}
	case *fieldParser:
		if p.quick != nil && p.quick.start != nil && p.quick.start.end == startEnd {
			return LineStart{&p.quick.start.stamps, nil}
		}
	}
	return LineStart{}
}

// startEnd is what follows the time.
const startEnd = ` "`

// Read returns what a line begins with, and whether it is such a line: then its parser returns
// the same for it if the client, which may be any digits and dots, is an address.
func (s LineStart) Read(line []byte) (client Client, day Day, ok bool) {
	const names = uint64(' ') | '-'<<8 | ' '<<16 | '-'<<24 | ' '<<32 | '['<<40
	if len(line) <= maxIPv4+clfMiddleLen+len(startEnd) || s.stamps == nil {
		return 0, 0, false
	}
	const zeros = uint64(0x3030303030303030) // as digits: their lower bits are zero
	low, high, n := binary.LittleEndian.Uint64(line), zeros, 0
	if blanks := blankMarks(low); blanks != 0 {
		n = bits.TrailingZeros64(blanks) >> 3
		low = low&(1<<(8*n)-1) | zeros<<(8*n)
	} else {
		high = binary.LittleEndian.Uint64(line[8:])
		n = bits.TrailingZeros64(blankMarks(high)) >> 3 // 8 without any
		high = high&(1<<(8*n)-1) | zeros<<(8*n)
		n += 8
	}
	if n == 0 || n > maxIPv4 || !isDotted(low) || !isDotted(high) {
		return 0, 0, false
	}
	rest := line[n:]
	if binary.LittleEndian.Uint64(rest)&(1<<48-1) != names || string(rest[clfMiddleLen:clfMiddleLen+len(startEnd)]) != startEnd {
		return 0, 0, false
	}
	day, ok = s.stamps.read(rest[len(clfNames):])
	const nibbles = 0x0f0f0f0f0f0f0f0f
	return Client(low&nibbles | high&nibbles<<4 | uint64(n)<<60), day, ok
}

// Cut sets the parser's Values of a line that Read has read, as far as some fields ask for them,
// and reports whether it could: then they are those of its parser. It leaves rare lines to the parser.
func (s LineStart) Cut(line []byte, client Client, fields FieldSet) bool {
	return s.values != nil && s.values.raw.cutPlain(line, int(client>>60), fields)
}

// Values returns the Values that Cut sets.
func (s LineStart) Values() *Values { return s.values }

// cutPlain sets the values of a line of the Common Log Format, or the combined one, as far as some
// fields ask for them: it begins with an address of n bytes, neither ident nor user, the time, and
// the quote before the request. It reports whether it could: lines whose values end with a backslash,
// and others that are rare, are left to the layout, which returns the same for the others.
func (v *values) cutPlain(line []byte, n int, fields FieldSet) bool {
	start := n + clfMiddleLen + len(startEnd)
	end := bytes.IndexByte(line[start:], '"') + start
	if end < start || end+len(`" 200 1`) > len(line) {
		return false
	}
	status := binary.LittleEndian.Uint64(line[end-1:]) // with the byte before the quote
	const quote, blanks = '"'<<8 | ' '<<16 | ' '<<48, 0xff<<8 | 0xff<<16 | 0xff<<48
	if status&blanks != quote || byte(status) == '\\' || nonDigitMarks(status>>24&0xffffff|0x3030303030<<24) != 0 {
		return false
	}
	if fields.Has(Address) {
		v[Address] = line[:n]
	}
	if fields.Has(User) {
		v[User] = line[n+3 : n+4]
	}
	if fields.Has(Time) {
		v[Time] = line[n+len(clfNames)+1 : n+clfMiddleLen-1]
	}
	v[Request], v[Status] = line[start:end], line[end+2:end+5]
	return fields&Fields(Bytes, Referrer, Agent) == 0 || v.cutPlainTail(line[end+len(`" 200 `):], fields)
}

// cutPlainTail sets the values that follow the status.
func (v *values) cutPlainTail(rest []byte, fields FieldSet) bool {
	end := bytes.IndexByte(rest, ' ')
	if end <= 0 || len(rest) < end+3 || rest[end+1] != '"' || rest[end-1] == ',' {
		return false
	}
	v[Bytes] = rest[:end]
	if fields&Fields(Referrer, Agent) == 0 {
		return true
	}
	rest = rest[end+2:]
	end = bytes.IndexByte(rest, '"')
	if end < 0 || len(rest) < end+3 || string(rest[end:end+3]) != `" "` || end > 0 && rest[end-1] == '\\' {
		return false
	}
	agent := rest[end+3:]
	last := bytes.IndexByte(agent, '"')
	if last < 0 || last > 0 && agent[last-1] == '\\' || last+1 < len(agent) && agent[last+1] != ' ' {
		return false
	}
	v[Referrer], v[Agent] = rest[:end], agent[:last]
	return true
}

// isDotted reports whether each byte of a word is a decimal digit or a dot.
func isDotted(word uint64) bool {
	const low7, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	dots := word ^ 0x2e2e2e2e2e2e2e2e
	dots = (dots&low7 + low7 | dots) & high // of all bytes but the dots
	return nonDigitMarks(word)&dots == 0
}

// blankMarks marks the bytes of a word that are blanks, by their highest bits. Behind the first
// one it may mark others, too.
func blankMarks(word uint64) uint64 {
	const ones, blanks = 0x0101010101010101, 0x2020202020202020
	word ^= blanks
	return (word - ones) &^ word & (ones << 7)
}

// ClientOf returns the IPv4 address that a line begins with, which a blank follows. It is
// invalid if there is none.
func ClientOf(line []byte) netip.Addr {
	addr, n := ipv4(line)
	if n == 0 || n == len(line) || line[n] != ' ' {
		return netip.Addr{}
	}
	return addr
}
