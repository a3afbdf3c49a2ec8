package accesslog

import (
	"bytes"
	"net/netip"
	"unsafe"
)

// client returns the client's address in the part of a line before its time:
// an address or a list of them, and then ident and user name. It is invalid if
// there is none.
//
// The address field is the last run of addresses before the "-" of the ident,
// so that what a proxy, a virtual host or a log shipper wrote before it does no
// harm, and a user name, which is the client's to choose, is never taken for
// an address. Commas hold a list together over elements that are no addresses
// ("unknown"); after a list, a proxy's own address may follow without one.
func client(head []byte) netip.Addr {
	var best netip.Addr
	inRun, listed := false, false
	for first := true; ; first = false {
		token, rest, comma := nextToken(head)
		if len(token) == 0 {
			return best
		}
		head = rest
		addr := address(token)
		switch {
		case addr.IsValid() && !inRun:
			best, inRun = addr, true
		case addr.IsValid():
			if !IsPublic(best) && IsPublic(addr) {
				best = addr
			}
		case comma || listed:
			// An element of the list that is no address.
		case string(token) == "-" && !first:
			return best
		default:
			inRun = false
		}
		listed = comma
	}
}

// nextToken cuts the next word off head: what stands between blanks, quotes
// and commas. comma tells whether a comma follows it, so that the list goes on.
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

func endsToken(c byte) bool { return isBlank(c) || c == '"' || c == ',' }

// address reads a whole token as an address: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, fe80::1%eth0, [2001:db8::1] or [2001:db8::1]:80. It is invalid if
// the token is none.
func address(token []byte) netip.Addr {
	if addr, n := ipv4(token); n > 0 {
		if n == len(token) || isPort(token[n:]) {
			return addr
		}
		return netip.Addr{}
	}
	if len(token) == 0 || token[0] != '[' {
		return ipv6(token)
	}
	end := bytes.IndexByte(token, ']')
	if end < 0 || end+1 < len(token) && !isPort(token[end+1:]) {
		return netip.Addr{}
	}
	return ipv6(token[1:end])
}

// isPort tells whether b is a colon and a port number.
func isPort(b []byte) bool {
	return len(b) >= 2 && len(b) <= 6 && b[0] == ':' && number(b[1:]) >= 0
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
