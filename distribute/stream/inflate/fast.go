package inflate

import "encoding/binary"

// fast reads codes while there are at least fastInput bytes of input and fastOutput bytes
// of room. It stops before a code that ends the block or breaks the format.
//
// Above the nbits that the bit buffer has, there may be more bits of the next bytes of the
// input: they are the same that the next refill adds.
func (d *decoder) fast() {
	in, out := d.in, d.window
	pos, start, end, buf, nbits := d.pos, d.start, d.end, d.bits, d.nbits
	lastPos := len(in) - fastInput
	if pos > lastPos || end >= windowLimit {
		return
	}
	pairs, distances := &d.pairs, d.distances.entries[:1<<distanceBits]

	// A round takes at most 15 + 5 bits for a length and 15 + 13 for a distance.
	buf, pos, nbits = refill(in, buf, pos, nbits)
	r := pairs[buf&(1<<literalBits-1)]
	for pos <= lastPos && uint(end) < windowLimit {
		if r&special != 0 {
			if r.kind() == kindTable {
				r = d.literals.find(buf)
			}
			if r&special != 0 {
				break
			}
		}
		saved, total := buf, r.total()
		buf, nbits = buf>>total, nbits-total
		binary.LittleEndian.PutUint32(out[end:], uint32(r>>32))
		end += r.literals()
		if r&kindBase == 0 {
			buf, pos, nbits = refill(in, buf, pos, nbits)
			r = pairs[buf&(1<<literalBits-1)]
			continue
		}
		last := end + r.length() + int(saved&(1<<total-1)>>r.codeBits())

		e := distances[buf&(1<<distanceBits-1)]
		if e.kind() != kindBase {
			e = d.distances.find(buf)
		}
		taken := e.total()
		from := end - e.value() - int(buf&(1<<taken-1)>>e.codeBits())
		if e.kind() != kindBase || from < start {
			buf, nbits, end = saved, nbits+total, end-r.literals()
			break
		}
		// The next look-up is started before the copy.
		buf, pos, nbits = refill(in, buf>>taken, pos, nbits-taken)
		r = pairs[buf&(1<<literalBits-1)]

		if end-from < 64 {
			copyNear(out[:], end, end-from, last)
		} else {
			copy64(out[end:end+64], out[from:from+64])
			for end, from = end+64, from+64; end < last; end, from = end+64, from+64 {
				copy64(out[end:end+64], out[from:from+64])
			}
		}
		end = last
	}
	d.pos, d.end, d.nbits = pos, end, nbits
	d.bits = buf & (1<<nbits - 1)
}

// refill fills the bit buffer up to at least 56 bits from in[pos:].
func refill(in []byte, buf uint64, pos int, nbits uint) (uint64, int, uint) {
	return buf | binary.LittleEndian.Uint64(in[pos:])<<(nbits&63), pos + int(63-nbits)>>3, nbits | 56
}

// copy64 copies 64 bytes: few matches are longer. Copies of 16 bytes are compiled to two
// instructions each.
func copy64(to, from []byte) {
	copy(to[:16], from[:16])
	copy(to[16:32], from[16:32])
	copy(to[32:48], from[32:48])
	copy(to[48:64], from[48:64])
}

// copyNear copies to out[end:last] from distance bytes before. It may write up to 7 bytes more.
func copyNear(out []byte, end, distance, last int) {
	from := end - distance
	// Each copy doubles what repeats itself.
	for distance < 8 {
		binary.LittleEndian.PutUint64(out[end:], binary.LittleEndian.Uint64(out[from:]))
		if end += distance; end >= last {
			return
		}
		distance *= 2
	}
	for ; end < last; end, from = end+8, from+8 {
		binary.LittleEndian.PutUint64(out[end:], binary.LittleEndian.Uint64(out[from:]))
	}
}
