// Package lex reads what lines of logs are made of: numbers, dates, times of day, and the strings
// and values of JSON objects. It allocates nothing.
package lex

import "time"

// IsBlank reports whether a byte separates fields, in all formats.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// Number reads b, all of it, as a decimal number; it is -1 if b is anything
// but digits.
func Number(b []byte) int {
	n := 0
	for _, c := range b {
		if c -= '0'; c > 9 {
			return -1
		}
		n = n*10 + int(c)
	}
	return n
}

// DateLen is the length of a date written as 2006-01-02.
const DateLen = len("2006-01-02")

// Date returns the day of a date, as the number of days since 1970-01-01, and reports whether the
// calendar has that date: days are written with a year of four digits.
func Date(year, month, day int) (days int, ok bool) {
	if year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// time.Date carries the 31st of February over into March.
	return int(t.Unix() / (24 * 60 * 60)), t.Day() == day
}

// ISODate reads b, which is DateLen long, as a date written as 2006-01-02, as Date does.
func ISODate(b []byte) (days int, ok bool) {
	if b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	return Date(Number(b[:4]), Number(b[5:7]), Number(b[8:]))
}

// MonthNumber returns the number of an English month's short name, or 0.
func MonthNumber(name []byte) int {
	switch string(name) {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

// ClockTime reads what follows the T of a time in RFC 3339 or ISO 8601, all of
// it: 15:04, 15:04:05 or 15:04:05.999, and then Z, +02:00, +0200 or nothing, perhaps
// with a blank before it.
func ClockTime(b []byte) (minute, offset int, hasOffset, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, 0, false, false
	}
	if minute, ok = MinuteOfDay(b[0:2], b[3:5]); !ok {
		return 0, 0, false, false
	}
	if b = b[5:]; len(b) > 0 && b[0] == ':' {
		if b, ok = AfterSeconds(b[1:]); !ok {
			return 0, 0, false, false
		}
	}
	if len(b) == 0 {
		return minute, 0, false, true
	}
	if b[0] == ' ' {
		b = b[1:]
	}
	offset, ok = UTCOffset(b)
	return minute, offset, ok, ok
}

// AfterSeconds returns what follows the seconds, with or without a fraction,
// that b starts with.
func AfterSeconds(b []byte) (rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, false
	}
	if seconds := Number(b[:2]); seconds < 0 || seconds > 60 {
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

// UTCOffset reads an offset from UTC, all of b, as minutes.
func UTCOffset(b []byte) (int, bool) {
	switch {
	case string(b) == "Z":
		return 0, true
	case len(b) == len("+02:00") && b[3] == ':':
		return SignedMinutes(b[0], b[1:3], b[4:6])
	case len(b) == len("+0200"):
		return SignedMinutes(b[0], b[1:3], b[3:5])
	}
	return 0, false
}

// SignedMinutes reads an offset from UTC as minutes.
func SignedMinutes(sign byte, hours, minutes []byte) (int, bool) {
	offset, ok := MinuteOfDay(hours, minutes)
	if sign == '-' {
		return -offset, ok
	}
	return offset, ok && sign == '+'
}

// MinuteOfDay reads hours and minutes as minutes.
func MinuteOfDay(hours, minutes []byte) (int, bool) {
	h, m := Number(hours), Number(minutes)
	return h*60 + m, h >= 0 && h < 24 && m >= 0 && m < 60
}
