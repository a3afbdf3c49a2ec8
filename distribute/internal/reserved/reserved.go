// Package reserved knows the networks whose addresses no client on the public
// Internet has.
package reserved

import "net/netip"

// special4 and special6 are the blocks of the IANA IPv4 and IPv6 Special-Purpose
// Address Registries (RFC 6890 and later) that are not globally reachable, the
// multicast blocks, and IPv4's reserved 240.0.0.0/4.
var (
	special4 = [...]netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),      // private, RFC 1918
		netip.MustParsePrefix("192.168.0.0/16"),  // private, RFC 1918
		netip.MustParsePrefix("172.16.0.0/12"),   // private, RFC 1918
		netip.MustParsePrefix("127.0.0.0/8"),     // loopback, RFC 1122
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT, RFC 6598
		netip.MustParsePrefix("169.254.0.0/16"),  // link-local, RFC 3927
		netip.MustParsePrefix("0.0.0.0/8"),       // this network, RFC 791
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments, RFC 6890
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation, RFC 5737
		netip.MustParsePrefix("198.51.100.0/24"), // documentation, RFC 5737
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation, RFC 5737
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking, RFC 2544
		netip.MustParsePrefix("224.0.0.0/4"),     // multicast, RFC 5771
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved and broadcast, RFC 1112
	}
	special6 = [...]netip.Prefix{
		netip.MustParsePrefix("2001::/23"),     // protocol assignments, RFC 2928
		netip.MustParsePrefix("2001:db8::/32"), // documentation, RFC 3849
		netip.MustParsePrefix("3fff::/20"),     // documentation, RFC 9637
	}
	// global6 is the space that IANA hands out as global unicast (RFC 4291).
	// Loopback, link-local, unique local, multicast and all else are outside.
	global6 = netip.MustParsePrefix("2000::/3")
)

// IsPublic reports whether addr is valid and in no reserved network.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch {
	case addr.Is4():
		return !special4In[addr.As4()[0]] || !inAny(special4[:], addr)
	case addr.Is6():
		return global6.Contains(addr) && !inAny(special6[:], addr)
	}
	return false
}

// special4In has the first octets of the addresses in special4: few networks of the Internet
// need more than that.
var special4In = func() (in [256]bool) {
	for _, block := range special4 {
		first := int(block.Addr().As4()[0])
		for i := range 1 << max(0, 8-block.Bits()) {
			in[first+i] = true
		}
	}
	return in
}()

func inAny(blocks []netip.Prefix, addr netip.Addr) bool {
	for _, block := range blocks {
		if block.Contains(addr) {
			return true
		}
	}
	return false
}

// OverlapsIPv4 reports whether an IPv4 network has reserved addresses.
func OverlapsIPv4(network netip.Prefix) bool {
	if network.Bits() >= 8 && !special4In[network.Addr().As4()[0]] {
		return false
	}
	for _, block := range special4 {
		if block.Overlaps(network) {
			return true
		}
	}
	return false
}
