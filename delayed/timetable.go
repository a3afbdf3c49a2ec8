package delayed

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"skidway/queue"
)

// maxNext bounds what [Next] gives.
const maxNext = 10000

// searchYears is for how long a time is looked for that matches all fields: the
// rarest, 29 February, can be eight years away.
const searchYears = 9

// Next gives the first n times, at most 10,000, after from at which a schedule
// fires. An error that wraps [queue.ErrInvalid] says what is wrong with the
// expression or the zone. See the package's documentation for both.
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

// A timetable says when a schedule fires: by the clock on the wall of a zone, or
// in steps.
type timetable struct {
	zone   *time.Location
	wall   *cron.SpecSchedule // asked with times of zone that pretend to be UTC
	steady bool               // wall fires in every hour
	every  time.Duration      // without wall
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
		return nil, fmt.Errorf(`%w: zone "Local" is another one on each machine: give its name, as in Europe/Berlin`, queue.ErrInvalid)
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
		return nil, errors.New("the zone is given beside the expression, not in it")
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
		return nil, errors.New("it is not understood")
	}
	fields.Location = time.UTC
	// The parser takes a field such as "," for no value at all, and would look
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

// next gives the first time after t at which the timetable fires, a whole second.
func (t *timetable) next(after time.Time) time.Time {
	after = after.In(t.zone)
	if t.wall == nil {
		return t.nextStep(after)
	}
	wanted := t.wall.Next(t.shown(after))
	for !wanted.IsZero() {
		// While the zone's offset stays, the wall's clock runs as any.
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
		if !wanted.After(shows) { // it was jumped over, or is just now
			return after
		}
	}
	return time.Time{}
}

// sameOffsetUntil gives a time up to which the zone's offset stays; zero: for ever.
func sameOffsetUntil(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// Package time takes every year for 365 days here, and so the last day
		// of a leap year for none.
		end = t.Add(24 * time.Hour)
	}
	return end
}

// nextStep gives multiples since 1970, so that all who watch agree.
func (t *timetable) nextStep(after time.Time) time.Time {
	step := int64(t.every / time.Second)
	seconds := after.Unix()
	past := seconds % step
	if past < 0 {
		past += step
	}
	return time.Unix(seconds-past+step, 0).In(t.zone)
}

// onWall is what the clock on the wall shows, as a time in UTC.
func onWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// shown is the latest time that the clock on the wall has shown so far: what has
// been shown once doesn't come again. A timetable that fires in every hour goes
// by what the clock shows now.
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
