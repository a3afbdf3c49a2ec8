package accesslog

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"skidway/distribute/accesslog/internal/lex"
)

// A dateOrder is the order of the numbers of a date that ends with the year. Nothing in a line
// tells it: 03/04/2025 is a day in April or in March.
type dateOrder uint8

const (
	unknownOrder dateOrder = iota // only dates with dots, whose day is first, are read
	dayFirst
	monthFirst
)

// maxMoment is the length of the longest time that readMoment reads, in bytes.
const maxMoment = 56

// readMoment reads the times that applications write in notations of their own: a date, and a time
// of day behind it or before its year.
//
//	10.10.2025 13:55:36               also with slashes or hyphens, if the order is known
//	2025.10.10 13:55, 20251010T135536Z, 20251010135536
//	10-Oct-2025 13:55:36.123, 10 Oct 2025 13:55:36 +0200, Fri, 10 Oct 2025 13:55:36 GMT
//	Oct 10, 2025 1:55:36 PM, Fri Oct 10 13:55:36 CEST 2025
//	2025-10-10 13:55:36 +0200 CEST as Go, 2025-10-10T13:55:36+02:00[Europe/Berlin], 1.760104536123E9 as Java
func readMoment(b []byte, order dateOrder) (w written, ok bool) {
	w.seconds = -1
	if len(b) < len("1/1/25 1:55") || len(b) > maxMoment {
		return w, false
	}
	if w, ok := compactMoment(b); ok {
		return w, true
	}
	if b[1] == '.' {
		return floatEpoch(b)
	}
	if name := bytes.IndexByte(b, '['); name > 0 && b[len(b)-1] == ']' && zonedByNumber(b[:name]) {
		b = b[:name]
	}
	hour, colon := clockPlace(b)
	if colon < 0 {
		return w, false
	}
	date, rest := b[:hour], b[colon+1:]
	h, m := lex.Number(b[hour:colon]), lex.Number(rest[:2])
	if rest = rest[2:]; len(rest) > 0 && rest[0] == ':' {
		w.seconds = len(b) - len(rest) + 1
		if rest, ok = w.setSeconds(b); !ok {
			return w, false
		}
	}
	year, half, ok := w.setTail(rest)
	if half != 0 {
		if h < 1 || h > 12 {
			return w, false
		}
		h = h%12 + int(half-1)*12
	}
	if !ok || h > 23 || m < 0 || m > 59 {
		return w, false
	}
	w.minute = h*60 + m
	w.date, ok = freeDate(bytes.TrimRight(date, " T_-:,"), year, order)
	return w, ok
}

// clockPlace returns where the hour of a time of day begins, of one or two digits, and the colon
// behind it, which two digits follow; -1 if there is none.
func clockPlace(b []byte) (hour, colon int) {
	for colon = 0; ; colon++ {
		n := bytes.IndexByte(b[colon:], ':')
		if n < 0 || colon+n+3 > len(b) {
			return -1, -1
		}
		colon += n
		hour = colon
		for hour > 0 && b[hour-1]-'0' <= 9 {
			hour--
		}
		if digits := colon - hour; digits >= 1 && digits <= 2 && hour > 0 {
			return hour, colon
		}
	}
}

// setSeconds sets the seconds, with or without a fraction, at the place of b that is known, and
// returns what follows.
func (w *written) setSeconds(b []byte) (rest []byte, ok bool) {
	rest, ok = lex.AfterSeconds(b[w.seconds:])
	if !ok {
		return nil, false
	}
	w.second = lex.Number(b[w.seconds : w.seconds+2])
	if fraction := b[w.seconds+2 : len(b)-len(rest)]; len(fraction) > 0 {
		w.nanos = nanoseconds(fraction[1:])
	}
	return rest, true
}

// setTail reads what may follow a time of day, each once: AM (half is 1) or PM (2), a zone, the name of
// its offset, a year.
func (w *written) setTail(rest []byte) (year []byte, half byte, ok bool) {
	named := false // the zone has its name
	for len(rest) > 0 {
		rest = bytes.TrimPrefix(rest, []byte(" "))
		word := rest
		if end := bytes.IndexByte(rest, ' '); end >= 0 {
			word = rest[:end]
		}
		rest = rest[len(word):]
		offset, zoned := zoneOffset(word)
		switch {
		case zoned && !w.zoned:
			w.offset, w.zoned = offset, true
			named = len(word) < len("+0200")
		case w.zoned && !named && (zoned || slices.Contains(offsetNames, string(word))): // of the offset
			named = true
		case len(word) == 2 && half == 0 && !w.zoned && year == nil && lex.Lower(word[1]) == 'm' && lex.Lower(word[0]) == 'a':
			half = 1
		case len(word) == 2 && half == 0 && !w.zoned && year == nil && lex.Lower(word[1]) == 'm' && lex.Lower(word[0]) == 'p':
			half = 2
		case len(word) == 4 && year == nil && lex.Number(word) > 0:
			year = word
		default:
			return nil, 0, false
		}
	}
	return year, half, true
}

// zones are the names of zones that RFC 5322 defines, and those of Central Europe, with their offsets
// from UTC in hours. Other names stand for several zones.
var zones = map[string]int{
	"UTC": 0, "GMT": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	"CET": 1, "CEST": 2,
}

// zoneOffset reads an offset from UTC, also in hours, or the name of a zone, as minutes.
func zoneOffset(word []byte) (minutes int, ok bool) {
	if len(word) == len("+02") && (word[0] == '+' || word[0] == '-') {
		return lex.SignedMinutes(word[0], word[1:], []byte("00"))
	}
	if minutes, ok = lex.UTCOffset(word); ok {
		return minutes, true
	}
	hours, ok := zones[string(word)]
	return hours * 60, ok
}

