package accesslog

import "encoding/binary"

// A timePattern is a time of which digits of the seconds may differ: other times that have it
// are of the same day.
type timePattern struct {
	size    int // of the time, in bytes; 0: none has the pattern
	words   [maxTime / 8]timeWord
	digits  [2]timeDigits
	seconds int  // where two digits are that may differ
	most    byte // the greatest number that they may be
}

// maxTime is the length of the longest time that has a pattern.
const maxTime = 40

// A timeWord is a part of a time, eight bytes from a place on, of which some may differ.
type timeWord struct {
	at          int
	value, same uint64 // same has all bits of the bytes that must be the same
}

// timeDigits are the digits of eight bytes that may differ.
type timeDigits struct {
	at    int
	marks uint64 // has their highest bits
}

// clear makes the pattern one that no time has.
func (p *timePattern) clear() { p.size = 0 }

// set sets the pattern to that of a time in whose bytes from seconds up to after digits may
// differ; the first two are a number of at most most.
func (p *timePattern) set(b []byte, seconds, after int, most byte) {
	if len(b) < 8 || len(b) > maxTime || after-seconds > 16 {
		p.clear()
		return
	}
	p.size, p.seconds, p.most = len(b), seconds, most
	differs := func(place int) bool { return place >= seconds && place < after && b[place]-'0' <= 9 }
	for n := range p.words {
		w := timeWord{at: min(8*n, len(b)-8), same: ^uint64(0)} // the last words overlap
		for i := range 8 {
			if differs(w.at + i) {
				w.same &^= 0xff << (8 * i)
			}
		}
		w.value = binary.LittleEndian.Uint64(b[w.at:]) & w.same
		p.words[n] = w
	}
	for n := range p.digits {
		d := timeDigits{at: min(seconds+8*n, len(b)-8)}
		for i := range 8 {
			if differs(d.at + i) {
				d.marks |= 0x80 << (8 * i)
			}
		}
		p.digits[n] = d
	}
	if p.digits[1].at == p.digits[0].at {
		p.digits[1].marks = 0
	}
}

// matches reports whether a time has the pattern.
func (p *timePattern) matches(b []byte) bool {
	if len(b) != p.size || p.size == 0 {
		return false
	}
	w, d := &p.words, &p.digits
	differs := w[0].differs(b) | w[1].differs(b) | w[2].differs(b) | d[0].missing(b)
	if p.size > 3*8 {
		differs |= w[3].differs(b) | w[4].differs(b)
	}
	if d[1].marks != 0 {
		differs |= d[1].missing(b)
	}
	return differs == 0 && (b[p.seconds]-'0')*10+b[p.seconds+1]-'0' <= p.most
}

// differs returns zero if the part of a time is as the word has it.
func (w *timeWord) differs(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b[w.at:])&w.same ^ w.value
}

// missing returns zero if the digits are there.
func (d *timeDigits) missing(b []byte) uint64 {
	return nonDigitMarks(binary.LittleEndian.Uint64(b[d.at:])) & d.marks
}
