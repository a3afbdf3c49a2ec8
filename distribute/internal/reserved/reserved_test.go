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
