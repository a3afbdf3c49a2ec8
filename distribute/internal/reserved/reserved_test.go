package reserved_test

import (
	"net/netip"
	"testing"

	"skidway/distribute/internal/reserved"
)

func TestNetworkThatHoldsAReservedBlockOverlaps(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]bool{
		"203.0.0.0/16": true, "203.0.113.128/25": true, "10.1.0.0/16": true, "203.1.0.0/16": false, "8.8.0.0/16": false,
	} {
		if got := reserved.OverlapsIPv4(netip.MustParsePrefix(network)); got != want {
			t.Errorf("%s overlaps: %v", network, got)
		}
	}
}

// The blocks are those of special4, without what finds most addresses out by their first octet.
func TestFirstAndLastAddressOfEachBlockAreReserved(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0", "127.255.255.255",
		"169.254.0.0", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.168.255.255",
		"198.18.0.0", "198.19.255.255", "198.51.100.255", "203.0.113.0", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255",
	} {
		addr := netip.MustParseAddr(text)
		if reserved.IsPublic(addr) {
			t.Errorf("%s is public", addr)
		}
		for _, bits := range []int{4, 8, 16, 24, 32} {
			if network := netip.PrefixFrom(addr, bits).Masked(); !reserved.OverlapsIPv4(network) {
				t.Errorf("%s has no reserved address", network)
			}
		}
	}
	for _, text := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255",
	} {
		addr := netip.MustParseAddr(text)
		if !reserved.IsPublic(addr) {
			t.Errorf("%s is not public", addr)
		}
		if network := netip.PrefixFrom(addr, 24).Masked(); reserved.OverlapsIPv4(network) {
			t.Errorf("%s has a reserved address", network)
		}
	}
}
