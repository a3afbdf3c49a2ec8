package dash

import (
	"time"

	"skidway/ops/dash/internal/words"
)

// A clock shows times in the zone of the settings.
type clock struct{ zone *time.Location }

// A Stamp is a time as it is shown: a short text, and the exact time with its zone in the title.
type Stamp struct{ ISO, Title, Text string }

// stamp returns a time with a text for it.
func (c clock) stamp(at time.Time, text string) Stamp {
	if at.IsZero() {
		return Stamp{Text: words.None}
	}
	local := at.In(c.zone)
	title := local.Format("2006-01-02 15:04:05 MST")
	if c.zone != time.UTC {
		title += " · " + at.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return Stamp{at.UTC().Format(time.RFC3339), title, text}
}

// Clock returns a time of the clock: "03:12", with the day if it is another one.
func (c clock) Clock(at, now time.Time) Stamp { return c.stamp(at, c.text(at, now, "15:04")) }

// ClockSeconds is Clock with seconds.
func (c clock) ClockSeconds(at, now time.Time) Stamp {
	return c.stamp(at, c.text(at, now, "15:04:05"))
}

// Since returns the time of the clock behind the word since.
func (c clock) Since(at, now time.Time) Stamp {
	return c.stamp(at, words.T("time.since", c.text(at, now, "15:04")))
}

// Ago returns a time by its age, such as "31m ago".
func (c clock) Ago(at, now time.Time) Stamp {
	return c.stamp(at, words.T("time.ago", words.Age(now.Sub(at))))
}

// Age returns a time by its age alone, such as "31m".
func (c clock) Age(at, now time.Time) Stamp {
	if at.IsZero() {
		return Stamp{Text: words.None}
	}
	return c.stamp(at, words.Age(max(0, now.Sub(at))))
}

// text formats a time in the zone of the settings. The day stands before it unless it is that of now.
func (c clock) text(at, now time.Time, layout string) string {
	at, now = at.In(c.zone), now.In(c.zone)
	days := at.Sub(now).Abs() / (24 * time.Hour)
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
	case days < 6:
		layout = "Mon " + layout
	case days < 180:
		layout = "2 Jan " + layout
	default:
		layout = "2 Jan 2006"
	}
	return at.Format(layout)
}