// offsetNames are further names of zones, which are read only behind their offset.
var offsetNames = []string{"WET", "WEST", "BST", "EET", "EEST", "MSK", "IST", "HKT", "SGT", "JST", "KST", "AEST", "AEDT", "NZST", "NZDT"}

// zonedByNumber reports whether a time ends with Z or an offset from UTC, which the name of its zone may
// follow.
func zonedByNumber(b []byte) bool {
	const offset = "+02:00"
	if b[len(b)-1] == 'Z' {
		return true
	}
	_, ok := lex.UTCOffset(b[max(0, len(b)-len(offset)):])
	return ok
}

// floatEpoch reads the time since 1970 as sinceEpoch does, in the notation of floating-point numbers with
// an exponent.
func floatEpoch(b []byte) (w written, ok bool) {
	mantissa, exponent, found := bytes.Cut(b, []byte("E"))
	if !found {
		mantissa, exponent, found = bytes.Cut(b, []byte("e"))
	}
	point := lex.Number(bytes.TrimPrefix(exponent, []byte("+"))) + 1
	if !found || len(exponent) > len("+12") || point < epochLen || point > epochLen+9 || lex.Number(mantissa[:1]) < 0 {
		return w, false
	}
	var buffer [maxMoment + epochLen + 10]byte
	digits := append(append(buffer[:0], mantissa[0]), mantissa[2:]...)
	for len(digits) < point {
		digits = append(digits, '0')
	}
	return sinceEpoch(slices.Insert(digits, point, '.'))
}

// compactMoment reads a time without signs in its date and its time of day: 20251010135536, also with a
// T, a blank or a hyphen between, and a fraction and a zone behind.
func compactMoment(b []byte) (w written, ok bool) {
	w.seconds = 12
	date, clock := b[:8], b[8:]
	if lex.Number(date) < 0 {
		return w, false
	}
	if c := clock[0]; c == 'T' || c == ' ' || c == '-' || c == '_' {
		clock = clock[1:]
		w.seconds++
	}
	if len(clock) < 6 {
		return w, false
	}
	if w.minute, ok = lex.MinuteOfDay(clock[:2], clock[2:4]); !ok {
		return w, false
	}
	rest, ok := w.setSeconds(b)
	if !ok {
		return w, false
	}
	if year, half, ok := w.setTail(rest); !ok || year != nil || half != 0 {
		return w, false
	}
	w.date, ok = dateDay(lex.Number(date[:4]), lex.Number(date[4:6]), lex.Number(date[6:]))
	return w, ok && date[0]-'0' <= 2 // a number that is no date begins with any digit
}

// freeDate reads a date that a day of the week may stand before: of three numbers, or of two and an
// English month. The year is nil if it is one of them. One of two digits is of this century.
func freeDate(b, year []byte, order dateOrder) (Day, bool) {
	if end := bytes.IndexAny(b, ", "); end > 0 && isWeekday(b[:end]) {
		b = bytes.TrimLeft(b[end:], ", ")
	}
	if len(b) == len("20251010") && lex.Number(b) >= 0 && year == nil {
		return dateDay(lex.Number(b[:4]), lex.Number(b[4:6]), lex.Number(b[6:]))
	}
	var parts [3][]byte
	n, sign := 0, byte(0)
	for ; n < 2; n++ {
		end := bytes.IndexAny(b, " ./-,")
		if end <= 0 {
			break
		}
		parts[n], sign = b[:end], b[end]
		b = bytes.TrimLeft(b[end+1:], " ") // "Oct 10, 2025", "10. Oct 2025", "Oct  1"
	}
	switch {
	case n == 1 && year != nil:
		parts[1], parts[2] = b, year
	case n == 2 && year == nil:
		parts[2] = b
	default:
		return 0, false
	}
	return dateOfParts(parts, sign, order)
}

// dateOfParts reads a date by its parts, between which a sign stands.
func dateOfParts(parts [3][]byte, sign byte, order dateOrder) (Day, bool) {
	year, month, day := parts[2], parts[1], parts[0]
	switch {
	case len(parts[0]) == 4:
		year, day = parts[0], parts[2]
	case monthOf(parts[0]) > 0: // Oct 10
		month, day = parts[0], parts[1]
	case monthOf(parts[1]) > 0, sign == '.', order == dayFirst:
	case order == monthFirst:
		month, day = parts[0], parts[1]
	default:
		return 0, false
	}
	y, m, d := lex.Number(year), monthOf(month), lex.Number(day)
	if len(year) == 2 && y >= 0 {
		y += 2000
	} else if len(year) != 4 {
		return 0, false
	}
	if m == 0 && len(month) <= 2 && len(month) > 0 {
		m = lex.Number(month)
	}
	if len(day) == 0 || len(day) > 2 {
		return 0, false
	}
	return dateDay(y, m, d)
}

// monthOf returns the number of a month by its English name or its first three letters; 0 if it is none.
func monthOf(name []byte) int {
	if len(name) < 3 {
		return 0
	}
	m := lex.MonthNumber([]byte{name[0] &^ 0x20, name[1] | 0x20, name[2] | 0x20})
	if m > 0 && (len(name) == 3 || strings.EqualFold(string(name), time.Month(m).String())) {
		return m
	}
	return 0
}

// isWeekday reports whether a word is an English day of the week, or its first three letters.
func isWeekday(word []byte) bool {
	return slices.ContainsFunc(weekdays[:], func(name string) bool {
		return strings.EqualFold(string(word), name) || strings.EqualFold(string(word), name[:3])
	})
}

var weekdays = [7]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
