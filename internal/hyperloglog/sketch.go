package hyperloglog

import (
	"errors"
	"math"
	"math/bits"
)

const (
	indexBits = 14
	registers = 1 << indexBits
	maxRank   = 64 - indexBits + 1 // of 50 zeros
)

// A Sketch has the registers of a HyperLogLog. The zero value is empty. It is not safe for
// concurrent use.
type Sketch struct {
	few map[uint16]uint8  // the registers that are not 0
	all *[registers]uint8 // instead, if there are many
}

// maxFew bounds the registers of Sketch.few: from there on an array is smaller.
const maxFew = 512

// Add adds a member by its hash, of which all bits must be random.
func (s *Sketch) Add(hash uint64) {
	rank := bits.TrailingZeros64(hash>>indexBits|1<<(64-indexBits)) + 1
	s.set(uint16(hash&(registers-1)), uint8(rank))
}

// set raises a register.
func (s *Sketch) set(index uint16, rank uint8) {
	if s.all != nil {
		s.all[index] = max(s.all[index], rank)
		return
	}
	if s.few == nil {
		s.few = map[uint16]uint8{}
	}
	if s.few[index] >= rank {
		return
	}
	s.few[index] = rank
	if len(s.few) > maxFew {
		s.all = new([registers]uint8)
		for index, rank := range s.few {
			s.all[index] = rank
		}
		s.few = nil
	}
}

// Size returns the memory of the sketch, about, in bytes.
func (s *Sketch) Size() int {
	if s.all != nil {
		return registers
	}
	return 100 + 8*len(s.few)
}

// Merge adds the members of another sketch, which does not change.
func (s *Sketch) Merge(other *Sketch) {
	if other.all != nil {
		for index, rank := range other.all {
			if rank > 0 {
				s.set(uint16(index), rank)
			}
		}
	}
	for index, rank := range other.few {
		s.set(index, rank)
	}
}

// Count returns the estimated number of members.
func (s *Sketch) Count() int64 {
	var ranks [maxRank + 1]int // the number of registers with each value
	if s.all != nil {
		for _, rank := range s.all {
			ranks[rank]++
		}
	} else {
		ranks[0] = registers - len(s.few)
		for _, rank := range s.few {
			ranks[rank]++
		}
	}
	const m = float64(registers)
	z := m * tau((m-float64(ranks[maxRank]))/m)
	for rank := maxRank - 1; rank >= 1; rank-- {
		z = (z + float64(ranks[rank])) / 2
	}
	z += m * sigma(float64(ranks[0])/m)
	const alpha = 0.721347520444481703680 // 1 / (2 ln 2)
	return int64(math.Round(alpha * m * m / z))
}

// sigma is the correction for registers that are 0, and tau that for those with the highest value.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	z, y := x, 1.0
	for before := math.NaN(); z != before; {
		before = z
		x *= x
		z += x * y
		y += y
	}
	return z
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	z, y := 1-x, 1.0
	for before := math.NaN(); z != before; {
		before = z
		x = math.Sqrt(x)
		y /= 2
		z -= (1 - x) * (1 - x) * y
	}
	return z / 3
}

// errMalformed is the error for bytes that are no sketch of Redis.
var errMalformed = errors.New("the HyperLogLog is malformed")
