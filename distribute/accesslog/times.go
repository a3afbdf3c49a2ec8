package accesslog

import "bytes"

// A timeReader reads times in the notations of access logs:
//
//	10/Oct/2000:13:55:36 -0700    also with a blank after the year, and without the offset
//	2000-10-10T13:55:36-07:00     RFC 3339 and ISO 8601, also with a blank for the T, and
//	                              also the date alone; with slashes in the date
//	971211336                     seconds since 1970, also milliseconds (13 digits),
//	                              microseconds (16) and nanoseconds (19)
//
// Seconds may have a fraction. A timeReader remembers the last time: when only
// digits of its seconds differ, so does nothing else.
type timeReader struct {
	calendar calendar

	last    []byte // the last time that was read
	seconds int    // where its seconds start; len(last) if a shortcut is not possible
	after   int    // and where what follows them, and their fraction, starts
	day     Day    // on which it was
}

func newTimeReader(o Options) timeReader {
	return timeReader{calendar: newCalendar(o)}
}

// read returns the day of a time, all of b, and whether it is one.
func (r *timeReader) read(b []byte) (Day, bool) {
	if r.sameMinute(b) {
		return r.day, true
	}
	day, seconds, ok := r.convert(b)
	if !ok {
		return 0, false
	}
	r.remember(b, seconds, day)
	return day, true
}

// sameMinute reports whether b is the last time but for digits of the seconds.
func (r *timeReader) sameMinute(b []byte) bool {
	if len(b) != len(r.last) || r.seconds >= len(b) ||
		string(b[:r.seconds]) != string(r.last[:r.seconds]) || string(b[r.after:]) != string(r.last[r.after:]) {
		return false
	}
	if s := number(b[r.seconds : r.seconds+2]); s < 0 || s > 60 {
		return false
	}
	for i := r.seconds + 2; i < r.after; i++ {
		if digit := b[i]-'0' <= 9; digit != (r.last[i]-'0' <= 9) || !digit && b[i] != r.last[i] {
			return false
		}
	}
	return true
}

// remember notes a time whose seconds start at an offset; -1: it has none of two digits.
func (r *timeReader) remember(b []byte, seconds int, day Day) {
	r.last, r.day, r.seconds, r.after = append(r.last[:0], b...), day, len(b), len(b)
	if seconds < 0 {
		return
	}
	rest, _ := afterSeconds(b[seconds:])
	r.seconds, r.after = seconds, len(b)-len(rest)
}

// convert reads a time in any notation. seconds is where its seconds start; -1 if
// it has none of two digits.
func (r *timeReader) convert(b []byte) (day Day, seconds int, ok bool) {
	w, ok := readTime(b)
	if !ok {
		return 0, -1, false
	}
	return r.calendar.of(w), w.seconds, true
}

// A written time is one as it stands in a line.
type written struct {
	date                  Day
	minute, second, nanos int // of the day, of the minute, of the second
	offset                int // from UTC in minutes
	zoned                 bool
	dateOnly              bool
	seconds               int // where the seconds start; -1 if there are none of two digits
}

// readTime reads a time in any notation.
func readTime(b []byte) (written, bool) {
	switch {
	case len(b) >= len("10/Oct/2000:13:55:36") && b[2] == '/' && b[6] == '/' && (b[11] == ':' || b[11] == ' '):
		date, ok := dateDay(number(b[7:11]), monthNumber(b[3:6]), number(b[:2]))
		return withClock(b, date, 12, ok)
	case len(b) >= len("2000-10-10T13:55") && b[4] == '-' && b[7] == '-' && (b[10] == 'T' || b[10] == ' '):
		date, ok := isoDate(b[:dateLen])
		return withClock(b, date, 11, ok)
	case len(b) >= len("2000/10/10 13:55") && b[4] == '/' && b[7] == '/' && b[10] == ' ':
		date, ok := dateDay(number(b[:4]), number(b[5:7]), number(b[8:10]))
		return withClock(b, date, 11, ok)
	case len(b) == dateLen && b[4] == '-':
		date, ok := isoDate(b)
		return written{date: date, dateOnly: true, seconds: -1}, ok
	}
	return sinceEpoch(b)
}

