package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"unsafe"

	"skidway/distribute/accesslog/internal/lex"
	"skidway/distribute/internal/reserved"
)

// client returns the client's address in the part of a line before its time:
// an address or a list of them, and then ident and user name. It is invalid if
// there is none.
//
// The address field is the last run of addresses before the "-" of the ident,
// so that what a proxy, a virtual host or a log shipper wrote before it is
// skipped, and a user name, which the client chooses, is never taken for
// an address. Commas hold a list together over elements that are no addresses
// ("unknown"); after a list, a proxy's own address may follow without one. Where two words or more
// stand between the run and ident and user, which both are "-", the last one is the client's name:
// the addresses are those of proxies. In the run, proxies
// choose the client; nil: the first public address, or the first one if none is public.
func client(head []byte, proxies *proxyList) netip.Addr {
	if proxies != nil {
		return listedClient(head, proxies)
	}
	var best netip.Addr
	inRun, listed, words := false, false, 0 // words behind the run
	for first := true; ; first = false {
		token, rest, comma := nextToken(head)
		if len(token) == 0 {
			return best
		}
		head = rest
		addr := address(token)
		switch {
		case addr.IsValid() && !inRun:
			best, inRun, words = addr, true, 0
		case addr.IsValid():
			if !IsPublic(best) && IsPublic(addr) {
				best = addr
			}
		case comma || listed:
			// An element of the list that is no address.
		case string(token) == "-" && !first:
			if words > 1 && isNoUser(head) {
				return netip.Addr{}
			}
			return best
		default:
			inRun = false
			words++
		}
		listed = comma
	}
}

// isNoUser reports whether what stands before the time is a user without a name.
func isNoUser(head []byte) bool {
	user, rest, _ := nextToken(head)
	next, _, _ := nextToken(rest)
	return string(user) == "-" && len(next) == 0
}

// listedClient is client where proxies are trusted.
func listedClient(head []byte, proxies *proxyList) netip.Addr {
	proxies.n = 0
	inRun, listed, words := false, false, 0
	for first := true; ; first = false {
		token, rest, comma := nextToken(head)
		addr := address(token)
		switch {
		case len(token) == 0:
			return proxies.client()
		case addr.IsValid() && !inRun:
			if !listed {
				proxies.n = 0
			}
			proxies.add(addr)
			inRun, words = true, 0
		case addr.IsValid() || comma || listed:
			proxies.add(addr)
		case string(token) == "-" && !first:
			if words > 1 && isNoUser(rest) {
				return netip.Addr{}
			}
			return proxies.client()
		default:
			inRun = false
			words++
		}
		head, listed = rest, comma
	}
}

// nextToken cuts the next word off head: what stands between blanks, quotes
// and commas. comma reports whether a comma follows it, so that the list continues.
func nextToken(head []byte) (token, rest []byte, comma bool) {
	start := 0
	for start < len(head) && endsToken(head[start]) {
		start++
	}
	end := start
	for end < len(head) && !endsToken(head[end]) {
		end++
	}
	return head[start:end], head[end:], end < len(head) && head[end] == ','
}

func endsToken(c byte) bool { return lex.IsBlank(c) || c == '"' || c == ',' }

// address reads a whole token as an address: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, fe80::1%eth0, [2001:db8::1] or [2001:db8::1]:80. It is invalid if
// the token is none.
func address(token []byte) netip.Addr {
	if token = withoutSign(token); len(token) < len("::") {
		return netip.Addr{}
	}
	if addr, n := ipv4(token); n > 0 {
		if n == len(token) || isPort(token[n:]) {
			return addr
		}
		return netip.Addr{}
	}
	if token[0] != '[' {
		return ipv6(token)
	}
	end := bytes.IndexByte(token, ']')
	if end < 0 || end+1 < len(token) && !isPort(token[end+1:]) {
		return netip.Addr{}
	}
	return ipv6(token[1:end])
}

// withoutSign cuts off what a token may have before its address: a blank as IIS and CloudFront write it in
// a value, or the slash of Java, which stands behind the name that an address has not.
func withoutSign(token []byte) []byte {
	switch {
	case len(token) > 0 && (token[0] == '+' || token[0] == '/'):
		return token[1:]
	case len(token) > 0 && token[0] == '%':
		return bytes.TrimPrefix(token, []byte("%20"))
	}
	return token
}

// isPort reports whether b is a colon and a port number.
func isPort(b []byte) bool {
	return len(b) >= 2 && len(b) <= 6 && b[0] == ':' && lex.Number(b[1:]) >= 0
}

