package delayed

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"skidway/queue"
)

// maxNext is the maximal number of times that [Next] returns.
const maxNext = 10000

// searchYears bounds the search for a time that matches all fields: the rarest, 29
// February, can be eight years away.
const searchYears = 9

// Next returns the first n times after from at which a schedule fires; n is at most
// 10,000. An error wraps [queue.ErrInvalid] if the expression or the zone cannot be
// parsed.
//
// An expression has the fields of crontab(5): minute, hour, day of month, month and
// day of week, optionally preceded by seconds. If both days are restricted, one of them
// must match. @hourly, @daily, @weekly, @monthly and @yearly are abbreviations. "@every
// 90s" fires at the multiples of 90 s since 1970, which are the same for all watches.
//
// A zone is a name of the IANA database; empty means UTC. A schedule fires by the wall
// clock of its zone: when the clock shows a time for the first time, or has just jumped
// over it. In the night in which 02:00 becomes 03:00 a schedule of 02:30 fires at 03:00,
// and when 03:00 becomes 02:00 it fires once, the first time. Several times in one gap
// fire once. A schedule that fires in every hour of the day ("30 * * * *", "@hourly") is
// different: it does not fire for a gap, and fires in both of two equal hours.
func Next(expr, zone string, from time.Time, n int) ([]time.Time, error) {
	if n < 0 || n > maxNext {
		return nil, fmt.Errorf("%w: %d times: want 0 to %d", queue.ErrInvalid, n, maxNext)
	}
	table, err := parseTimetable(expr, zone)
	if err != nil {
		return nil, err
	}
	times := make([]time.Time, 0, n)
	for at := table.next(from); len(times) < n && !at.IsZero(); at = table.next(at) {
		times = append(times, at)
	}
	return times, nil
}

// A timetable has the times at which a schedule fires: times of the wall clock of a
// zone, or steps.
type timetable struct {
	zone   *time.Location
	wall   *cron.SpecSchedule // its times are wall clock times of zone, stored as UTC
	steady bool               // wall fires in every hour
	every  time.Duration      // the step, if wall is nil
}

func parseTimetable(expr, zone string) (*timetable, error) {
	location, err := parseZone(zone)
	if err != nil {
		return nil, err
	}
	table := &timetable{zone: location}
	if step, ok := strings.CutPrefix(expr, "@every "); ok {
		table.every, err = parseStep(step)
	} else {
		table.wall, err = parseFields(expr)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: expression %.80q: %w", queue.ErrInvalid, expr, err)
	}
	if table.wall != nil {
		const hours = 1<<24 - 1
		table.steady = table.wall.Hour&hours == hours
	}
	return table, nil
}

func parseZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, fmt.Errorf(`%w: zone "Local" differs between hosts: use a name such as Europe/Berlin`, queue.ErrInvalid)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w: zone %.80q: %w (want a name such as UTC or Europe/Berlin)", queue.ErrInvalid, name, err)
	}
	return location, nil
}

func parseStep(text string) (time.Duration, error) {
	step, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, err
	case step < time.Second || step%time.Second != 0:
		return 0, errors.New("want whole seconds, at least one")
	}
	return step, nil
}

func parseFields(expr string) (*cron.SpecSchedule, error) {
	if strings.Contains(expr, "TZ=") {
		return nil, errors.New("the zone has a field of its own beside the expression")
	}
	parser, err := cron.TryNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.WithMaxSearchYears(searchYears).Parse(expr)
	if err != nil {
		return nil, err
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("it is not supported")
	}
	fields.Location = time.UTC
	// The parser accepts a field such as ",", which has no value, and would search
	// for it second by second.
	const values = 1<<60 - 1
	for _, field := range []uint64{fields.Second, fields.Minute, fields.Hour, fields.Dom, fields.Month, fields.Dow} {
		if field&values == 0 {
			return nil, errors.New("one of its fields has no value")
		}
	}
	if fields.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.New("it never fires: no month has such a day")
	}
	return fields, nil
}

// next returns the first time after one at which the timetable fires, a whole second.
func (t *timetable) next(after time.Time) time.Time {
	after = after.In(t.zone)
	if t.wall == nil {
		return t.nextStep(after)
	}
	wanted := t.wall.Next(t.shown(after))
	for !wanted.IsZero() {
		// While the zone's offset is the same, the wall clock runs like any clock.
		end := sameOffsetUntil(after)
		at := after.Add(wanted.Sub(onWall(after)))
		if end.IsZero() || at.Before(end) {
			return at
		}
		after = end
		shows := onWall(after)
		if t.steady {
			wanted = t.wall.Next(shows.Add(-time.Second))
		}
		if !wanted.After(shows) { // the wall clock has jumped over it, or shows it now
			return after
		}
	}
	return time.Time{}
}

// sameOffsetUntil returns a time up to which the zone's offset is the same; zero means
// for ever.
func sameOffsetUntil(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// Package time counts 365 days for every year here, and so omits the last day
		// of a leap year.
		end = t.Add(24 * time.Hour)
	}
	return end
}

// nextStep returns the next multiple of the step since 1970, which is the same for all
// watches.
func (t *timetable) nextStep(after time.Time) time.Time {
	step := int64(t.every / time.Second)
	seconds := after.Unix()
	past := seconds % step
	if past < 0 {
		past += step
	}
	return time.Unix(seconds-past+step, 0).In(t.zone)
}

// onWall returns the time of the wall clock, as a time in UTC.
func onWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// shown returns the latest time that the wall clock has shown so far, so that a time
// that it shows twice fires once. For a timetable that fires in every hour it returns
// what the wall clock shows now.
func (t *timetable) shown(now time.Time) time.Time {
	shows := onWall(now)
	begin, _ := now.ZoneBounds()
	if t.steady || begin.IsZero() {
		return shows
	}
	if before := onWall(begin.Add(-time.Second)); before.After(shows) {
		return before
	}
	return shows
}
