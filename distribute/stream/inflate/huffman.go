package inflate

import "math/bits"

// An entry of a table tells what the next bits of the input mean: a symbol, or, in
// the table of the fast loop, a literal and another symbol.
//
//	bits 0-5    number of bits of all codes and of the extra bits behind the last one
//	bits 8-13   number of bits of all codes
//	bits 16-19  what they end with, see kindLiteral and the others
//	bits 24-25  number of literals
//	bits 32-55  the literals; the smallest distance; of a subtable, its start
//	bits 56-63  the smallest length, less minMatch
//
// In the entry of a subtable, bits 0-5 are the number of bits that index it.
type entry uint64

// Kinds of entries.
const (
	kindLiteral = 0           // a byte of the content, or several
	kindBase    = 1 << 16     // a length or a distance
	special     = 1 << 17     // all others
	kindEnd     = 0b001 << 17 // the end of the block
	kindTable   = 0b011 << 17 // the code is longer: a subtable has the entry
	kindInvalid = 0b101 << 17 // a code without meaning
	kindNone    = 0b111 << 17 // no code has these bits
	kindMask    = 0b1111 << 16

	codeBitsMask = 63 << 8
	literalsMask = 0xffffff << 32
)

func (e entry) kind() uint      { return uint(e) & kindMask }
func (e entry) total() uint     { return uint(e) & 63 }
func (e entry) codeBits() uint  { return uint(e>>8) & 63 }
func (e entry) extraBits() uint { return e.total() - e.codeBits() }
func (e entry) literals() int   { return int(e>>24) & 3 }
func (e entry) value() int      { return int(e>>32) & 0xffffff }
func (e entry) length() int     { return minMatch + int(e>>56) }

// withCode returns the entry of a symbol whose code has n bits.
func (e entry) withCode(n uint) entry { return e + entry(n<<8|n) }

func literalEntry(value int) entry { return entry(value)<<32 | 1<<24 | kindLiteral }

// lengthEntry returns the entry, without a code, of lengths from base on.
func lengthEntry(base int, extraBits uint) entry {
	return entry(base-minMatch)<<56 | kindBase | entry(extraBits)
}

// distanceEntry returns the entry, without a code, of distances from base on.
func distanceEntry(base int, extraBits uint) entry {
	return entry(base)<<32 | kindBase | entry(extraBits)
}

func tableEntry(start int, indexBits uint) entry {
	return entry(start)<<32 | kindTable | entry(indexBits)
}

// Limits of DEFLATE.
const (
	maxCodeBits   = 15
	maxDistance   = 32 << 10
	minMatch      = 3
	maxMatch      = 258
	endOfBlock    = 256
	literalCodes  = 286 // that have a meaning, of 288
	distanceCodes = 30  // that have a meaning, of 32
)

// The entries, without codes, of all symbols of literals and lengths, of distances, and of
// the codes of a dynamic block's header.
var (
	literalSymbols  = newLiteralSymbols()
	distanceSymbols = newDistanceSymbols()
	headerSymbols   = newHeaderSymbols()
)

func newLiteralSymbols() (symbols [288]entry) {
	for i := range endOfBlock {
		symbols[i] = literalEntry(i)
	}
	symbols[endOfBlock] = kindEnd
	base := minMatch
	for i := endOfBlock + 1; i < literalCodes-1; i++ {
		extra := uint(max(0, (i-261)/4))
		symbols[i] = lengthEntry(base, extra)
		base += 1 << extra
	}
	symbols[literalCodes-1] = lengthEntry(maxMatch, 0)
	symbols[286], symbols[287] = kindInvalid, kindInvalid
	return symbols
}

func newDistanceSymbols() (symbols [32]entry) {
	base := 1
	for i := range distanceCodes {
		extra := uint(max(0, i/2-1))
		symbols[i] = distanceEntry(base, extra)
		base += 1 << extra
	}
	symbols[30], symbols[31] = kindInvalid, kindInvalid
	return symbols
}

func newHeaderSymbols() (symbols [19]entry) {
	for i := range symbols {
		symbols[i] = literalEntry(i)
	}
	return symbols
}

// Number of bits that index a table, and number of entries with all subtables: the most that
// any code needs ("enough", an example program of zlib, computes it).
const (
	literalBits, literalEntries   = 11, 2342
	distanceBits, distanceEntries = 9, 592
	headerBits                    = 7
)

// A codeTable has the entries of a code.
type codeTable struct {
	entries   []entry
	indexBits uint
	minBits   uint     // at least so many bits must follow
	literals  []uint16 // the codes of literals that leave room for another one in an index
}

