package access

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"skidway/queue"
)

func TestServersAreClosedByDefault(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		listener Listener
		gate     GateConfig
		want     string // part of the error; empty: it may be opened
	}{
		"default":                      {Listener{Address: DefaultAddress, Pages: true}, GateConfig{}, ""},
		"IPv6 loopback":                {Listener{Address: "[::1]:8470", Pages: true}, GateConfig{NoLogin: true}, ""},
		"localhost":                    {Listener{Address: "localhost:8470", Pages: true}, GateConfig{}, ""},
		"all addresses":                {Listener{Address: ":8470"}, GateConfig{}, "--tls-cert"},
		"any IPv4":                     {Listener{Address: "0.0.0.0:8470"}, GateConfig{}, "--tls-cert"},
		"any IPv6":                     {Listener{Address: "[::]:8470"}, GateConfig{}, "--tls-cert"},
		"a name":                       {Listener{Address: "localhost.example:8470"}, GateConfig{}, "--tls-cert"},
		"API with TLS":                 {Listener{Address: ":8470", TLSCert: "c", TLSKey: "k"}, GateConfig{}, ""},
		"API behind TLS":               {Listener{Address: ":8470"}, GateConfig{BehindTLS: true}, ""},
		"half of TLS":                  {Listener{Address: DefaultAddress, TLSCert: "c"}, GateConfig{}, "both"},
		"TLS twice":                    {Listener{Address: ":8470", TLSCert: "c", TLSKey: "k"}, GateConfig{BehindTLS: true}, "either"},
		"pages without users":          {Listener{Address: ":8470", TLSCert: "c", TLSKey: "k", Pages: true}, GateConfig{}, "--users"},
		"pages with users":             {Listener{Address: ":8470", TLSCert: "c", TLSKey: "k", Pages: true, UsersFile: "u"}, GateConfig{}, ""},
		"no login off loopback":        {Listener{Address: ":8470", TLSCert: "c", TLSKey: "k"}, GateConfig{NoLogin: true}, "--no-login"},
		"no login behind a proxy":      {Listener{Address: DefaultAddress}, GateConfig{NoLogin: true, BehindTLS: true}, "proxy"},
		"no login with a proxy":        {Listener{Address: DefaultAddress}, GateConfig{NoLogin: true, Proxies: proxies}, "proxy"},
		"no login with users":          {Listener{Address: DefaultAddress, UsersFile: "u"}, GateConfig{NoLogin: true}, "either"},
		"header without users":         {Listener{Address: DefaultAddress}, GateConfig{AuthHeader: "X-User", Proxies: proxies}, "--users"},
		"header without proxy":         {Listener{Address: DefaultAddress, UsersFile: "u"}, GateConfig{AuthHeader: "X-User"}, "--proxy"},
		"header of credentials":        {Listener{Address: DefaultAddress, UsersFile: "u"}, GateConfig{AuthHeader: "Authorization", Proxies: proxies}, "header"},
		"header that is none":          {Listener{Address: DefaultAddress, UsersFile: "u"}, GateConfig{AuthHeader: "X User", Proxies: proxies}, "header"},
		"no port":                      {Listener{Address: "127.0.0.1"}, GateConfig{}, "HOST:PORT"},
		"base path without slash":      {Listener{Address: DefaultAddress}, GateConfig{BasePath: "x"}, "base path"},
		"base path with slash behind":  {Listener{Address: DefaultAddress}, GateConfig{BasePath: "/x/"}, "base path"},
		"base path with a step up":     {Listener{Address: DefaultAddress}, GateConfig{BasePath: "/x/.."}, "base path"},
		"base path of another server":  {Listener{Address: DefaultAddress}, GateConfig{BasePath: "//x"}, "base path"},
		"base path with special signs": {Listener{Address: DefaultAddress}, GateConfig{BasePath: "/a b"}, "base path"},
		"base path":                    {Listener{Address: DefaultAddress}, GateConfig{BasePath: "/a/b-c"}, ""},
		"host with port":               {Listener{Address: DefaultAddress}, GateConfig{Hosts: []string{"a:1"}}, "host"},
	} {
		err := c.listener.Validate(c.gate)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for text, want := range map[string]string{"10.0.0.1": "10.0.0.1/32", "10.1.2.3/8": "10.0.0.0/8", "::1": "::1/128", "fe80::1%eth0": "fe80::1/128"} {
		if prefix, err := ParseProxy(text); err != nil || prefix.String() != want {
			t.Errorf("proxy %s is %v, %v", text, prefix, err)
		}
	}
	for _, text := range []string{"", "x", "10.0.0.0/33", "10.0.0.0/8 "} {
		if _, err := ParseProxy(text); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("proxy %q: %v", text, err)
		}
	}
}
