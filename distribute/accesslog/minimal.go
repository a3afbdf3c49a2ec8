package accesslog

import (
	"bytes"
	"net/netip"

	"skidway/distribute/accesslog/internal/lex"
)

// minimalParser parses the minimal format. Its first field is an address, a
// list of addresses or "-". A host name is no address here: too many other
// logs start with a word and a date.
type minimalParser struct {
	wholeLines
	calendar calendar
	date     [dateLen]byte // the last valid one, as written
	day      Day           // that date's
	proxies  *proxyList
	scope    scope
	values   Values
}

const dateLen = len("2006-01-02")

func newMinimal(o Options) Parser {
	p := &minimalParser{calendar: newCalendar(o), proxies: newProxyList(o), scope: o.scope(), values: o.values(0)}
	copy(p.date[:], "1970-01-01") // which is Day 0
	return p
}

// Parse implements [Parser].
func (p *minimalParser) Parse(line []byte) (Record, Verdict) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	addr, n := ipv4(line)
	rest := line[n:]
	if n == 0 || len(rest) == 0 || !lex.IsBlank(rest[0]) {
		var ok bool
		if addr, rest, ok = addressList(trimStart(line), p.proxies); !ok {
			return Record{}, Unparsable
		}
	}
	rest = bytes.TrimLeft(rest, " \t")
	day, ok := p.dayAt(rest)
	if !ok {
		return Record{}, Unparsable
	}
	if p.scope != needed {
		p.values.raw = values{Address: line[:len(line)-len(rest)], Time: firstField(rest)}
	}
	return Record{Addr: addr, Day: day}, Parsed
}

// Values implements [Parser].
func (p *minimalParser) Values() *Values { return &p.values }

// State implements [Parser].
func (p *minimalParser) State() string { return "" }

// addressList reads the address field that line starts with and returns what
// follows it. ok reports whether the field is one: addresses or "-", quoted or
// not, or a list with at least one address.
func addressList(line []byte, proxies *proxyList) (addr netip.Addr, rest []byte, ok bool) {
	end := 0
	for {
		token, after, comma := nextToken(line[end:])
		end = len(line) - len(after)
		if comma {
			continue
		}
		addr = client(line[:end], proxies)
		rest = bytes.TrimLeft(after, `"`)
		ok = addr.IsValid() || string(token) == "-" || proxies.hide(line[:end])
		return addr, rest, ok && len(rest) > 0 && lex.IsBlank(rest[0])
	}
}

// dayAt reads the day that b starts with, and the time if there is one.
func (p *minimalParser) dayAt(b []byte) (Day, bool) {
	if len(b) < dateLen || !p.readDate(b[:dateLen]) {
		return 0, false
	}
	date := p.day
	switch {
	case len(b) == dateLen || lex.IsBlank(b[dateLen]):
		return date, true
	case b[dateLen] != 'T':
		return 0, false
	}
	minute, offset, hasOffset, ok := lex.ClockTime(firstField(b[dateLen+1:]))
	switch {
	case !ok:
		return 0, false
	case !hasOffset:
		return p.calendar.inZone(date, minute, p.calendar.local)
	}
	return p.calendar.in(date, minute, offset)
}

// readDate sets the parser's day to that of b, which is dateLen long, and reports
// whether b is a date.
func (p *minimalParser) readDate(b []byte) bool {
	if string(b) == string(p.date[:]) {
		return true
	}
	day, ok := isoDate(b)
	if ok {
		p.day = day
		copy(p.date[:], b)
	}
	return ok
}

func firstField(b []byte) []byte {
	for i, c := range b {
		if lex.IsBlank(c) {
			return b[:i]
		}
	}
	return b
}