// withClock reads the time of day at b[at:], which belongs to the date if that is valid.
func withClock(b []byte, date Day, at int, valid bool) (written, bool) {
	if !valid {
		return written{}, false
	}
	w, ok := readClock(b[at:])
	w.date = date
	if w.seconds >= 0 {
		w.seconds += at
	}
	return w, ok
}

// readClock reads a time of day as clockTime does.
func readClock(b []byte) (w written, ok bool) {
	w.seconds = -1
	if w.minute, w.offset, w.zoned, ok = clockTime(b); !ok {
		return w, false
	}
	if at := len("15:04:"); at < len(b) && b[at-1] == ':' {
		w.seconds, w.second = at, number(b[at:at+2])
		rest, _ := afterSeconds(b[at:])
		if fraction := b[at+2 : len(b)-len(rest)]; len(fraction) > 0 {
			w.nanos = nanoseconds(fraction[1:])
		}
	}
	return w, true
}

// sinceEpoch reads the seconds since 1970, or a thousandth, millionth or billionth
// of them, by the number of digits.
func sinceEpoch(b []byte) (w written, ok bool) {
	whole, fraction, hasFraction := bytes.Cut(b, []byte("."))
	if hasFraction && number(fraction) < 0 {
		return w, false
	}
	switch len(whole) {
	case 10:
	case 13, 16, 19:
		if number(whole[10:]) < 0 {
			return w, false
		}
		whole, fraction = whole[:10], whole[10:]
	default:
		return w, false
	}
	seconds := number(whole)
	if seconds < 0 {
		return w, false
	}
	return written{
		date: Day(seconds / secondsPerDay), minute: seconds / 60 % minutesPerDay, second: seconds % 60,
		nanos: nanoseconds(fraction), zoned: true, seconds: -1,
	}, true
}

// isoDate reads b, which is dateLen long, as a date written as 2006-01-02.
func isoDate(b []byte) (Day, bool) {
	if b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	return dateDay(number(b[:4]), number(b[5:7]), number(b[8:]))
}

// readTwo returns the day of a time whose date and time of day are two fields, and
// whether they are. zone is the offset of such times from UTC, as #GMT-Offset has it: nil
// if the format defines their zone, and empty if it is not known.
func (r *timeReader) readTwo(date, clock, zone []byte) (Day, bool) {
	if len(date) == 0 || string(date) != string(r.last) {
		day, ok := twoFieldDate(date)
		if !ok {
			return 0, false
		}
		r.remember(date, -1, day)
	}
	var padded [clockLen]byte
	minute, offset, hasOffset, ok := clockTime(padClock(clock, &padded))
	if !ok {
		return 0, false
	}
	local := r.calendar.local
	if zone != nil && !hasOffset {
		local = r.calendar.stated
		offset, hasOffset = utcOffset(zone)
	}
	if hasOffset {
		return r.calendar.in(r.day, minute, offset), true
	}
	return r.calendar.inZone(r.day, minute, local), true
}

const clockLen = len("01:02:03")

// padClock returns a time of day with two digits for the hour: IIS writes one before ten.
func padClock(clock []byte, padded *[clockLen]byte) []byte {
	if len(clock) != clockLen-1 {
		return clock
	}
	padded[0] = '0'
	copy(padded[1:], clock)
	return padded[:]
}

// twoFieldDate reads a date as columnDate does, or written as 1/2/06 or 01/02/2006, the
// month first.
func twoFieldDate(b []byte) (Day, bool) {
	if day, ok := columnDate(b); ok {
		return day, true
	}
	return americanDate(b)
}

// americanDate reads a date written as 1/2/06 or 01/02/2006, the month first.
func americanDate(b []byte) (Day, bool) {
	if len(b) > len("01/02/2006") {
		return 0, false
	}
	month, rest, _ := bytes.Cut(b, []byte("/"))
	day, year, found := bytes.Cut(rest, []byte("/"))
	n := number(year)
	switch {
	case !found || len(month) == 0 || len(day) == 0:
		return 0, false
	case len(year) == 2:
		n += 2000
	case len(year) != 4:
		return 0, false
	}
	return dateDay(n, number(month), number(day))
}
