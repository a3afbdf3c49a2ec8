package inflate

import "math/bits"

// An entry of a table tells what the next bits of the input mean:
//
//	bits 0-4    number of bits of the code and of the extra bits that follow it
//	bits 5-8    number of bits of the code
//	bits 9-12   number of extra bits; of a subtable, number of bits that index it
//	bits 13-15  kind
//	bits 16-31  the literal; the smallest length or distance; of a subtable, its start
//
// The zero entry means that no code begins with these bits.
type entry uint32

// Kinds of entries.
const (
	kindNone    = iota << 13 // no code has these bits
	kindLiteral              // a byte of the content
	kindBase                 // a length or a distance
	kindEnd                  // the end of the block
	kindTable                // the code is longer: a subtable has the entry
	kindInvalid              // a code without meaning
	kindMask    = 7 << 13
)

func (e entry) kind() uint32    { return uint32(e) & kindMask }
func (e entry) total() uint     { return uint(e) & 31 }
func (e entry) codeBits() uint  { return uint(e) >> 5 & 15 }
func (e entry) extraBits() uint { return uint(e) >> 9 & 15 }
func (e entry) value() int      { return int(e >> 16) }

// withCode returns the entry of a symbol whose code has n bits.
func (e entry) withCode(n uint) entry { return e | entry(n<<5) | entry(n+e.extraBits()) }

// baseEntry returns the entry, without a code, of lengths or distances from base on.
func baseEntry(base int, extraBits uint) entry {
	return entry(base<<16) | kindBase | entry(extraBits<<9)
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
		symbols[i] = entry(i<<16) | kindLiteral
	}
	symbols[endOfBlock] = kindEnd
	base := minMatch
	for i := endOfBlock + 1; i < literalCodes-1; i++ {
		extra := uint(max(0, (i-261)/4))
		symbols[i] = baseEntry(base, extra)
		base += 1 << extra
	}
	symbols[literalCodes-1] = baseEntry(maxMatch, 0)
	symbols[286], symbols[287] = kindInvalid, kindInvalid
	return symbols
}

func newDistanceSymbols() (symbols [32]entry) {
	base := 1
	for i := range distanceCodes {
		extra := uint(max(0, i/2-1))
		symbols[i] = baseEntry(base, extra)
		base += 1 << extra
	}
	symbols[30], symbols[31] = kindInvalid, kindInvalid
	return symbols
}

func newHeaderSymbols() (symbols [19]entry) {
	for i := range symbols {
		symbols[i] = entry(i<<16) | kindLiteral
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
	minBits   uint // at least so many bits must follow
}

// find returns the entry for the next bits of the input.
func (t *codeTable) find(next uint64) entry {
	e := t.entries[next&(1<<t.indexBits-1)]
	if e.kind() == kindTable {
		e = t.entries[e.value()+int(next>>t.indexBits&(1<<e.extraBits()-1))]
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
		clear(t.entries[:1<<t.indexBits])
		t.minBits = 0
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
	t.entries[0] = 0
	free, prefix, subStart, subBits := 1<<t.indexBits, ^uint(0), 0, uint(0)
	for _, symbol := range ordered {
		n := uint(lengths[symbol])
		e := symbols[symbol].withCode(n)
		for size < 1<<min(n, t.indexBits) {
			copy(t.entries[size:2*size], t.entries[:size])
			size *= 2
		}
		if n <= t.indexBits {
			t.entries[code] = e
		} else {
			if start := code & (1<<t.indexBits - 1); start != prefix {
				prefix, subStart, subBits = start, free, subtableBits(n, t.indexBits, count)
				free += 1 << subBits
				t.entries[prefix] = entry(subStart<<16) | kindTable | entry(subBits<<9)
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
		t.entries[1] = 0 // only one of the two codes of one bit exists
	}
	for size < 1<<t.indexBits {
		copy(t.entries[size:2*size], t.entries[:size])
		size *= 2
	}
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

// A run is what one look-up yields in the fast loop: up to three literals and then, if the
// bits suffice, a length.
//
//	bits 0-5    number of bits of all codes and of the extra bits of the length
//	bits 8-13   number of bits of all codes
//	bit 16      a length follows the literals
//	bit 17      none of this: see the entry
//	bits 24-25  number of literals
//	bits 32-55  the literals
//	bits 56-63  the smallest length, less minMatch
type run uint64

const (
	runMatch   = 1 << 16
	runSpecial = 1 << 17
)

func (r run) total() uint    { return uint(r) & 63 }
func (r run) codeBits() uint { return uint(r>>8) & 63 }
func (r run) literals() int  { return int(r>>24) & 3 }

// buildRuns makes the runs of a table of literals and lengths.
func buildRuns(runs *[1 << literalBits]run, entries []entry) {
	entries = entries[:1<<literalBits]
	for i := range runs {
		var r run
		used, literals := uint(0), uint(0)
		e := entries[i]
		for e.kind() == kindLiteral && literals < 3 && used+e.codeBits() <= literalBits {
			r |= run(e.value()) << (32 + 8*literals)
			literals++
			used += e.codeBits()
			e = entries[i>>used]
		}
		r |= run(literals) << 24
		switch {
		case e.kind() == kindBase && used+e.codeBits() <= literalBits:
			used += e.codeBits()
			r |= runMatch | run(used)<<8 | run(used+e.extraBits()) | run(e.value()-minMatch)<<56
		case literals == 0:
			r = runSpecial
		default:
			r |= run(used)<<8 | run(used)
		}
		runs[i] = r
	}
}
