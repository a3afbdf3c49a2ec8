package delayed

import (
	"time"

	"skidway/queue"
)

// MaxCatchUp is how many times before now fire at most, be they late, or missed
// with [queue.CatchUpAll]: the newest of them, oldest first.
const MaxCatchUp = 1000

// caughtUp is how many of the times that were missed fire: the newest ones.
func caughtUp(how queue.CatchUp) int {
	switch how {
	case queue.CatchUpAll:
		return MaxCatchUp
	case queue.CatchUpLast:
		return 1
	}
	return 0
}

// A plan is what to do with a schedule that is due.
type plan struct {
	fire    []time.Time
	next    time.Time
	skipped bool // times that were missed are passed over
}

// planOf says for which times, at most so many, a schedule is to fire now, and
// which is the next one. It depends on nothing but what Redis holds: whoever
// goes on, after a crash too, comes to the same end.
func planOf(table *timetable, due *queue.DueSchedule, found *queue.DueSchedules, most int) plan {
	var p plan
	resumed := false
	at := due.At
	// What is late fires, but not without end: nobody may have been able to read
	// the schedule for months, though others were watched.
	if from := table.resume(at, found.Now, MaxCatchUp); !from.IsZero() {
		p.skipped = !from.Equal(at)
		at = from
	}
	for ; !at.IsZero() && !at.After(found.Now) && len(p.fire) < most; at = table.next(at) {
		if missed := at.After(found.Old) && at.Before(found.Since); missed && !resumed {
			resumed = true
			from := table.resume(at, found.Since, caughtUp(due.CatchUp))
			p.skipped = p.skipped || !from.Equal(at)
			if at = from; at.After(found.Now) {
				break
			}
		}
		p.fire = append(p.fire, at)
	}
	p.next = at
	return p
}

// resume gives the first time, at itself or a later one, from which on at most so
// many lie before the end.
func (t *timetable) resume(at, end time.Time, most int) time.Time {
	if most > 0 && !t.more(at, end, most-1) {
		return at
	}
	if !t.more(at, end, most) {
		return t.next(at)
	}
	// After low there are more, after high there are not. It is searched, not
	// counted: a schedule of each second may have been asleep for years.
	low, high := at, end
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if t.more(middle, end, most) {
			low = middle
		} else {
			high = middle
		}
	}
	return t.next(high)
}

// more reports whether more times than so many lie after one and before the end.
func (t *timetable) more(after, end time.Time, most int) bool {
	for range most + 1 {
		if after = t.next(after); after.IsZero() || !after.Before(end) {
			return false
		}
	}
	return true
}
