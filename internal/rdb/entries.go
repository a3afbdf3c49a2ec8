package rdb

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// EachEntry calls a function with the id and the fields of each entry of a reply to an
// XREADGROUP of one stream, in RESP2 or RESP3. What it passes is part of the reply. (The types
// of go-redis take a map, and several allocations, for each entry.) A reply that is an error has
// no entries.
func EachEntry(reply []byte, f func(id []byte, fields [][]byte)) error {
	if len(reply) > 0 && reply[0] == '-' {
		return nil
	}
	r := respReader{rest: reply}
	streams := r.length("*%")
	if streams <= 0 {
		return r.err // none, or nil
	}
	if reply[0] == '*' {
		r.length("*") // the name and the entries of the stream
	}
	r.text()
	var fields [][]byte
	for range max(0, r.length("*")) {
		r.length("*")
		id := r.text()
		fields = fields[:0]
		for n := r.length("*"); n > 0 && r.err == nil; n-- {
			fields = append(fields, r.text())
		}
		if r.err != nil {
			return r.err
		}
		f(id, fields)
	}
	return r.err
}

var crlf = []byte("\r\n")

// A respReader reads a reply in RESP. After an error its methods return zero values.
type respReader struct {
	rest []byte
	err  error
}

// length reads the length of a value of one of the types, -1 if it is nil.
func (r *respReader) length(types string) int {
	if r.err != nil {
		return 0
	}
	line, rest, found := bytes.Cut(r.rest, crlf)
	switch {
	case !found || len(line) == 0:
		r.err = fmt.Errorf("unexpected end of a reply")
		return 0
	case line[0] == '_':
		r.rest = rest
		return -1
	case strings.IndexByte(types, line[0]) < 0:
		r.err = fmt.Errorf("unexpected reply %.100q", line)
		return 0
	}
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil {
		r.err = fmt.Errorf("unexpected reply %.100q", line)
	}
	r.rest = rest
	return n
}

// text reads a text.
func (r *respReader) text() []byte {
	n := r.length("$")
	if r.err != nil || n < 0 {
		return nil
	}
	if n > len(r.rest)-2 {
		r.err = fmt.Errorf("unexpected end of a reply")
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n+2:]
	return text
}
