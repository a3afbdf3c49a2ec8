package inflate

import "encoding/binary"

// fast reads codes while there are at least fastInput bytes of input and fastOutput bytes
// of room. It stops before a code that ends the block or breaks the format.
//
// Above the nbits that the bit buffer has, there may be more bits of the next bytes of the
// input: they are the same that the next refill adds.
func (d *decoder) fast() {
	in, out := d.in, d.window[:]
	pos, end, buf, nbits := d.pos, d.end, d.bits, d.nbits
	lastPos := len(in) - fastInput
	if pos > lastPos || end >= windowLimit {
		return
	}
	runs, literals, distances := &d.runs, d.literals.entries, d.distances.entries[:1<<distanceBits]

	// After a refill there are at least 56 bits. A round takes at most 15 + 5 bits for a
	// length and 15 + 13 for a distance.
	buf |= binary.LittleEndian.Uint64(in[pos:]) << nbits
	pos += int(63-nbits) >> 3
	nbits |= 56
	r := runs[buf&(1<<literalBits-1)]
	for pos <= lastPos && end < windowLimit {
		roundBuf, roundBits, roundEnd := buf, nbits, end
		if r&runSpecial != 0 {
			r = longRun(literals, buf)
			if r&runSpecial != 0 {
				break
			}
		}
		total := r.total()
		saved := buf
		buf >>= total
		nbits -= total
		binary.LittleEndian.PutUint32(out[end:], uint32(r>>32))
		end += r.literals()
		if r&runMatch == 0 {
			buf |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
			pos += int(63-nbits) >> 3
			nbits |= 56
			r = runs[buf&(1<<literalBits-1)]
			continue
		}
		length := minMatch + int(r>>56) + int(saved&(1<<total-1)>>r.codeBits())

		e := distances[buf&(1<<distanceBits-1)]
		if e.kind() != kindBase {
			if e = d.distances.find(buf); e.kind() != kindBase {
				buf, nbits, end = roundBuf, roundBits, roundEnd
				break
			}
		}
		total = e.total()
		distance := e.value() + int(buf&(1<<total-1)>>e.codeBits())
		if distance > end {
			buf, nbits, end = roundBuf, roundBits, roundEnd
			break
		}
		buf >>= total
		nbits -= total
		// The next look-up is started before the copy.
		buf |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
		pos += int(63-nbits) >> 3
		nbits |= 56
		r = runs[buf&(1<<literalBits-1)]

		copyOverlapping(out, end, distance, length)
		end += length
	}
	d.pos, d.end, d.nbits = pos, end, nbits
	d.bits = buf & (1<<nbits - 1)
}

// longRun returns the run of a code that is longer than literalBits, special if the code is
// neither a literal nor a length.
func longRun(literals []entry, buf uint64) run {
	e := literals[buf&(1<<literalBits-1)]
	if e.kind() == kindTable {
		e = literals[e.value()+int(buf>>literalBits&(1<<e.extraBits()-1))]
	}
	n := run(e.codeBits())
	switch e.kind() {
	case kindLiteral:
		return run(e.value())<<32 | 1<<24 | n<<8 | n
	case kindBase:
		return runMatch | n<<8 | run(e.total()) | run(e.value()-minMatch)<<56
	}
	return runSpecial
}

// copyOverlapping copies length bytes to out[end:] from distance bytes before. It may write
// up to 31 bytes more.
func copyOverlapping(out []byte, end, distance, length int) {
	from, last := end-distance, end+length
	switch {
	case distance >= 32:
		for {
			s, t := out[from:from+32], out[end:end+32]
			a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
			c, d := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
			binary.LittleEndian.PutUint64(t, a)
			binary.LittleEndian.PutUint64(t[8:], b)
			binary.LittleEndian.PutUint64(t[16:], c)
			binary.LittleEndian.PutUint64(t[24:], d)
			if end += 32; end >= last {
				return
			}
			from += 32
		}
	case distance < 8:
		// Each copy doubles what repeats itself.
		for distance < 8 {
			binary.LittleEndian.PutUint64(out[end:], binary.LittleEndian.Uint64(out[from:]))
			if end += distance; end >= last {
				return
			}
			distance *= 2
		}
	}
	for ; end < last; end, from = end+8, from+8 {
		binary.LittleEndian.PutUint64(out[end:], binary.LittleEndian.Uint64(out[from:]))
	}
}