// maxIPv6 is the length of the longest IPv6 address, which ends in IPv4's
// notation.
const maxIPv6 = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")

// ipv6 reads b, all of it, as an IPv6 address; it is invalid if b is none.
func ipv6(b []byte) netip.Addr {
	if zone := bytes.IndexByte(b, '%'); zone >= 0 {
		b = b[:zone]
	}
	if len(b) > maxIPv6 || bytes.Count(b, []byte(":")) < 2 {
		// Host names end here, before ParseAddr makes an error value.
		return netip.Addr{}
	}
	// ParseAddr wants a string, and converting allocates one for every line
	// because an error would keep it. Nothing keeps this one: the error is
	// dropped here, and an address without a zone holds no string.
	addr, err := netip.ParseAddr(unsafe.String(unsafe.SliceData(b), len(b)))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

const (
	maxIPv4 = len("255.255.255.255")

	// ipv4Window is the number of bytes that ipv4 loads: the longest address, what ends it, and
	// three more, so that four bytes can be loaded where an octet of one digit begins.
	ipv4Window = maxIPv4 + 4
)

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
	w := (*[ipv4Window]byte)(b)
	stops := uint32(nonDigits(w[:])) | uint32(nonDigits(w[8:]))<<8 | 1<<(maxIPv4+1)
	dot1 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	dot2 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	dot3 := bits.TrailingZeros32(stops)
	stops &= stops - 1
	end := bits.TrailingZeros32(stops)
	if end > maxIPv4 || w[dot1&15] != '.' || w[dot2&15] != '.' || w[dot3&15] != '.' {
		return netip.Addr{}, 0
	}
	first, bad1 := octet(w, 0, dot1)
	second, bad2 := octet(w, dot1+1, dot2)
	third, bad3 := octet(w, dot2+1, dot3)
	fourth, bad4 := octet(w, dot3+1, end)
	if bad1|bad2|bad3|bad4 < 0 {
		return netip.Addr{}, 0
	}
	return netip.AddrFrom4([4]byte{first, second, third, fourth}), end
}

// ipv4In reads the IPv4 address that a field of a line starts with, as ipv4 does.
func ipv4In(line, field []byte) (netip.Addr, int) {
	// The bytes of a short field would have to be copied, and to read them in other units
	// than they were written takes longer than all else.
	at := cap(line) - cap(field)
	if at >= 0 && at+ipv4Window <= len(line) && &line[at] == &field[0] {
		if addr, n := ipv4(line[at:]); n <= len(field) { // else digits follow the field
			return addr, n
		}
	}
	return ipv4(field)
}

// nonDigits returns a bit for each of the first eight bytes of b, set where
// the byte is no decimal digit.
func nonDigits(b []byte) uint8 {
	// The product gathers the eight marks in its top byte.
	return uint8(nonDigitMarks(binary.LittleEndian.Uint64(b)) >> 7 * 0x0102040810204080 >> 56)
}

// nonDigitMarks returns the highest bit of each byte of a word that is no decimal digit.
func nonDigitMarks(word uint64) uint64 {
	const low7, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	// Digits become 0-9; adding 118 to more than 9 sets the high bit.
	t := word ^ 0x3030303030303030
	return (t&low7 + 0x7676767676767676 | t) & high
}

// octet reads the digits w[start:end] as a number. It returns a negative number as bad if they
// are not one to three digits, have leading zeros, or are above 255.
func octet(w *[ipv4Window]byte, start, end int) (value byte, bad int) {
	n := end - start
	// The last digit moves to the top byte, and what follows it out of the
	// word; zeros come in below the first.
	word := (binary.LittleEndian.Uint32(w[start&15:]) ^ 0x30303030) << ((32 - 8*n) & 31)
	digits := int(bits.ReverseBytes32(word))
	least := 1 << ((8*n - 8) & 31) &^ 1 // of one digit 0, of two 10, of three 100
	return byte(word * (100<<16 + 10<<8 + 1) >> 24), (digits - least) | (0x020505 - digits) | (n - 1) | (3 - n)
}

// IsPublic reports whether addr may be the address of a client on the public
// Internet: valid, and not private, loopback, link-local, shared by a carrier's
// NAT, for documentation, multicast, unspecified or otherwise set aside. The
// few globally reachable services inside such blocks (anycast addresses of
// relays, in 192.0.0.0/24 and 2001::/23) are no clients and not public.
func IsPublic(addr netip.Addr) bool { return reserved.IsPublic(addr) }
