package cuts

import (
	"bytes"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/agents"
	"skidway/distribute/geo"
)

var continentIndex = func() (list [geo.Countries]string) {
	for i := range list {
		list[i] = continentOf(geo.CountryAt(i).String())
	}
	return list
}()

func appendStatus(b []byte, kind Kind, v *accesslog.Values) []byte {
	status, ok := v.Status()
	switch {
	case !ok || status < 100 || kind == StatusClass && status >= 600:
		return append(b, Missing...)
	case kind == StatusClass:
		return append(b, '0'+byte(status/100), 'x', 'x')
	}
	return strconv.AppendInt(b, int64(status), 10)
}

func appendAgent(b []byte, kind Kind, v *accesslog.Values) []byte {
	agent, ok := v.Get(accesslog.Agent)
	if !ok || len(agent) == 0 {
		return append(b, Missing...)
	}
	value := ""
	switch kind {
	case Browser:
		value = agents.Browser(agent)
	case Crawler:
		value, _ = agents.Match(agent)
	case CrawlerClass:
		_, value = agents.Match(agent)
	}
	if value == "" {
		value = Missing
	}
	return append(b, value...)
}

// append appends the value of a dimension of the origin of a line.
func (o *Origin) append(b []byte, kind Kind) []byte {
	text := o.File
	switch {
	case kind == ASN && o.Network == 0:
		return append(b, Missing...)
	case kind == ASN:
		return strconv.AppendUint(append(b, asnPrefix...), uint64(o.Network), 10)
	case kind == Format:
		text = o.Format
	}
	return append(b, Value([]byte(text))...)
}

// asnPrefix begins the numbers of autonomous systems.
const asnPrefix = "AS"

// appendText appends the value of a dimension that is a text of the line.
func appendText(b []byte, d Dimension, v *accesslog.Values) []byte {
	var text []byte
	switch d.Kind {
	case Method:
		text, _ = v.Get(accesslog.Method)
		if text = bytes.TrimSpace(text); len(text) > 0 && string(text) != Missing && !isMethod(text) {
			return append(b, invalidMethod...)
		}
	case Protocol:
		text, _ = v.Get(accesslog.Protocol)
		return append(b, protocolOf(text)...)
	case Host:
		text, _ = v.Get(accesslog.Host)
		text = hostOf(text)
	case ReferrerHost:
		referrer, _ := v.Get(accesslog.Referrer)
		text = hostOf(behindScheme(referrer))
	case Path:
		text, _ = v.Get(accesslog.Path)
		text = pathOf(text, d.Depth)
	}
	switch {
	case len(text) == 0 || string(text) == Missing:
		return append(b, Missing...)
	case isPlain(text):
		return append(b, text...)
	}
	return append(b, Value(text)...)
}

// invalidMethod is the value of a method that is none.
const invalidMethod = "(invalid)"

// isMethod reports whether a text has at most 16 letters and nothing else.
func isMethod(text []byte) bool {
	return len(text) <= 16 && !slices.ContainsFunc(text, func(c byte) bool { return c|0x20 < 'a' || c|0x20 > 'z' })
}

// protocolOf returns the name of a protocol, and Missing for another text. Azure's Front Door writes
// versions with four numbers, see
// https://learn.microsoft.com/en-us/azure/frontdoor/monitor-front-door.
func protocolOf(text []byte) string {
	switch string(text) {
	case "HTTP/1.0", "1.0.0.0":
		return "HTTP/1.0"
	case "HTTP/1.1", "1.1.0.0":
		return "HTTP/1.1"
	case "HTTP/2", "HTTP/2.0", "2.0.0.0":
		return "HTTP/2"
	case "HTTP/3", "HTTP/3.0", "3.0.0.0":
		return "HTTP/3"
	}
	return Missing
}

// behindScheme returns what follows the scheme that a URL begins with; nil if there is none.
func behindScheme(url []byte) []byte {
	for i, c := range url {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			if rest, found := bytes.CutPrefix(url[i:], []byte("://")); found && i > 0 {
				return rest
			}
			return nil
		}
	}
	return nil
}

// hostOf returns the host that a text begins with, up to the path: in lower case, without user,
// port and final dot.
func hostOf(text []byte) []byte {
	if end := bytes.IndexAny(text, "/?#"); end >= 0 {
		text = text[:end]
	}
	if at := bytes.LastIndexByte(text, '@'); at >= 0 {
		text = text[at+1:]
	}
	if colon := bytes.LastIndexByte(text, ':'); colon >= 0 && (colon == bytes.IndexByte(text, ':') || colon > 0 && text[colon-1] == ']') {
		text = text[:colon]
	}
	text = bytes.TrimSuffix(text, []byte("."))
	if slices.ContainsFunc(text, func(c byte) bool { return c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf }) {
		text = lower(text)
	}
	return text
}

// lower returns a text in lower case. Bytes that are not UTF-8 stay.
func lower(text []byte) []byte {
	low := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError {
			low = append(low, text[:size]...)
		} else {
			low = utf8.AppendRune(low, unicode.ToLower(r))
		}
		text = text[size:]
	}
	return low
}

// pathOf returns a path without scheme, host, query and fragment, and with so many names of it; 0:
// all. It is nil for the target of a CONNECT, which is a host.
func pathOf(text []byte, depth int) []byte {
	if len(text) > 0 && text[0] != '/' {
		if accesslog.IsAuthority(text) {
			return nil
		}
		if rest := behindScheme(text); rest != nil {
			start := bytes.IndexAny(rest, "/?#")
			if start < 0 || rest[start] != '/' {
				return []byte("/")
			}
			text = rest[start:]
		}
	}
	for _, c := range []byte("?#") { // faster than a search for both
		if end := bytes.IndexByte(text, c); end >= 0 {
			text = text[:end]
		}
	}
	for i := 1; depth > 0 && i < len(text); i++ {
		if text[i] == '/' {
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text
}
