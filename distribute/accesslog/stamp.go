package accesslog

import (
	"bytes"
	"encoding/binary"

	"skidway/distribute/accesslog/internal/lex"
)

// stampLen is the length of a time in the Common Log Format with its brackets:
// [10/Oct/2000:13:55:36 -0700].
const stampLen = 28

// isStamp reports whether b starts with the outline of a time in brackets. Its
// numbers may still be no time.
func isStamp(b []byte) bool {
	return len(b) >= stampLen && b[0] == '[' && b[3] == '/' && b[7] == '/' &&
		b[12] == ':' && b[15] == ':' && b[18] == ':' && b[21] == ' ' && b[27] == ']'
}

// findStamp returns where the line's time starts, or -1. A user name may hold
// anything, even a time in brackets; the server's own is the last one before
// the quoted request.
func findStamp(line []byte) int {
	at := nextStamp(line)
	if at < 0 {
		return -1
	}
	head := line
	if quote := bytes.IndexByte(line[at+stampLen:], '"'); quote >= 0 {
		head = line[:at+stampLen+quote]
	}
	for {
		next := nextStamp(head[at+stampLen:])
		if next < 0 {
			return at
		}
		at += stampLen + next
	}
}

// nextStamp returns where the first time in b starts, or -1.
func nextStamp(b []byte) int {
	for from := 0; ; from++ {
		next := bytes.IndexByte(b[from:], '[')
		if next < 0 {
			return -1
		}
		if from += next; isStamp(b[from:]) {
			return from
		}
	}
}

// stampReader reads times in brackets. It remembers the bytes of the last one:
// when only the seconds differ, so does nothing else.
type stampReader struct {
	calendar calendar
	// The bytes after the opening bracket, in words: 0-7, 8-15, 16-23 and
	// 19-26, the last two without the seconds at 18 and 19.
	date, clock, zone, end uint64
	day                    Day
}

const (
	zoneMask = ^uint64(0xffff << 16) // the seconds are bytes 2 and 3 of 16-23
	endMask  = ^uint64(0xff)         // and byte 0 of 19-26
)

func newStampReader(o Options) stampReader {
	r := stampReader{calendar: newCalendar(o)}
	// What it remembers is a real time from the start, so that the hot path
	// need not ask whether there is one.
	r.read([]byte("[01/Jan/1970:00:00:00 +0000]"))
	return r
}

// read returns the day of the time in brackets that b starts with, and whether
// it is one. b is at least stampLen long and starts with the opening bracket.
func (r *stampReader) read(b []byte) (Day, bool) {
	t := b[1:stampLen]
	date := binary.LittleEndian.Uint64(t)
	clock := binary.LittleEndian.Uint64(t[8:])
	zone := binary.LittleEndian.Uint64(t[16:]) & zoneMask
	end := binary.LittleEndian.Uint64(t[19:]) & endMask
	// Second 60 is a leap second.
	seconds := lex.Number(t[18:20])
	if seconds < 0 || seconds > 60 {
		return 0, false
	}
	if date == r.date && clock == r.clock && zone == r.zone && end == r.end {
		return r.day, true
	}
	if !isStamp(b) {
		return 0, false
	}
	day, ok := r.convert(t)
	if ok {
		r.date, r.clock, r.zone, r.end, r.day = date, clock, zone, end, day
	}
	return day, ok
}

// convert reads all but the seconds of t, which looks like
// 10/Oct/2000:13:55:36 -0700.
func (r *stampReader) convert(t []byte) (Day, bool) {
	date, ok := dateDay(lex.Number(t[7:11]), lex.MonthNumber(t[3:6]), lex.Number(t[0:2]))
	if !ok {
		return 0, false
	}
	minute, ok := lex.MinuteOfDay(t[12:14], t[15:17])
	if !ok {
		return 0, false
	}
	offset, ok := lex.SignedMinutes(t[21], t[22:24], t[24:26])
	if !ok {
		return 0, false
	}
	return r.calendar.in(date, minute, offset)
}
