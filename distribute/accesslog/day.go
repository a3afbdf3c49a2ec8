package accesslog

import (
	"time"

	"skidway/distribute/accesslog/internal/lex"
)

// Day is a calendar day: the number of days since 1970-01-01 in the proleptic
// Gregorian calendar. The zero value is 1970-01-01.
type Day int32

const secondsPerDay = 24 * 60 * 60

// String returns the day written as 2006-01-02.
func (d Day) String() string {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// ParseDay parses what String returns.
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(time.DateOnly, text)
	return Day(t.Unix() / secondsPerDay), err
}

// minutesPerDay is a day's length; log times have no leap seconds.
const minutesPerDay = 24 * 60

// A calendar computes the day of a time in a zone. It caches the last minute:
// neighbouring lines of a log are mostly of the
// same minute, and a zone's offset has not changed within a minute since 1972.
// A cache by the day would be wrong where clocks are set back over
// midnight, as in Newfoundland until 2011, and the same day begins twice.
type calendar struct {
	zone   *time.Location // nil: days are as written
	local  *time.Location // of times that are written without a zone; nil: their day is as written
	stated *time.Location // [Options].Local, where the format has another one
	minute int64          // since 1970-01-01T00:00Z
	day    Day            // on which this minute was in zone
	valid  bool           // the year of this day has four digits
}

func newCalendar(o Options) calendar {
	c := calendar{zone: o.Zone, local: o.local(), stated: o.Local}
	if c.zone != nil {
		c.update()
	}
	return c
}

// of returns the day of a written time. Like in and inZone, it reports false if the zone moves
// the day out of the years 0000 to 9999.
func (c *calendar) of(w written) (Day, bool) {
	switch {
	case w.dateOnly:
		return w.date, true
	case w.zoned:
		return c.in(w.date, w.minute, w.offset)
	}
	return c.inZone(w.date, w.minute, c.local)
}

// in returns the day of a time written as the date, the minute of the day and
// the offset from UTC in minutes.
func (c *calendar) in(date Day, minute, offset int) (Day, bool) {
	if c.zone == nil {
		return date, true
	}
	if m := int64(date)*minutesPerDay + int64(minute-offset); m != c.minute {
		c.minute = m
		c.update()
	}
	return c.day, c.valid
}

// inZone returns the day of a time that was written without an offset, by the clock of a
// zone; nil: it is the day that was written.
func (c *calendar) inZone(date Day, minute int, local *time.Location) (Day, bool) {
	switch {
	case local == nil || c.zone == nil:
		return date, true
	case local == time.UTC:
		return c.in(date, minute, 0)
	}
	_, offset := localTime(date, minute, local).Zone()
	return c.in(date, minute, offset/60)
}

// localTime returns when the clock of a zone showed a minute. A minute that it showed twice
// is the first.
func localTime(date Day, minute int, local *time.Location) time.Time {
	return time.Date(1970, 1, 1+int(date), 0, minute, 0, 0, local)
}

// update sets the day that belongs to the calendar's minute.
func (c *calendar) update() {
	year, month, day := time.Unix(c.minute*60, 0).In(c.zone).Date()
	c.day, c.valid = dateDay(year, int(month), day)
}

// dateDay returns the day of a date, and reports whether the calendar has that date.
func dateDay(year, month, day int) (Day, bool) {
	days, ok := lex.Date(year, month, day)
	return Day(days), ok
}

// isoDate reads b, which is dateLen long, as a date written as 2006-01-02.
func isoDate(b []byte) (Day, bool) {
	days, ok := lex.ISODate(b)
	return Day(days), ok
}
