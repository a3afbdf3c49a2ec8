package request

import (
	"net"
	"net/http"
	"net/netip"
	"syscall"
)

// UseResolver sets the resolver of names.
func (h *Client) UseResolver(r *net.Resolver) { h.dialer.Resolver = r }

// TakeForPublic lets connections to one address pass the guard.
func (h *Client) TakeForPublic(public netip.Addr) {
	guarded := h.dialer.Control
	h.dialer.Control = func(network, address string, conn syscall.RawConn) error {
		if netip.MustParseAddrPort(address).Addr() == public {
			return nil
		}
		return guarded(network, address, conn)
	}
}

// Redirect returns an error unless a redirect is followed.
func (h *Client) Redirect(next *http.Request, before ...*http.Request) error {
	return h.redirect(next, before)
}

// UseOf returns the use of an address, "" for a public one.
func UseOf(addr netip.Addr) string { return newGuard().use(addr) }

// RetryAfter returns the wait that a server's answer asks for.
var RetryAfter = retryAfter
