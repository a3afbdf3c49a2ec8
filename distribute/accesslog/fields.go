package accesslog

import (
	"bytes"
	"net/netip"

	"skidway/distribute/accesslog/internal/lex"
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
	Duration // of the request
	Country  // of the client, as a content delivery network or the server has it

	duration2 // what is added to Duration
	duration3
	ended     // the time at which the request ended
	logger    // that wrote the line
	clockZone // the offset of Clock from UTC; empty: it is not known
	numFields

	// The last ones are only for [ByKeys]: a Time, or a Date, of numbers without a dot between
	// that ends with the year.
	TimeDayFirst
	TimeMonthFirst
	DateDayFirst
	DateMonthFirst
	numKeyFields
)

var fieldNames = [numKeyFields]string{
	Address: "address", Time: "time", Date: "date", Clock: "clock", Status: "status", Request: "request",
	Method: "method", Host: "host", Path: "path", Protocol: "protocol", Referrer: "referrer", Agent: "agent",
	User: "user", Bytes: "bytes", Duration: "duration", Country: "country", duration2: "duration2", duration3: "duration3", ended: "ended",
	TimeDayFirst: "time_dmy", TimeMonthFirst: "time_mdy", DateDayFirst: "date_dmy", DateMonthFirst: "date_mdy",
}

// String returns the field's name, such as "address".
func (f Field) String() string { return fieldNames[f] }

// ordered returns the field of a line that a key is for, and the order of its date.
func (f Field) ordered() (Field, dateOrder) {
	switch f {
	case TimeDayFirst:
		return Time, dayFirst
	case TimeMonthFirst:
		return Time, monthFirst
	case DateDayFirst:
		return Date, dayFirst
	case DateMonthFirst:
		return Date, monthFirst
	}
	return f, unknownOrder
}

// values are the fields of a line as they are written in it; nil where the line
// has no such field.
type values [numFields][]byte

// neededFields are the fields that are read of every line.
var neededFields = Fields(Address, Time, Date, Clock, ended, logger)

// clear forgets the fields of the line before that a splitter may read again.
func (v *values) clear(s scope) {
	if s != needed {
		*v = values{}
		return
	}
	clear(v[:Clock+1])
	v[ended], v[logger], v[clockZone] = nil, nil, nil
}

// complete is the verdict on a line with these fields: it must have an address and a time.
func (v *values) complete() Verdict {
	if v[Address] == nil || v[Time] == nil && (v[Date] == nil || v[Clock] == nil) {
		return Unparsable
	}
	return Parsed
}

// hasRequest reports whether a line has the status, or a part of the request.
func (v *values) hasRequest() bool {
	for _, field := range [...]Field{Status, Request, Method, Path, Protocol, Referrer, Agent, Bytes, Duration} {
		if v[field] != nil {
			return true
		}
	}
	return false
}

// A scope is how much of a line a splitter reads.
type scope uint8

const (
	needed scope = iota // the address and the time
	wanted              // every field that the line has
	exact               // the same, and the line must have the format's shape to its end
)

// A splitter cuts lines of a format into fields.
type splitter interface {
	// split sets the fields of a line, and reports whether it has the address and the time;
	// with the scope exact, whether it has the shape of the format.
	split(line []byte, v *values, s scope) Verdict
	// state returns what a splitter needs to go on behind the lines that it has seen.
	state() string
}

// fieldParser is the parser of formats whose lines a splitter cuts.
type fieldParser struct {
	wholeLines
	splitter splitter
	scope    scope
	times    timeReader
	values   Values
	proxies  *proxyList
	port     bool // as in [Format]
	quick    *quickLayout
	columns  *columns // the splitter, if it is one and no more is asked for
}

// Parse implements [Parser].
func (p *fieldParser) Parse(line []byte) (Record, Verdict) {
	if q := p.quick; q != nil && q.hasHead(line) {
		var addr netip.Addr
		var n int
		if q.start != nil {
			addr, n = ipv4(line)
			if day, ok := q.start.read(line, n); ok && n > 0 {
				return Record{addr, day}, Parsed
			}
		}
		if record, ok := q.read(line, n, &p.times); ok {
			if q.start != nil {
				if record.Addr = addr; q.start.words > 0 {
					q.start.learn(line, n)
				}
			}
			return record, Parsed
		}
	}
	if p.columns != nil {
		if record, ok := p.columns.read(line, &p.times); ok {
			return record, Parsed
		}
	}
	v := &p.values.raw
	verdict := p.splitter.split(line, v, p.scope)
	if verdict != Parsed {
		if verdict == NotALine {
			p.times.both.clear() // another zone may hold from here on
		}
		return Record{}, verdict
	}
	day, ok := v.day(&p.times)
	if !ok {
		if o, isObjects := p.splitter.(*objects); isObjects && p.scope == needed && o.unescape(v[Time:Clock+1]) {
			day, ok = v.day(&p.times)
		}
	}
	if !ok {
		return Record{}, Unparsable
	}
	if (p.quick != nil || p.columns != nil) && v[Date] != nil && v[Clock] != nil {
		p.times.keepBoth(line, v[Date], v[Clock], day)
	}
	addr, ok := v.client(line, p.port, p.proxies)
	if !ok {
		return Record{}, Unparsable
	}
	return Record{Addr: addr, Day: day}, Parsed
}

// Values implements [Parser].
func (p *fieldParser) Values() *Values { return &p.values }

// fits reports whether a line that was parsed has the shape of the format to its end,
// an address where the client is, or a sign that it has none, and a number where the
// status is, or a sign that there was no answer.
func (p *fieldParser) fits(line []byte) bool {
	v := &p.values.raw
	if p.splitter.split(line, v, exact) != Parsed {
		return false
	}
	addr := v[Address]
	if p.port {
		addr = withoutPort(addr)
	}
	_, keyed := p.splitter.(*objects)
	empty := keyed && len(addr) == 0 && addr != nil // a key with an empty text is no accident
	if !empty && !client(addr, nil).IsValid() && string(addr) != "-" && string(addr) != "unix" && !bytes.HasPrefix(addr, []byte("unix:")) {
		return false
	}
	return isStatus(v[Status])
}

// isStatus reports whether a value is a status, a list of some, or a sign that there is none.
func isStatus(value []byte) bool {
	if first, _, found := bytes.Cut(value, []byte(", ")); found {
		value = first
	}
	return len(value) == 0 || value[0] == '-' || lex.Number(value) >= 0
}

// State implements [Parser].
func (p *fieldParser) State() string { return p.splitter.state() }

// day returns the day of the line's time.
func (v *values) day(times *timeReader) (Day, bool) {
	if v[Date] != nil && v[Clock] != nil {
		return times.readTwo(v[Date], v[Clock], v[clockZone])
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

// client returns the client's address, which is invalid if the field has none, or is empty; ok
// reports whether there is such a field. If port is true, it cuts a port off the field, which
// is in the line or not.
func (v *values) client(line []byte, port bool, proxies *proxyList) (addr netip.Addr, ok bool) {
	field := v[Address]
	if len(field) == 0 { // there is no client's address in an empty field
		return netip.Addr{}, field != nil
	}
	addr, n := ipv4In(line, field)
	switch {
	case n == len(field):
		return addr, true
	case port && n > 0 && isPort(field[n:]):
		v[Address] = field[:n]
		return addr, true
	case port:
		field = withoutPort(field)
		v[Address] = field
	}
	return client(field, proxies), true
}
