package accesslog

import (
	"bytes"
	"slices"
	"time"

	"skidway/distribute/accesslog/internal/lex"
)

// A FieldSet is a set of fields.
type FieldSet uint32

// Fields returns the set of some fields.
func Fields(list ...Field) FieldSet {
	var set FieldSet
	for _, f := range list {
		set |= 1 << f
	}
	return set
}

// Has reports whether a field is in the set.
func (s FieldSet) Has(f Field) bool { return s&(1<<f) != 0 }

// Values are the fields of the line that a [Parser] has parsed last. They are valid until
// its next call, and as long as that line is not changed.
type Values struct {
	raw  values
	unit time.Duration // of a duration that is a number; zero: a second, or by its notation
	// The zones of times that have none, as in a calendar.
	local, stated *time.Location
	order         dateOrder
}

// Get returns a field as it is written in the line, without its quotes, and with what the
// server escaped. It reports whether the line has the field: an empty value is one, and "-",
// with which servers write that there is none, is none. [Method], [Path] and [Protocol] may
// be parts of [Request], and [Host] one of a path that is a whole URL or an authority, see [IsAuthority].
func (v *Values) Get(f Field) (value []byte, ok bool) {
	value = v.raw[f]
	if value == nil {
		switch f {
		case Method: // as splitRequest, which searches for all parts
			if end := bytes.IndexByte(v.raw[Request], ' '); end > 0 {
				value = v.raw[Request][:end]
			}
		case Path:
			_, value, _ = splitRequest(v.raw[Request])
		case Protocol:
			_, _, value = splitRequest(v.raw[Request])
		case Host:
			path, _ := v.Get(Path)
			value = hostOf(path)
		}
	}
	return value, value != nil && string(value) != "-"
}

// IsAuthority reports whether the target of a request is a host with a port, as that of a CONNECT
// (RFC 9112, 3.2.3): it has no path.
func IsAuthority(target []byte) bool {
	if len(target) == 0 || target[0] == '/' || bytes.ContainsAny(target, "/?#") {
		return false
	}
	port := target[bytes.LastIndexByte(target, ':')+1:]
	if len(port) == 0 || len(port) > 5 || len(port)+1 >= len(target) {
		return false
	}
	return !slices.ContainsFunc(port, func(c byte) bool { return c < '0' || c > '9' })
}

// hostOf returns the host of a URL, perhaps with a port; nil if it is a path alone.
func hostOf(url []byte) []byte {
	if IsAuthority(url) {
		return url
	}
	scheme, host, found := bytes.Cut(url, []byte("://"))
	if !found || len(scheme) == 0 || bytes.ContainsAny(scheme, "/?#") {
		return nil
	}
	if end := bytes.IndexAny(host, "/?# "); end >= 0 {
		host = host[:end]
	}
	return host
}

// splitRequest cuts a request line into its parts, which are nil if it has none: a path
// may have blanks, and clients send requests that are none.
func splitRequest(request []byte) (method, path, protocol []byte) {
	method, path, found := bytes.Cut(request, []byte(" "))
	if !found || len(method) == 0 {
		return nil, nil, nil
	}
	if last := bytes.LastIndexByte(path, ' '); last >= 0 && bytes.HasPrefix(path[last+1:], []byte("HTTP/")) {
		path, protocol = path[:last], path[last+1:]
	}
	if string(method) == "-" { // what a balancer writes of a request that is none: "- http://host:80- -", "- - -"
		if path = bytes.TrimRight(path, "- "); len(path) == 0 {
			return nil, nil, nil
		}
	}
	return method, path, protocol
}

// An Instant is the time of a line, as far as it is written there.
type Instant struct {
	Unix   int64 // in seconds since 1970; if Zoned is false, as if the clock was that of UTC
	Nanos  int   // the fraction of a second
	Offset int   // of the clock that was written, in seconds east of UTC
	Zoned  bool  // it has a zone, or the format or [Options].Local defines it
	Dated  bool  // only a date is written
}

// Time returns the line's time and whether it has one.
func (v *Values) Time() (Instant, bool) {
	var w written
	var ok bool
	if v.raw[Date] != nil && v.raw[Clock] != nil {
		w, ok = v.twoFields()
	} else {
		w, ok = readTime(v.raw[Time], v.order)
	}
	if !ok {
		return Instant{}, false
	}
	if local := v.zone(); !w.zoned && local != nil {
		_, seconds := localTime(w.date, w.minute, local).Zone()
		w.offset, w.zoned = seconds/60, true
	}
	unix := int64(w.date)*secondsPerDay + int64(w.minute-w.offset)*60 + int64(w.second)
	return Instant{unix, w.nanos, w.offset * 60, w.zoned, w.dateOnly}, true
}

