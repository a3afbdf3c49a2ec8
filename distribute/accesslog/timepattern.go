package accesslog

import "encoding/binary"

// A timePattern is a time of which digits of the seconds may differ: other times that have it
// are of the same day.
type timePattern struct {
	size    int // of the time, in bytes; 0: none has the pattern
	words   [maxTime / 8]timeWord
	used    int  // words
	seconds int  // where two digits are that may differ
	most    byte // the greatest number that they may be
}

// maxTime is the length of the longest time that has a pattern.
const maxTime = 40

// A timeWord is a part of a time, eight bytes from a place on.
type timeWord struct {
	at     int
	value  uint64
	same   uint64 // has all bits of the bytes that must be the same
	digits uint64 // has the highest bits of those that must be digits
}

// clear makes the pattern one that no time has.
func (p *timePattern) clear() { p.size = 0 }

// set sets the pattern to that of a time in whose bytes from seconds up to after digits may
// differ; the first two are a number of at most most.
func (p *timePattern) set(b []byte, seconds, after int, most byte) {
	if len(b) < 8 || len(b) > maxTime {
		p.clear()
		return
	}
	p.size, p.used, p.seconds, p.most = len(b), 0, seconds, most
	for at := 0; at < len(b); at += 8 {
		at = min(at, len(b)-8) // the last word overlaps
		w := timeWord{at: at, value: binary.LittleEndian.Uint64(b[at:]), same: ^uint64(0)}
		for i := range 8 {
			if place := at + i; place >= seconds && place < after && b[place]-'0' <= 9 {
				w.same &^= 0xff << (8 * i)
				w.digits |= 0x80 << (8 * i)
			}
		}
		p.words[p.used] = w
		p.used++
	}
}

// matches reports whether a time has the pattern.
func (p *timePattern) matches(b []byte) bool {
	if len(b) != p.size || p.size == 0 {
		return false
	}
	for i := range p.words[:p.used] {
		w := &p.words[i]
		word := binary.LittleEndian.Uint64(b[w.at:])
		if (word^w.value)&w.same|nonDigitMarks(word)&w.digits != 0 {
			return false
		}
	}
	return (b[p.seconds]-'0')*10+b[p.seconds+1]-'0' <= p.most
}
