package accesslog

import (
	"bytes"
	"net/netip"
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
	if n == 0 || len(rest) == 0 || !isBlank(rest[0]) {
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
		return addr, rest, ok && len(rest) > 0 && isBlank(rest[0])
	}
}

// dayAt reads the day that b starts with, and the time if there is one.
func (p *minimalParser) dayAt(b []byte) (Day, bool) {
	if len(b) < dateLen || !p.readDate(b[:dateLen]) {
		return 0, false
	}
	date := p.day
	switch {
	case len(b) == dateLen || isBlank(b[dateLen]):
		return date, true
	case b[dateLen] != 'T':
		return 0, false
	}
	minute, offset, hasOffset, ok := clockTime(firstField(b[dateLen+1:]))
	if !hasOffset && ok {
		return p.calendar.inZone(date, minute, p.calendar.local), true
	}
	return p.calendar.in(date, minute, offset), ok
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
		if isBlank(c) {
			return b[:i]
		}
	}
	return b
}

// clockTime reads what follows the T of a time in RFC 3339 or ISO 8601, all of
// it: 15:04, 15:04:05 or 15:04:05.999, and then Z, +02:00, +0200 or nothing, perhaps
// with a blank before it.
func clockTime(b []byte) (minute, offset int, hasOffset, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, 0, false, false
	}
	if minute, ok = minuteOfDay(b[0:2], b[3:5]); !ok {
		return 0, 0, false, false
	}
	if b = b[5:]; len(b) > 0 && b[0] == ':' {
		if b, ok = afterSeconds(b[1:]); !ok {
			return 0, 0, false, false
		}
	}
	if len(b) == 0 {
		return minute, 0, false, true
	}
	if b[0] == ' ' {
		b = b[1:]
	}
	offset, ok = utcOffset(b)
	return minute, offset, ok, ok
}

// afterSeconds returns what follows the seconds, with or without a fraction,
// that b starts with.
func afterSeconds(b []byte) (rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, false
	}
	if seconds := number(b[:2]); seconds < 0 || seconds > 60 {
		return nil, false
	}
	b = b[2:]
	if len(b) == 0 || b[0] != '.' && b[0] != ',' {
		return b, true
	}
	digits := 1
	for digits < len(b) && b[digits]-'0' <= 9 {
		digits++
	}
	return b[digits:], digits > 1
}

// utcOffset reads an offset from UTC, all of b, as minutes.
func utcOffset(b []byte) (int, bool) {
	switch {
	case string(b) == "Z":
		return 0, true
	case len(b) == len("+02:00") && b[3] == ':':
		return signedMinutes(b[0], b[1:3], b[4:6])
	case len(b) == len("+0200"):
		return signedMinutes(b[0], b[1:3], b[3:5])
	}
	return 0, false
}