// zone returns the zone of times that are written without one; nil if it is not known.
func (v *Values) zone() *time.Location {
	if v.raw[clockZone] != nil {
		return v.stated
	}
	return v.local
}

// twoFields reads a time whose date and time of day are two fields.
func (v *Values) twoFields() (w written, ok bool) {
	date, ok := twoFieldDate(v.raw[Date], v.order)
	if !ok {
		return w, false
	}
	if w, ok = readClock(padClock(v.raw[Clock], new([clockLen]byte))); !ok {
		return w, false
	}
	w.date = date
	if !w.zoned && v.raw[clockZone] != nil {
		w.offset, w.zoned = lex.UTCOffset(v.raw[clockZone])
	}
	return w, true
}

// Status returns the status of HTTP, and whether the request had an answer.
func (v *Values) Status() (int, bool) {
	if value := v.raw[Status]; len(value) == 3 {
		if a, b, c := value[0]-'0', value[1]-'0', value[2]-'0'; a <= 9 && b <= 9 && c <= 9 {
			status := int(a)*100 + int(b)*10 + int(c)
			return status, status > 0
		}
	}
	value, ok := v.Get(Status)
	value = value[bytes.LastIndexByte(value, ' ')+1:] // of those of several servers, the last one
	if !ok || len(value) == 0 || len(value) > 3 {
		return 0, false
	}
	status := lex.Number(value)
	return status, status > 0
}

// Bytes returns the number of bytes that were sent.
func (v *Values) Bytes() (int64, bool) {
	value, ok := v.Get(Bytes)
	value = bytes.TrimPrefix(value, []byte("+")) // HAProxy: more was sent later
	if !ok || len(value) == 0 || len(value) > 18 {
		return 0, false
	}
	n := lex.Number(value)
	return int64(n), n >= 0
}

// Duration returns how long the request took, to the microsecond.
func (v *Values) Duration() (time.Duration, bool) {
	if v.raw[ended] != nil {
		return v.untilEnd()
	}
	var sum time.Duration
	found := false
	for _, f := range [...]Field{Duration, duration2, duration3} {
		value := v.raw[f]
		if value == nil {
			continue
		}
		d, ok := readDuration(value, v.unit)
		if !ok {
			return 0, false
		}
		sum, found = sum+d, true
	}
	return sum.Truncate(time.Microsecond), found
}

// untilEnd returns the time between the two times of a line.
func (v *Values) untilEnd() (time.Duration, bool) {
	start, ok := readTime(v.raw[Time], v.order)
	end, hasEnd := readTime(v.raw[ended], v.order)
	if !ok || !hasEnd {
		return 0, false
	}
	seconds := int64(end.date-start.date)*secondsPerDay + int64(end.minute-end.offset-start.minute+start.offset)*60 + int64(end.second-start.second)
	d := time.Duration(seconds)*time.Second + time.Duration(end.nanos-start.nanos)
	return d.Truncate(time.Microsecond), d >= 0
}

// durationUnits are the notations of units behind a duration.
var durationUnits = [...]struct {
	suffix string
	unit   time.Duration
}{
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"µs", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second},
}

// readDuration reads a number of units, or with a unit behind it. If unit is zero, it is
// that of W3C logs: IIS writes whole milliseconds, other servers seconds with a fraction.
func readDuration(b []byte, unit time.Duration) (time.Duration, bool) {
	b = bytes.TrimPrefix(b, []byte("+"))
	for _, u := range durationUnits {
		if digits, ok := bytes.CutSuffix(b, []byte(u.suffix)); ok {
			b, unit = digits, u.unit
			break
		}
	}
	whole, fraction, hasFraction := bytes.Cut(b, []byte("."))
	if unit == 0 {
		unit = time.Millisecond
		if hasFraction {
			unit = time.Second
		}
	}
	n := lex.Number(whole)
	if n < 0 && len(b) < len("1000000h00m00.000000000s") { // as Go writes more than a minute, without its s
		if d, err := time.ParseDuration(string(b) + "s"); err == nil && d >= 0 && d <= maxDuration && unit == time.Second {
			return d, true
		}
	}
	if len(whole) == 0 || len(whole) > 18 || n < 0 || time.Duration(n) > maxDuration/unit || hasFraction && lex.Number(fraction) < 0 {
		return 0, false
	}
	return time.Duration(n)*unit + time.Duration(nanoseconds(fraction))*unit/time.Second, true
}

const maxDuration = 365 * 24 * time.Hour

// nanoseconds reads the digits behind the point of a number of seconds.
func nanoseconds(digits []byte) (n int) {
	for i := range len("123456789") {
		n *= 10
		if i < len(digits) {
			n += int(digits[i] - '0')
		}
	}
	return n
}
