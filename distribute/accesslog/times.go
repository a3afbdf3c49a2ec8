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
	switch {
	case len(b) >= len("10/Oct/2000:13:55:36") && b[2] == '/' && b[6] == '/' && (b[11] == ':' || b[11] == ' '):
		date, ok := dateDay(number(b[7:11]), monthNumber(b[3:6]), number(b[:2]))
		return r.withClock(b, date, 12, ok)
	case len(b) >= len("2000-10-10T13:55") && b[4] == '-' && b[7] == '-' && (b[10] == 'T' || b[10] == ' '):
		date, ok := isoDate(b[:dateLen])
		return r.withClock(b, date, 11, ok)
	case len(b) >= len("2000/10/10 13:55") && b[4] == '/' && b[7] == '/' && b[10] == ' ':
		date, ok := dateDay(number(b[:4]), number(b[5:7]), number(b[8:10]))
		return r.withClock(b, date, 11, ok)
	case len(b) == dateLen && b[4] == '-':
		day, ok = isoDate(b)
		return day, -1, ok
	}
	day, ok = r.sinceEpoch(b)
	return day, -1, ok
}

// withClock reads the time of day at b[at:], which belongs to the date if that is valid.
func (r *timeReader) withClock(b []byte, date Day, at int, valid bool) (day Day, seconds int, ok bool) {
	if !valid {
		return 0, -1, false
	}
	minute, offset, hasOffset, ok := clockTime(b[at:])
	if !ok {
		return 0, -1, false
	}
	if seconds = at + len("15:04:"); seconds >= len(b) || b[seconds-1] != ':' {
		seconds = -1
	}
	if hasOffset {
		return r.calendar.in(date, minute, offset), seconds, true
	}
	return r.calendar.inLocal(date, minute), seconds, true
}

// sinceEpoch reads the seconds since 1970, or a thousandth, millionth or billionth
// of them, by the number of digits.
func (r *timeReader) sinceEpoch(b []byte) (Day, bool) {
	whole, fraction, hasFraction := bytes.Cut(b, []byte("."))
	switch len(whole) {
	case 10:
	case 13, 16, 19:
		if number(whole[10:]) < 0 {
			return 0, false
		}
		whole = whole[:10]
	default:
		return 0, false
	}
	seconds := number(whole)
	if seconds < 0 || hasFraction && number(fraction) < 0 {
		return 0, false
	}
	return r.calendar.in(Day(seconds/secondsPerDay), seconds/60%minutesPerDay, 0), true
}

// isoDate reads b, which is dateLen long, as a date written as 2006-01-02.
func isoDate(b []byte) (Day, bool) {
	if b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	return dateDay(number(b[:4]), number(b[5:7]), number(b[8:]))
}

// readTwo returns the day of a time whose date and time of day are two fields, and
// whether they are. The date is that of columnDate, or 1/2/06 or 01/02/2006, the month first.
func (r *timeReader) readTwo(date, clock []byte) (Day, bool) {
	if len(date) == 0 || string(date) != string(r.last) {
		day, ok := columnDate(date)
		if !ok {
			if day, ok = americanDate(date); !ok {
				return 0, false
			}
		}
		r.remember(date, -1, day)
	}
	var padded [len("01:02:03")]byte
	if len(clock) == len("1:02:03") { // IIS writes no zero before it
		padded[0] = '0'
		copy(padded[1:], clock)
		clock = padded[:]
	}
	minute, offset, hasOffset, ok := clockTime(clock)
	if !ok {
		return 0, false
	}
	if hasOffset {
		return r.calendar.in(r.day, minute, offset), true
	}
	return r.calendar.inLocal(r.day, minute), true
}

// americanDate reads a date written as 1/2/06 or 01/02/2006, the month first.
func americanDate(b []byte) (Day, bool) {
	parts := bytes.Split(b, []byte("/"))
	if len(parts) != 3 || len(b) > len("01/02/2006") {
		return 0, false
	}
	year := number(parts[2])
	switch len(parts[2]) {
	case 2:
		year += 2000
	case 4:
	default:
		return 0, false
	}
	return dateDay(year, number(parts[0]), number(parts[1]))
}
