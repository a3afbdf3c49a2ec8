package accesslog

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// TrustedProxies decide which address of a list is the client's, where each proxy appends
// the address that it saw. The zero value trusts none: then the first public address is
// taken, which a client may forge.
type TrustedProxies struct {
	count    int
	prefixes []netip.Prefix
}

// ParseTrustedProxies reads the number of proxies before the server, or their networks with
// commas between.
func ParseTrustedProxies(text string) (TrustedProxies, error) {
	var t TrustedProxies
	if text == "" {
		return t, nil
	}
	if count, err := strconv.Atoi(text); err == nil {
		if count < 1 || count > maxListed {
			return t, fmt.Errorf("trusted proxies: %d is not between 1 and %d", count, maxListed)
		}
		return TrustedProxies{count: count}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if addr, other := netip.ParseAddr(part); other == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return TrustedProxies{}, errors.New("trusted proxies: write their number, or networks such as 10.0.0.0/8")
		}
		t.prefixes = append(t.prefixes, prefix.Masked())
	}
	return t, nil
}

// String returns the text that [ParseTrustedProxies] reads.
func (t TrustedProxies) String() string {
	if t.count > 0 {
		return strconv.Itoa(t.count)
	}
	texts := make([]string, len(t.prefixes))
	for i, p := range t.prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// maxListed bounds the addresses of a list that are looked at, from its end.
const maxListed = 100

// A proxyList chooses the client's address in a list by the proxies that are trusted.
type proxyList struct {
	trusted TrustedProxies
	listed  [maxListed]netip.Addr // invalid: an element that is no address
	n       int
}

// newProxyList returns nil if no proxies are trusted.
func newProxyList(o Options) *proxyList {
	if o.Proxies.count == 0 && len(o.Proxies.prefixes) == 0 {
		return nil
	}
	return &proxyList{trusted: o.Proxies}
}

// hide reports whether a list has an address, though what the proxies saw is none.
func (p *proxyList) hide(list []byte) bool { return p != nil && client(list, nil).IsValid() }

// add appends an element of the list.
func (p *proxyList) add(addr netip.Addr) {
	if p.n == maxListed {
		copy(p.listed[:], p.listed[1:])
		p.n--
	}
	p.listed[p.n] = addr
	p.n++
}

// client returns the address that the outermost trusted proxy saw. Without a list it is
// invalid.
func (p *proxyList) client() netip.Addr {
	list := p.listed[:p.n]
	if p.trusted.count > 0 && p.n > 0 {
		return list[max(0, p.n-p.trusted.count)]
	}
	for _, addr := range slices.Backward(list) {
		if !slices.ContainsFunc(p.trusted.prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(addr) }) {
			return addr
		}
	}
	if p.n == 0 {
		return netip.Addr{}
	}
	return list[0]
}
