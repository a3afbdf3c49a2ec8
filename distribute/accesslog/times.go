package accesslog

import (
	"bytes"
	"encoding/binary"

	"skidway/distribute/accesslog/internal/lex"
)

// A timeReader reads times in the notations of access logs:
//
//	10/Oct/2000:13:55:36 -0700    also with a blank after the year, and without the offset
//	2000-10-10T13:55:36-07:00     RFC 3339 and ISO 8601, also with a blank for the T, and
//	                              also the date alone; with slashes in the date
//	971211336                     seconds since 1970, also milliseconds (13 digits),
//	                              microseconds (16) and nanoseconds (19)
//
// Seconds may have a fraction.
type timeReader struct {
	calendar calendar
	last     timePattern // of the last time
	day      Day         // on which it was

	// Of times whose date and time of day are two fields: the last date, the last time of day
	// without its seconds (0: none of that date), and the days of both.
	date              []byte
	clock             uint64
	dateDay, clockDay Day
	// The last date and time of day that stood beside each other in a line, with what stood
	// between, and their day.
	both    timePattern
	bothDay Day
}

func newTimeReader(o Options) timeReader {
	return timeReader{calendar: newCalendar(o)}
}

// read returns the day of a time, all of b, and whether it is one.
func (r *timeReader) read(b []byte) (Day, bool) {
	if r.last.matches(b) {
		return r.day, true
	}
	w, ok := readTime(b)
	if !ok {
		return 0, false
	}
	r.day = r.calendar.of(w)
	switch {
	case w.seconds >= 0:
		rest, _ := lex.AfterSeconds(b[w.seconds:])
		r.last.set(b, w.seconds, len(b)-len(rest), 5)
	case w.epoch && r.calendar.zone == nil:
		// The number of seconds in a day is a multiple of 100.
		r.last.set(b, epochLen-2, len(b), 9)
	default:
		r.last.clear()
	}
	return r.day, true
}

// A written time is one as it stands in a line.
type written struct {
	date                  Day
	minute, second, nanos int // of the day, of the minute, of the second
	offset                int // from UTC in minutes
	zoned                 bool
	dateOnly              bool
	epoch                 bool
	seconds               int // where the seconds start; -1 if there are none of two digits
}

// readTime reads a time in any notation.
func readTime(b []byte) (written, bool) {
	switch {
	case len(b) >= len("10/Oct/2000:13:55:36") && b[2] == '/' && b[6] == '/' && (b[11] == ':' || b[11] == ' '):
		date, ok := dateDay(lex.Number(b[7:11]), lex.MonthNumber(b[3:6]), lex.Number(b[:2]))
		return withClock(b, date, 12, ok)
	case len(b) >= len("2000-10-10T13:55") && b[4] == '-' && b[7] == '-' && (b[10] == 'T' || b[10] == ' '):
		date, ok := isoDate(b[:dateLen])
		return withClock(b, date, 11, ok)
	case len(b) >= len("2000/10/10 13:55") && b[4] == '/' && b[7] == '/' && b[10] == ' ':
		date, ok := dateDay(lex.Number(b[:4]), lex.Number(b[5:7]), lex.Number(b[8:10]))
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

// readClock reads a time of day as lex.ClockTime does.
func readClock(b []byte) (w written, ok bool) {
	w.seconds = -1
	if w.minute, w.offset, w.zoned, ok = lex.ClockTime(b); !ok {
		return w, false
	}
	if at := len("15:04:"); at < len(b) && b[at-1] == ':' {
		w.seconds, w.second = at, lex.Number(b[at:at+2])
		rest, _ := lex.AfterSeconds(b[at:])
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
	if hasFraction && lex.Number(fraction) < 0 {
		return w, false
	}
	switch len(whole) {
	case epochLen:
	case epochLen + 3, epochLen + 6, epochLen + 9:
		if lex.Number(whole[epochLen:]) < 0 {
			return w, false
		}
		whole, fraction = whole[:epochLen], whole[epochLen:]
	default:
		return w, false
	}
	seconds := lex.Number(whole)
	if seconds < 0 {
		return w, false
	}
	return written{
		date: Day(seconds / secondsPerDay), minute: seconds / 60 % minutesPerDay, second: seconds % 60,
		nanos: nanoseconds(fraction), zoned: true, epoch: true, seconds: -1,
	}, true
}

// epochLen is the number of digits of the seconds since 1970, from 2001 to 2286.
const epochLen = 10

// readTwo returns the day of a time whose date and time of day are two fields, and
// whether they are. zone is the offset of such times from UTC, as #GMT-Offset has it: nil
// if the format defines their zone, and empty if it is not known.
func (r *timeReader) readTwo(date, clock, zone []byte) (Day, bool) {
	if len(date) == 0 || string(date) != string(r.date) {
		day, ok := twoFieldDate(date)
		if !ok {
			return 0, false
		}
		r.date, r.dateDay, r.clock = append(r.date[:0], date...), day, 0
	}
	var hourMinute uint64 // as they are written; 0: not alone
	if len(clock) == clockLen && zone == nil {
		hourMinute = binary.LittleEndian.Uint64(clock) & clockMask
		if second := lex.Number(clock[clockLen-2:]); hourMinute == r.clock && hourMinute != 0 && second >= 0 && second <= 60 {
			return r.clockDay, true
		}
	}
	var padded [clockLen]byte
	minute, offset, hasOffset, ok := lex.ClockTime(padClock(clock, &padded))
	if !ok {
		return 0, false
	}
	local := r.calendar.local
	if zone != nil && !hasOffset {
		local = r.calendar.stated
		offset, hasOffset = lex.UTCOffset(zone)
	}
	if hasOffset {
		return r.calendar.in(r.dateDay, minute, offset), true
	}
	day := r.calendar.inZone(r.dateDay, minute, local)
	if hourMinute != 0 && clock[2] == ':' && clock[5] == ':' {
		r.clock, r.clockDay = hourMinute, day
	}
	return day, true
}

// keepBoth remembers the date and the time of day of a line, which were read, and their day.
func (r *timeReader) keepBoth(line, date, clock []byte, day Day) {
	r.both.clear()
	at, end := cap(line)-cap(date), cap(line)-cap(clock)+len(clock)
	if at < 0 || end > len(line) || end-at < len(date)+len(clock) || &line[at] != &date[0] {
		return // they are not in the line, or the date is behind
	}
	seconds := len("15:04:")
	if len(clock) > 1 && clock[1] == ':' {
		seconds--
	}
	if len(clock) < seconds+2 || clock[seconds-1] != ':' {
		return
	}
	rest, _ := lex.AfterSeconds(clock[seconds:])
	r.both.set(line[at:end], end-len(clock)+seconds-at, end-len(rest)-at, 5)
	r.bothDay = day
}

// clockMask leaves of 01:02:03 what stands before the seconds.
const clockMask = 1<<48 - 1

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
	n := lex.Number(year)
	switch {
	case !found || len(month) == 0 || len(day) == 0:
		return 0, false
	case len(year) == 2:
		n += 2000
	case len(year) != 4:
		return 0, false
	}
	return dateDay(n, lex.Number(month), lex.Number(day))
}
