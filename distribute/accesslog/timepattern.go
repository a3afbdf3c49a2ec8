package accesslog

import "encoding/binary"

// A timePattern is a time of which digits of the seconds may differ: other times that have it
// are of the same minute. If it is one since 1970, two digits and those of its fraction may, and
// the others are of the same day in UTC.
type timePattern struct {
	size  int // of the time, in bytes; 0: none has the pattern
	words [maxTime / 8]timeWord
}

// maxTime is the length of the longest time that has a pattern.
const maxTime = 40

// A timeWord is a part of a time, eight bytes from a place on, of which some may differ.
type timeWord struct {
	at    int
	value uint64 // zero where a digit may differ
	// room is what may be added to the difference of each byte until its highest bit is set.
	room uint64
}

// clear makes the pattern one that no time has.
func (p *timePattern) clear() { p.size = 0 }

// set sets the pattern to that of a time in whose bytes from seconds up to after digits may
// differ; the first of them is at most tens, or else the pattern does not tell that it is no time.
func (p *timePattern) set(b []byte, seconds, after int, tens byte) {
	if len(b) < 8 || len(b) > maxTime {
		p.clear()
		return
	}
	p.size = len(b)
	for n := range p.words {
		w := timeWord{at: min(8*n, len(b)-8)} // the last words overlap
		for i := range 8 {
			value, room := b[w.at+i], byte(127)
			if place := w.at + i; place >= seconds && place < after && value-'0' <= 9 {
				value, room = '0', 127-9
				if place == seconds {
					room = 127 - tens
				}
			}
			w.value |= uint64(value) << (8 * i)
			w.room |= uint64(room) << (8 * i)
		}
		p.words[n] = w
	}
}

// begins reports whether a time at a place of the line has the pattern. What follows it there may
// be anything.
func (p *timePattern) begins(line []byte, at int) bool {
	if p.size == 0 || uint(at)+uint(p.size) > uint(len(line)) {
		return false
	}
	b, w := line[at:at+p.size], &p.words
	differs := w[0].differs(b) | w[1].differs(b)
	if p.size > 2*8 {
		differs |= w[2].differs(b)
		if p.size > 3*8 {
			differs |= w[3].differs(b)
			if p.size > 4*8 {
				differs |= w[4].differs(b)
			}
		}
	}
	return differs&(0x80*eachByte) == 0
}

// matches reports whether a time has the pattern.
func (p *timePattern) matches(b []byte) bool { return len(b) == p.size && p.begins(b, 0) }

// differs returns bytes without their highest bits if the part of a time is as the word has it.
func (w *timeWord) differs(b []byte) uint64 {
	// A digit, or another byte up to 9 more than '0' has a difference of at most 9.
	x := binary.LittleEndian.Uint64(b[w.at:]) ^ w.value
	return x&(0x7f*eachByte) + w.room | x
}
