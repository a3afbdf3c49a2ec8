package accesslog

import "bytes"

// vhost is the Combined Log Format behind the host that was asked, with or
// without its port: Debian's vhost_combined. Referer and user agent may be
// missing (Apache's "common with virtual host").
var vhost = Format{
	name:        "vhost",
	aliases:     []string{"vhost-combined"},
	description: "virtual host first, then as in combined or common: Apache's vhost_combined",
	example:     `www.example.org:443 203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`,
	parser:      newCLFVhost,
	fits:        isVhost,
}

// isVhost tells whether the line starts with a host field and goes on with an
// address: a name with a port, whatever follows; without one, a name that is
// followed by an address. An address or "-" that is followed by an address is
// rather a forwarding header, which the combined format reads.
func isVhost(line []byte) bool {
	line = trimStart(line)
	at := findStamp(line)
	if at < 0 || countFields(line[:at]) < 4 {
		return false
	}
	host, rest, comma := nextToken(line[:at])
	if comma || line[0] == '"' {
		return false
	}
	if hasPort(host) {
		return true
	}
	second, _, _ := nextToken(rest)
	return !address(host).IsValid() && string(host) != "-" && address(second).IsValid()
}

// hasPort tells whether a host field is a host and a port. A bare IPv6
// address, whose last group may look like a port, has none.
func hasPort(host []byte) bool {
	colon := bytes.LastIndexByte(host, ':')
	return colon > 0 && isPort(host[colon:]) &&
		(host[colon-1] == ']' || bytes.IndexByte(host, ':') == colon)
}
