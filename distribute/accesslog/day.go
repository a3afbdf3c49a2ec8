package accesslog

import (
	"fmt"
	"time"
)

// Day is a calendar day: the number of days since 1970-01-01 in the proleptic
// Gregorian calendar. The zero value is 1970-01-01.
type Day int32

const secondsPerDay = 24 * 60 * 60

// ParseDay reads a day written as 2006-01-02.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("parse day %q: want a date written like 2006-01-02: %w", s, err)
	}
	return Day(t.Unix() / secondsPerDay), nil
}

// String returns the day written as 2006-01-02.
func (d Day) String() string {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// dateDay returns the day of a date, and whether the calendar has that date.
func dateDay(year, month, day int) (Day, bool) {
	if year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// time.Date carries the 31st of February over into March.
	return Day(t.Unix() / secondsPerDay), t.Day() == day
}
