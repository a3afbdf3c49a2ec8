package hyperloglog

// The formats of Redis: a head of 16 bytes, then the registers. The sparse format has a byte or two
// for each run of equal registers, and can't hold a value above 32.
//
//	head    HYLL, 0 dense or 1 sparse, 0, 0, 0, and the estimate in 8 bytes, of which the highest bit means that it is not known
//	dense   6 bits for each register, the lowest first
//	sparse  00nnnnnn: n+1 zeros; 01nnnnnn nnnnnnnn: n+1 zeros; 1vvvvvnn: n+1 times v+1
const (
	magic       = "HYLL"
	headSize    = 16
	denseSize   = headSize + registers*6/8
	maxSparse   = 3000 // bytes, as in Redis
	maxZeros    = 64
	maxRepeated = 4
	maxValue    = 32 // in a sparse sketch
)

// Encode returns the sketch as a string of Redis.
func (s *Sketch) Encode() []byte {
	if sparse := s.sparse(); sparse != nil {
		return sparse
	}
	b := head(0, denseSize)
	for i, rank := range s.registers() {
		bit := i * 6
		at, shift := headSize+bit/8, bit%8
		b[at] |= rank << shift
		if shift > 2 {
			b[at+1] |= rank >> (8 - shift)
		}
	}
	return b
}

func head(format byte, size int) []byte {
	b := make([]byte, size)
	copy(b, magic)
	b[4], b[headSize-1] = format, 0x80
	return b
}

func (s *Sketch) registers() *[registers]uint8 {
	if s.all != nil {
		return s.all
	}
	all := new([registers]uint8)
	for index, rank := range s.few {
		all[index] = rank
	}
	return all
}

// sparse returns the sketch in the sparse format, nil if that can't hold it.
func (s *Sketch) sparse() []byte {
	b := head(1, headSize)
	all := s.registers()
	for i := 0; i < registers; {
		value, n := all[i], 1
		for i+n < registers && all[i+n] == value && (value == 0 || n < maxRepeated) {
			n++
		}
		switch {
		case value > maxValue:
			return nil
		case value > 0:
			b = append(b, 0x80|(value-1)<<2|byte(n-1))
		case n > maxZeros:
			b = append(b, 0x40|byte((n-1)>>8), byte(n-1))
		default:
			b = append(b, byte(n-1))
		}
		if i += n; len(b) > headSize+maxSparse {
			return nil
		}
	}
	return b
}

// Parse parses a sketch of Redis.
func Parse(b []byte) (*Sketch, error) {
	if len(b) < headSize || string(b[:len(magic)]) != magic || b[4] > 1 {
		return nil, errMalformed
	}
	s := new(Sketch)
	if b[4] == 1 {
		return s, s.parseSparse(b[headSize:])
	}
	if len(b) != denseSize {
		return nil, errMalformed
	}
	for i := range registers {
		bit := i * 6
		at, shift := headSize+bit/8, bit%8
		rank := b[at] >> shift
		if shift > 2 {
			rank |= b[at+1] << (8 - shift)
		}
		if rank &= 63; rank > maxRank {
			return nil, errMalformed
		} else if rank > 0 {
			s.set(uint16(i), rank)
		}
	}
	return s, nil
}

func (s *Sketch) parseSparse(runs []byte) error {
	at := 0
	for i := 0; i < len(runs); i++ {
		op := runs[i]
		n, value := int(op&63)+1, byte(0)
		switch {
		case op&0x80 != 0:
			n, value = int(op&3)+1, op>>2&31+1
		case op&0x40 != 0:
			if i++; i == len(runs) {
				return errMalformed
			}
			n = int(op&63)<<8 | int(runs[i]) + 1
		}
		if at+n > registers {
			return errMalformed
		}
		for range n {
			if value > 0 {
				s.set(uint16(at), value)
			}
			at++
		}
	}
	if at != registers {
		return errMalformed
	}
	return nil
}
