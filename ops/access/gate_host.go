package access

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// knowsHost reports whether the request names this server.
func (g *Gate) knowsHost(r *http.Request) bool {
	name, ok := hostName(r.Host)
	if !ok {
		return false
	}
	if isLoopback(name) || slices.ContainsFunc(g.config.Hosts, func(known string) bool { return strings.EqualFold(known, name) }) {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().WithZone("") == localAddress(r)
}

// hostName returns the host of a header Host, without its port and a dot at its end.
func hostName(host string) (name string, ok bool) {
	name = host
	if split, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
		name = split
	} else if inner, found := strings.CutPrefix(host, "["); found {
		if name, found = strings.CutSuffix(inner, "]"); !found {
			return "", false
		}
	}
	name = strings.TrimSuffix(name, ".")
	return name, name != ""
}

// localAddress returns the address at which the connection of a request arrived.
func localAddress(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.Addr{}
	}
	return addressOf(local.String())
}

// addressOf returns the address of a text with a port.
func addressOf(text string) netip.Addr {
	parsed, _ := netip.ParseAddrPort(text) // else it is none
	return parsed.Addr().Unmap().WithZone("")
}

// secure reports whether others can't read the request on its way.
func (g *Gate) secure(r *http.Request) bool {
	if protocol := r.Header.Get("X-Forwarded-Proto"); g.config.BehindTLS {
		direct := len(g.config.Proxies) > 0 && !g.trusted(r) && !addressOf(r.RemoteAddr).IsLoopback()
		return !direct && (protocol == "" || strings.EqualFold(protocol, "https"))
	}
	return r.TLS != nil && r.TLS.Version >= tls.VersionTLS12 || localAddress(r).IsLoopback()
}

// trusted reports whether a proxy that is believed has sent the request.
func (g *Gate) trusted(r *http.Request) bool {
	remote := addressOf(r.RemoteAddr)
	return slices.ContainsFunc(g.config.Proxies, func(p netip.Prefix) bool { return p.Contains(remote) })
}

// address returns the address of the client.
func (g *Gate) address(r *http.Request) netip.Addr {
	remote := addressOf(r.RemoteAddr)
	if !g.trusted(r) {
		return remote
	}
	lines := r.Header.Values("X-Forwarded-For")
	if len(lines) == 0 {
		return remote
	}
	entries := strings.Split(lines[len(lines)-1], ",")
	last := strings.TrimSpace(entries[len(entries)-1])
	if address, err := netip.ParseAddr(last); err == nil {
		return address.Unmap().WithZone("")
	}
	if address := addressOf(last); address.IsValid() {
		return address
	}
	return remote
}
