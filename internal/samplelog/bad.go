package samplelog

import "math/bits"

// pause draws how many good lines come before the next bad one: badEvery-1 on
// average.
func (g *generator) pause() uint64 {
	high, _ := bits.Mul64(g.random.Uint64(), 2*g.badEvery-1)
	return high
}

// handshake is how a TLS ClientHello starts. A server that expected plain text
// may log it raw.
const handshake = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

// appendBad appends a line that has no valid address and time.
func appendBad(to []byte, from *client, stamp []byte, random uint64) []byte {
	switch random % 4 {
	case 0: // blank
	case 1:
		to = append(to, handshake...)
		for range 16 {
			random = mix(random)
			to = append(to, byte(random)|0x80) // never a newline
		}
	default: // cut before its time is complete, as by a full disk
		start := len(to)
		to = appendStart(to, from, stamp)
		whole := uint64(len(to) - start - len(stamp)/2)
		to = to[:start+1+int((random>>2)%whole)]
	}
	return append(to, '\n')
}