// find returns the entry for the next bits of the input.
func (t *codeTable) find(next uint64) entry {
	e := t.entries[next&(1<<t.indexBits-1)]
	if e.kind() == kindTable {
		e = t.entries[e.value()+int(next>>t.indexBits&(1<<e.total()-1))]
	}
	return e
}

// build makes the table of the code whose symbols have the given numbers of bits, 0 for a
// symbol that does not occur. It reports whether they make a code: a complete one, a single
// code of one bit, or none at all.
func (t *codeTable) build(lengths []uint8, symbols []entry) bool {
	var count [maxCodeBits + 1]int
	for _, n := range lengths {
		count[n]++
	}
	used := len(lengths) - count[0]
	count[0] = 0
	if used == 0 {
		t.entries[0], t.literals, t.minBits = kindNone, t.literals[:0], 0
		double(t.entries[:1<<t.indexBits], 1)
		return true
	}
	longest, space := uint(0), 0 // space is how much of 1 << longest codes is taken
	t.minBits = 0
	var next [maxCodeBits + 2]int // place of the next symbol with that number of bits, in order
	for n := uint(1); n <= maxCodeBits; n++ {
		next[n+1] = next[n] + count[n]
		if count[n] > 0 {
			if t.minBits == 0 {
				t.minBits = n
			}
			space = space<<(n-longest) + count[n]
			longest = n
		}
	}
	if space != 1<<longest && (space != 1 || longest != 1) {
		return false
	}
	var ordered [288]uint16
	for symbol, n := range lengths {
		if n > 0 {
			ordered[next[n]] = uint16(symbol)
			next[n]++
		}
	}
	t.fill(ordered[:used], lengths, symbols, &count)
	return true
}

// fill writes the entries of symbols that are ordered by the number of their bits.
func (t *codeTable) fill(ordered []uint16, lengths []uint8, symbols []entry, count *[maxCodeBits + 1]int) {
	var code uint // the bits of the next code, in the order in which they are read
	size := 1     // entries so far; an entry stands for all indexes that end with its own
	t.entries[0], t.literals = kindNone, t.literals[:0]
	free, prefix, subStart, subBits := 1<<t.indexBits, ^uint(0), 0, uint(0)
	for _, symbol := range ordered {
		n := uint(lengths[symbol])
		e := symbols[symbol].withCode(n)
		if least := 1 << min(n, t.indexBits); size < least {
			size = double(t.entries[:least], size)
		}
		if n <= t.indexBits {
			t.entries[code] = e
			if e.kind() == kindLiteral && n+t.minBits <= t.indexBits {
				t.literals = append(t.literals, uint16(code))
			}
		} else {
			if start := code & (1<<t.indexBits - 1); start != prefix {
				prefix, subStart, subBits = start, free, subtableBits(n, t.indexBits, count)
				free += 1 << subBits
				t.entries[prefix] = tableEntry(subStart, subBits)
			}
			for at := code >> t.indexBits; at < 1<<subBits; at += 1 << (n - t.indexBits) {
				t.entries[subStart+int(at)] = e
			}
		}
		count[n]--
		// The next code is one more, where the bit that is read last counts least.
		if rest := ^code & (1<<n - 1); rest != 0 {
			bit := uint(1) << (bits.Len(rest) - 1)
			code = code&(bit-1) | bit
		}
	}
	if size == 2 && len(ordered) == 1 {
		t.entries[1] = kindNone // only one of the two codes of one bit exists
	}
	double(t.entries[:1<<t.indexBits], size)
}

// double copies the first size entries behind themselves until all are filled.
func double(entries []entry, size int) int {
	for ; size < len(entries); size *= 2 {
		copy(entries[size:2*size], entries[:size])
	}
	return size
}

// subtableBits returns the number of bits that index the subtable that begins with a code of
// n bits; count has how many codes with each number of bits are left.
func subtableBits(n, indexBits uint, count *[maxCodeBits + 1]int) uint {
	used := count[n]
	for used < 1<<(n-indexBits) {
		n++
		used = used<<1 + count[n]
	}
	return n - indexBits
}

// makePairs makes the table of the fast loop: to each literal it adds the literal or length that
// follows it, if the bits of an index suffice for both.
func (t *codeTable) makePairs(pairs *[1 << literalBits]entry) {
	single := (*[1 << literalBits]entry)(t.entries)
	*pairs = *single
	for _, code := range t.literals {
		first := single[code%(1<<literalBits)]
		n := first.codeBits()
		room := entry(literalBits-n) << 8
		for i, next := range single[:1<<(literalBits-n)] {
			pair := first
			if next&(special|codeBitsMask) <= room {
				pair += next&^literalsMask + next&literalsMask<<8
			}
			pairs[(uint(code)|uint(i)<<n)%(1<<literalBits)] = pair
		}
	}
}
