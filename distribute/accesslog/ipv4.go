package accesslog

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// ipv4Window is one byte more than the longest IPv4 address has, so that its
// end is in the window too.
const ipv4Window = len("255.255.255.255") + 1

// ipv4 reads the IPv4 address that b starts with, and returns how many bytes
// it takes; 0 if b starts with none. Like netip.ParseAddr it takes no leading
// zeros, which some read as octal.
//
// Octets are of one to three digits at random, which a processor cannot
// predict, and reading digit by digit would branch on each. So all bytes that
// are no digits are found at once, and the only branches are for bad input.
func ipv4(b []byte) (netip.Addr, int) {
	var window [ipv4Window]byte
	if len(b) < ipv4Window {
		copy(window[:], b) // the rest is zero, which is no digit
		b = window[:]
	}
	b = b[:ipv4Window]
	stops := uint32(nonDigits(b)) | uint32(nonDigits(b[8:]))<<8 | 1<<16
	dot1 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	dot2 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	dot3 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	end := bits.TrailingZeros32(stops)
	if end >= ipv4Window || b[dot1] != '.' || b[dot2] != '.' || b[dot3] != '.' {
		return netip.Addr{}, 0
	}
	var octets [4]byte
	var ok bool
	if octets[0], ok = octet(b, 0, dot1); !ok {
		return netip.Addr{}, 0
	}
	if octets[1], ok = octet(b, dot1+1, dot2); !ok {
		return netip.Addr{}, 0
	}
	if octets[2], ok = octet(b, dot2+1, dot3); !ok {
		return netip.Addr{}, 0
	}
	if octets[3], ok = octet(b, dot3+1, end); !ok {
		return netip.Addr{}, 0
	}
	return netip.AddrFrom4(octets), end
}

// nonDigits returns a bit for each of the first eight bytes of b, set where
// the byte is no decimal digit.
func nonDigits(b []byte) uint8 {
	const low7, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	// Digits become 0-9; adding 118 to more than 9 sets the high bit.
	t := binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
	marks := (t&low7 + 0x7676767676767676 | t) & high
	// The product gathers the eight marks in its top byte.
	return uint8(marks >> 7 * 0x0102040810204080 >> 56)
}

// octet reads the digits b[start:end] as a number up to 255 without leading
// zeros.
func octet(b []byte, start, end int) (value byte, ok bool) {
	n := end - start
	if n < 1 || n > 3 || start > ipv4Window-4 {
		return 0, false
	}
	// The last digit moves to the top byte, and what follows it out of the
	// word; zeros come in below the first.
	t := (binary.LittleEndian.Uint32(b[start:]) ^ 0x30303030) << (32 - 8*n)
	v := t>>8&0xff*100 + t>>16&0xff*10 + t>>24
	// The least number of one digit is 0, of two 10, of three 100.
	least := uint32(0x640a0000) >> (8 * n) & 0xff
	return byte(v), v >= least && v <= 255
}
