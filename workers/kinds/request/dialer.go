package request

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivateAddress: the request would reach an address that is not part of the
// public internet, and [Config.AllowPrivate] is not set.
var ErrPrivateAddress = errors.New("jobs must not reach private networks")

// dialTimeout bounds one attempt to connect.
const dialTimeout = 30 * time.Second

// newDialer returns a dialer that refuses addresses outside of the public internet,
// unless allowPrivate is set. It checks each address when it is dialled, not when its
// name is resolved, because a name may resolve to another address the next time.
func newDialer(allowPrivate bool) *net.Dialer {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if !allowPrivate {
		guard := newGuard()
		dialer.Control = func(network, address string, _ syscall.RawConn) error {
			return guard.check(network, address)
		}
	}
	return dialer
}

// A guard has the addresses that are not part of the public internet.
type guard struct {
	blocks           []block
	unicast          netip.Prefix // contains all public IPv6 addresses but nat64
	nat64, sixToFour netip.Prefix // lead to the IPv4 address that they contain
}

type block struct {
	prefix netip.Prefix
	use    string
}

// newGuard returns a guard with the blocks that are not globally reachable by IANA's
// registries of special-purpose addresses (RFC 6890), multicast addresses, and the
// public addresses at which clouds serve their machines.
func newGuard() *guard {
	g := &guard{
		unicast:   netip.MustParsePrefix("2000::/3"),
		nat64:     netip.MustParsePrefix("64:ff9b::/96"),
		sixToFour: netip.MustParsePrefix("2002::/16"),
	}
	for use, prefixes := range map[string][]string{
		"of this host":           {"0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"},
		"private":                {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"},
		"behind a carrier's NAT": {"100.64.0.0/10"},
		"link-local":             {"169.254.0.0/16", "fe80::/10"},
		"multicast":              {"224.0.0.0/4", "ff00::/8"},
		"reserved":               {"240.0.0.0/4", "192.0.0.0/24", "192.88.99.0/24", "2001::/23"},
		"for documentation":      {"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"},
		"for benchmarks":         {"198.18.0.0/15"},
		"of a local NAT64":       {"64:ff9b:1::/48"},
		"used by a cloud":        {"168.63.129.16/32"},
	} {
		for _, prefix := range prefixes {
			g.blocks = append(g.blocks, block{netip.MustParsePrefix(prefix), use})
		}
	}
	return g
}

// check returns an error if an address must not be dialled.
func (g *guard) check(network, address string) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s %s is not an address of the internet", ErrPrivateAddress, network, address)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPrivateAddress, err)
	}
	if use := g.use(target.Addr()); use != "" {
		return fmt.Errorf("%w: the address %s is %s (AllowPrivate is not set)",
			ErrPrivateAddress, target.Addr(), use)
	}
	return nil
}

// use returns the use of an address that is not part of the public internet, "" for
// others.
func (g *guard) use(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	for _, b := range g.blocks {
		if b.prefix.Contains(addr) {
			return b.use
		}
	}
	raw := addr.As16()
	switch {
	case addr.Is4():
		return ""
	case g.nat64.Contains(addr):
		return g.use(netip.AddrFrom4([4]byte(raw[12:])))
	case g.sixToFour.Contains(addr):
		return g.use(netip.AddrFrom4([4]byte(raw[2:6])))
	case !g.unicast.Contains(addr):
		return "reserved"
	}
	return ""
}
