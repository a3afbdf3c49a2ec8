package kinds

import (
	"time"

	"github.com/ncruces/go-strftime"

	"skidway/queue"
)

// A Day says which day a job about logs is for, and in whose time zone.
type Day struct {
	// Day is "yesterday" (also where it is empty), "today", or a day such as
	// 2026-11-30. The first two are seen from when the job was due by its
	// schedule, or else was enqueued; so a repeat means the same day.
	// A job that follows another one has the due time of that one's schedule.
	Day string `json:"day,omitempty"`

	// TZ is the time zone of the days, as Europe/Berlin; empty means UTC.
	TZ string `json:"tz,omitempty"`
}

func (d Day) check() error {
	if _, err := d.zone(); err != nil {
		return err
	}
	return checkDay("day", d.Day)
}

func checkDay(field, text string) error {
	switch text {
	case "", "yesterday", "today":
		return nil
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return wrong(field, "%q: want yesterday, today, or a day such as 2026-11-30", text)
	}
	return nil
}

func (d Day) zone() (*time.Location, error) {
	zone, err := time.LoadLocation(d.TZ)
	if err != nil || d.TZ == "Local" {
		return nil, wrong("tz", "%q: want the name of a time zone such as Europe/Berlin", d.TZ)
	}
	return zone, nil
}

// A logDay is a day as a job has it, written down as UTC: there are zones where
// some days have no midnight, and a time that isn't there would be one of
// another day.
type logDay struct{ time.Time }

// of gives the day for a job. text is Day's, or another one of the same args.
func (d Day) of(job *queue.Job, text string) logDay {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return logDay{day}
	}
	zone, err := d.zone()
	if err != nil {
		zone = time.UTC // check has refused it
	}
	seen := job.Enqueued
	if due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue]); err == nil {
		seen = due
	}
	seen = seen.In(zone)
	seen = time.Date(seen.Year(), seen.Month(), seen.Day(), seen.Hour(), seen.Minute(), seen.Second(), 0, time.UTC)
	if text == "today" {
		return logDay{seen}
	}
	return logDay{seen.AddDate(0, 0, -1)}
}

// expand puts the day into a path: %Y, %m, %d and what else strftime knows.
func (d logDay) expand(path string) string { return strftime.Format(path, d.Time) }

func (d logDay) String() string { return d.Format(time.DateOnly) }
