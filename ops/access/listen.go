package access

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"skidway/queue"
)

// DefaultAddress is where the API and the dashboard listen.
const DefaultAddress = "127.0.0.1:8470"

// A Listener describes a server that is to be opened, for [Listener.Validate].
type Listener struct {
	Address         string // host and port
	TLSCert, TLSKey string // files
	Pages           bool   // whether it has the dashboard, where users log in
	UsersFile       string
}

// Loopback reports whether only this machine can reach the address. Of names only "localhost" is.
func (l Listener) Loopback() bool {
	name, _, err := net.SplitHostPort(l.Address)
	return err == nil && isLoopback(name)
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

// Validate returns an error, which wraps [queue.ErrInvalid], if a server with this gate would be open
// to others than it should be. Any address but a loopback one needs TLS, and pages there need users.
func (l Listener) Validate(c GateConfig) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", queue.ErrInvalid, fmt.Errorf(format, args...))
	}
	if _, _, err := net.SplitHostPort(l.Address); err != nil {
		return invalid("address %.100q: want HOST:PORT such as %s", l.Address, DefaultAddress)
	}
	tls := l.TLSCert != "" || l.TLSKey != ""
	switch {
	case tls && (l.TLSCert == "" || l.TLSKey == ""):
		return invalid("TLS needs both --tls-cert and --tls-key")
	case tls && c.BehindTLS:
		return invalid("--behind-tls is for a proxy that ends TLS: give either it or --tls-cert and --tls-key")
	case !l.Loopback() && !tls && !c.BehindTLS:
		return invalid("other machines can reach %s, so it needs --tls-cert and --tls-key, or --behind-tls", l.Address)
	case !l.Loopback() && l.Pages && l.UsersFile == "":
		return invalid("other machines can reach %s, so it needs --users", l.Address)
	case c.NoLogin && !l.Loopback():
		return invalid("--no-login is for loopback addresses, and other machines can reach %s", l.Address)
	case c.NoLogin && (c.BehindTLS || len(c.Proxies) > 0):
		return invalid("--no-login is not possible behind a proxy: all its requests are local")
	case c.NoLogin && l.UsersFile != "":
		return invalid("give either --no-login or --users")
	case c.AuthHeader != "" && l.UsersFile == "":
		return invalid("--auth-header names a user, so it needs --users")
	}
	return c.validate()
}

// validate returns an error if a value can't be used.
func (c GateConfig) validate() error {
	if c.BasePath != "" && (!strings.HasPrefix(c.BasePath, "/") || path.Clean(c.BasePath) != c.BasePath || c.BasePath == "/" || strings.Trim(c.BasePath, pathCharacters) != "") {
		return fmt.Errorf("%w: base path %.100q: want one such as /skidway", queue.ErrInvalid, c.BasePath)
	}
	for _, name := range c.Hosts {
		if name == "" || strings.Trim(name, hostCharacters) != "" {
			return fmt.Errorf("%w: host %.100q: want a name without port", queue.ErrInvalid, name)
		}
	}
	if c.AuthHeader != "" && len(c.Proxies) == 0 {
		return fmt.Errorf("%w: --auth-header is believed from a --proxy only", queue.ErrInvalid)
	}
	if forbidden := []string{"authorization", "cookie", "host", "origin", "x-forwarded-for"}; strings.Trim(c.AuthHeader, headerCharacters) != "" || slices.Contains(forbidden, strings.ToLower(c.AuthHeader)) {
		return fmt.Errorf("%w: header %.100q: want a name such as X-Forwarded-User", queue.ErrInvalid, c.AuthHeader)
	}
	return nil
}

const (
	headerCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	hostCharacters   = headerCharacters + "._"
	pathCharacters   = hostCharacters + "~/"
)

// ParseProxy parses an address of a proxy, or a network of them, such as "10.0.0.0/8".
func ParseProxy(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address.Unmap().WithZone(""), address.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("%w: proxy %.60q: want an address or a network such as 10.0.0.0/8", queue.ErrInvalid, text)
	}
	return prefix.Masked(), nil
}
