package wrappers

import "bytes"

// compose is what docker compose prints.
var compose = Wrapper{
	Name:          "compose",
	Description:   "docker compose: the name of the service and a bar",
	Specification: "https://docs.docker.com/reference/cli/docker/compose/logs/",
	Example:       `web-1  | …`,
	Real: []Line{{
		Origin: "README of an Express application behind nginx, GitHub",
		Text:   `express-app-nginx-1  | 172.19.0.1 - - [22/Oct/2021:15:34:09 +0000] "GET / HTTP/1.1" 200 13 "-" "curl/7.64.1" "-"`,
		Inner:  `172.19.0.1 - - [22/Oct/2021:15:34:09 +0000] "GET / HTTP/1.1" 200 13 "-" "curl/7.64.1" "-"`,
	}},
	Peel: peelCompose,
}

func peelCompose(line, buffer []byte) (Record, bool) {
	name, rest, found := bytes.Cut(line, []byte(" |"))
	if !found || len(name) > 200 || len(rest) > 0 && rest[0] == '|' {
		return Record{}, false // two bars separate the fields of a layout
	}
	name = bytes.TrimRight(withoutColour(name), " ")
	if bytes.ContainsAny(name, " \t\"[{:") || len(bytes.Trim(name, "0123456789.")) == 0 {
		return Record{}, false // an address, and no name
	}
	return Record{Inner: withoutColour(bytes.TrimPrefix(rest, []byte(" "))), Buffer: buffer}, true
}

// withoutColour cuts the escape sequence for a colour off the start of b, if there is one.
func withoutColour(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("\x1b[")) {
		return b
	}
	if end := bytes.IndexByte(b, 'm'); end >= 0 {
		return b[end+1:]
	}
	return b
}
