package accesslog

import (
	"bytes"
	"net/netip"
)

// A Field is one of the values that a line of an access log can have.
type Field uint8

// The fields of a line. Which of them a format has, its definition says.
const (
	noField Field = iota
	Address       // of the client; in a list, the first public one counts
	Time          // with its date
	Date          // where date and time are two fields
	Clock         // the time of day that belongs to Date
	Status        // of HTTP
	Request       // method, path and protocol, where they are one field
	Method
	Host
	Path
	Protocol
	Referrer
	Agent
	User
	Bytes    // that were sent to the client
	Duration // of the request, in the format's own unit
	numFields
)

var fieldNames = [numFields]string{
	Address: "address", Time: "time", Date: "date", Clock: "clock", Status: "status", Request: "request",
	Method: "method", Host: "host", Path: "path", Protocol: "protocol", Referrer: "referrer", Agent: "agent",
	User: "user", Bytes: "bytes", Duration: "duration",
}

// String returns the field's name, such as "address".
func (f Field) String() string { return fieldNames[f] }

// values are the fields of a line as they are written in it; nil where the line
// has no such field.
type values [numFields][]byte

// A splitter cuts lines of a format into fields.
type splitter interface {
	// split sets the address and the time of a line, and with all every field.
	// It reports whether the line has the shape of the format; without all only
	// as far as it had to read.
	split(line []byte, v *values, all bool) Verdict
	// state returns what a splitter needs to go on behind the lines that it has seen.
	state() string
}

// fieldParser is the parser of formats whose lines a splitter cuts.
type fieldParser struct {
	splitter splitter
	times    timeReader
	values   values
	port     bool // as in [Format]
}

// Parse implements [Parser].
func (p *fieldParser) Parse(line []byte) (Record, Verdict) {
	verdict := p.splitter.split(line, &p.values, false)
	if verdict != Parsed {
		return Record{}, verdict
	}
	day, ok := p.values.day(&p.times)
	if !ok {
		return Record{}, Unparsable
	}
	if p.port {
		p.values[Address] = withoutPort(p.values[Address])
	}
	addr, ok := p.values.client()
	if !ok {
		return Record{}, Unparsable
	}
	return Record{Addr: addr, Day: day}, Parsed
}

// fits reports whether a line that was parsed has the shape of the format to its end,
// an address where the client is, or a sign that it has none, and a number where the
// status is, or a sign that there was no answer.
func (p *fieldParser) fits(line []byte) bool {
	if p.splitter.split(line, &p.values, true) != Parsed {
		return false
	}
	addr := p.values[Address]
	if p.port {
		addr = withoutPort(addr)
	}
	if !client(addr).IsValid() && string(addr) != "-" && string(addr) != "unix" && !bytes.HasPrefix(addr, []byte("unix:")) {
		return false
	}
	status := p.values[Status]
	return len(status) == 0 || status[0] == '-' || number(status) >= 0
}

// State implements [Parser].
func (p *fieldParser) State() string { return p.splitter.state() }

// day returns the day of the line's time.
func (v *values) day(times *timeReader) (Day, bool) {
	if v[Date] != nil && v[Clock] != nil {
		return times.readTwo(v[Date], v[Clock])
	}
	return times.read(v[Time])
}

// withoutPort cuts the port off an address.
func withoutPort(b []byte) []byte {
	if colon := bytes.LastIndexByte(b, ':'); colon > 0 && isPort(b[colon:]) {
		return b[:colon]
	}
	return b
}

// client returns the client's address, which is invalid if the field has none; ok
// reports whether there is such a field.
func (v *values) client() (addr netip.Addr, ok bool) {
	field := v[Address]
	if len(field) == 0 {
		return netip.Addr{}, false
	}
	if addr, n := ipv4(field); n == len(field) {
		return addr, true
	}
	return client(field), true
}
