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
// and in those of [readMoment].
//
// Seconds may have a fraction.
type timeReader struct {
	calendar calendar
	order    dateOrder
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
	return timeReader{calendar: newCalendar(o), order: o.order}
}

// read returns the day of a time, all of b, and whether it is one.
func (r *timeReader) read(b []byte) (Day, bool) {
	if r.last.matches(b) {
		return r.day, true
	}
	w, ok := readTime(b, r.order)
	if !ok {
		return 0, false
	}
	day, ok := r.calendar.of(w)
	if !ok {
		return 0, false
	}
	r.day = day
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
func readTime(b []byte, order dateOrder) (written, bool) {
	w, ok := plainTime(b)
	if !ok && !isStampDate(b) {
		return readMoment(b, order)
	}
	return w, ok
}

// isStampDate reports whether b begins as a time of the Common Log Format does.
func isStampDate(b []byte) bool {
	return len(b) >= len("10/Oct/2000:13:55:36") && b[2] == '/' && b[6] == '/' && (b[11] == ':' || b[11] == ' ')
}

// plainTime reads a time in a notation that many servers write.
func plainTime(b []byte) (written, bool) {
	switch {
	case isStampDate(b):
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
		day, ok := twoFieldDate(date, r.order)
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
		return r.calendar.in(r.dateDay, minute, offset)
	}
	day, ok := r.calendar.inZone(r.dateDay, minute, local)
	if ok && hourMinute != 0 && clock[2] == ':' && clock[5] == ':' {
		r.clock, r.clockDay = hourMinute, day
	}
	return day, ok
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

// twoFieldDate reads a date as columnDate and freeDate do.
func twoFieldDate(b []byte, order dateOrder) (Day, bool) {
	if day, ok := columnDate(b); ok {
		return day, true
	}
	return freeDate(b, nil, order)
}

// A timePattern is a time of which digits of the seconds may differ: other times that have it
// are of the same minute. If it is one since 1970, two digits and those of its fraction may, and
// the others are of the same day in UTC.
type timePattern struct {
	size  int // of the time, in bytes; 0: none has the pattern
	words [maxTime / 8]timeWord
}

// maxTime is the length of the longest time that has a pattern.
const maxTime = 40

// A timeWord is a part of a time, eight bytes from a place on, of which some may differ.
type timeWord struct {
	at    int
	value uint64 // zero where a digit may differ
	// room is what may be added to the difference of each byte until its highest bit is set.
	room uint64
}

// clear makes the pattern one that no time has.
func (p *timePattern) clear() { p.size = 0 }

// set sets the pattern to that of a time in whose bytes from seconds up to after digits may
// differ; the first of them is at most tens, or else the pattern does not tell that it is no time.
func (p *timePattern) set(b []byte, seconds, after int, tens byte) {
	if len(b) < 8 || len(b) > maxTime {
		p.clear()
		return
	}
	p.size = len(b)
	for n := range p.words {
		w := timeWord{at: min(8*n, len(b)-8)} // the last words overlap
		for i := range 8 {
			value, room := b[w.at+i], byte(127)
			if place := w.at + i; place >= seconds && place < after && value-'0' <= 9 {
				value, room = '0', 127-9
				if place == seconds {
					room = 127 - tens
				}
			}
			w.value |= uint64(value) << (8 * i)
			w.room |= uint64(room) << (8 * i)
		}
		p.words[n] = w
	}
}

// begins reports whether a time at a place of the line has the pattern. What follows it there may
// be anything.
func (p *timePattern) begins(line []byte, at int) bool {
	if p.size == 0 || uint(at)+uint(p.size) > uint(len(line)) {
		return false
	}
	b, w := line[at:at+p.size], &p.words
	differs := w[0].differs(b) | w[1].differs(b)
	if p.size > 2*8 {
		differs |= w[2].differs(b)
		if p.size > 3*8 {
			differs |= w[3].differs(b)
			if p.size > 4*8 {
				differs |= w[4].differs(b)
			}
		}
	}
	return differs&(0x80*eachByte) == 0
}

// matches reports whether a time has the pattern.
func (p *timePattern) matches(b []byte) bool { return len(b) == p.size && p.begins(b, 0) }

// differs returns bytes without their highest bits if the part of a time is as the word has it.
func (w *timeWord) differs(b []byte) uint64 {
	// A digit, or another byte up to 9 more than '0' has a difference of at most 9.
	x := binary.LittleEndian.Uint64(b[w.at:]) ^ w.value
	return x&(0x7f*eachByte) + w.room | x
}
