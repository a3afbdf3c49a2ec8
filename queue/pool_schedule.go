package queue

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
)

// PutSchedule stores a schedule: a new one, or in place of the one of its name.
// next gives the first time after another, both by Redis's clock; it is asked
// where there is no schedule yet whose expression and zone are the same.
//
// One that is there with the same content is left alone, and changed is false.
// With a Revision above zero a [RevisionError] says that the one that is there
// stays. Without one it is replaced, whatever its revision, which stays: so that
// a configuration takes over again only when its revision is raised.
//
// A call whose answer was lost is repeated. If somebody else changes the schedule
// at the same time both calls take place, one after the other.
func (q *PoolQueue) PutSchedule(ctx context.Context, s CronSchedule, next func(after time.Time) (time.Time, error)) (changed bool, err error) {
	failed := func(err error) (bool, error) { return false, fmt.Errorf("schedule %.140s: %w", s.Name, err) }
	s.Queue = cmp.Or(s.Queue, q.name)
	if s.Queue != q.name {
		return failed(invalid("queue %.140q: it is put into queue %s", s.Queue, q.name))
	}
	if _, err := q.encodeSchedule(s); err != nil {
		return failed(err)
	}
	if err := q.register(ctx); err != nil {
		return failed(err)
	}
	for {
		stored, err := q.readSchedule(ctx, s.Name)
		if err != nil {
			return failed(err)
		}
		record, keepDue, err := q.replace(s, stored)
		if err != nil || record == "" {
			return false, err
		}
		due := ""
		if !keepDue {
			at, err := next(stored.now)
			if err != nil {
				return failed(err)
			}
			due = fmt.Sprint(at.UnixMilli())
		}
		reply, err := q.runOn(ctx, scheduleSetScript, scheduleKeys(q.keys), s.Name, stored.version, record, due, MaxSchedules)
		switch {
		case err != nil:
			return failed(err)
		case reply.Word == "full":
			return failed(fmt.Errorf("%w: queue %s has %d schedules, the most there may be", ErrInvalid, q.name, MaxSchedules))
		case reply.Word == "ok":
			return true, nil
		}
	}
}

// replace gives the record that is to be stored in place of another, "" for
// none, and whether it goes on with the other's next time.
func (q *PoolQueue) replace(s CronSchedule, stored storedSchedule) (record string, keepDue bool, err error) {
	record, err = q.encodeSchedule(s)
	if err != nil {
		return "", false, err
	}
	there, damaged := q.decodeSchedule(s.Name, stored.record)
	if stored.record == "" || damaged != nil {
		return record, false, nil
	}
	given, err := q.decodeSchedule(s.Name, record)
	if err != nil {
		return "", false, err
	}
	same := given.sameContent(there)
	switch {
	case s.Revision == 0 && same, s.Revision > 0 && s.Revision == there.Revision && same:
		return "", false, nil
	case s.Revision == 0 && there.Revision > 0:
		s.Revision = there.Revision
		record, err = q.encodeSchedule(s)
	case s.Revision > 0 && s.Revision <= there.Revision:
		return "", false, &RevisionError{s.Name, s.Revision, there.Revision}
	}
	return record, given.Expr == there.Expr && given.Zone == there.Zone, err
}

// DueSchedules is what a watch has to do at a queue. All times are by Redis's
// clock.
type DueSchedules struct {
	Now time.Time

	// Nobody watched after Old and before Since: what fell due in between was
	// missed. Anything else that is due is at most late.
	Old, Since time.Time

	Due []DueSchedule // some of the earliest

	// Next is how long to wait until another one is due; below zero: none is
	// scheduled. Mine says that the asker is the one to come then on time;
	// the others come a little later, in case that it doesn't.
	Next  time.Duration
	Waker bool
}

// A DueSchedule is one that is to be fired.
type DueSchedule struct {
	CronSchedule
	At      time.Time // the first time for which it has not fired
	Version string    // tells it from what it was and will be
	Err     error     // why it can't be read

	due  string // At as it was given
	size int    // bytes of its record
}

// DueSchedules gives the schedules that are due, and notes in Redis that somebody
// watches the queue for the next while. who is the watch, by a name that is
// random and never used again. unreadable are versions by name of schedules that
// the asker has seen and can't read: they are passed over, so that they hold up
// no others.
func (q *PoolQueue) DueSchedules(ctx context.Context, who string, vouch time.Duration, unreadable map[string]string) (DueSchedules, error) {
	args := []any{who, millis(vouch), maxDueSchedules}
	for name, version := range unreadable {
		args = append(args, name, version)
	}
	reply, err := q.runOn(ctx, scheduleDueScript, scheduleKeys(q.keys), args...)
	if err != nil {
		return DueSchedules{}, err
	}
	found := DueSchedules{
		Now: time.UnixMilli(reply.Int(0)), Old: time.UnixMilli(reply.Int(1)), Since: time.UnixMilli(reply.Int(2)),
		Next: time.Duration(reply.Int(3)) * time.Millisecond, Waker: reply.Int(4) == 1,
	}
	for i := 5; i+3 < reply.Len(); i += 4 {
		due := DueSchedule{due: reply.Text(i + 1), Version: reply.Text(i + 2), size: len(reply.Text(i + 3))}
		due.CronSchedule, due.Err = q.decodeSchedule(reply.Text(i), reply.Text(i+3))
		due.At = scoreTime(due.due)
		if due.At.IsZero() && due.Err == nil {
			due.Err = fmt.Errorf("schedule %.140q of queue %s is malformed: its next time is %.40q", due.Name, q.name, due.due)
		}
		found.Due = append(found.Due, due)
	}
	return found, nil
}

// MostFirings is how many times FireSchedule takes in one call.
func (s *DueSchedule) MaxFirings() int {
	return min(maxFireJobs, max(1, maxFireBytes/max(1, s.size)))
}

// FireSchedule adds a job for each of some times that have come, and sets the
// next one; zero: never. All or nothing: if the schedule has been fired, changed
// or removed since it was read nothing happens, and fired is false. So a call can
// be repeated, and of many calls for one time one fires. [ErrInvalid] says that
// it can't be read after all.
func (q *PoolQueue) FireSchedule(ctx context.Context, s *DueSchedule, times []time.Time, next time.Time) (fired bool, err error) {
	if len(times) > s.MaxFirings() {
		return false, fmt.Errorf("%w: fire schedule %s for %d times: at most %d", ErrInvalid, s.Name, len(times), s.MaxFirings())
	}
	then := ""
	if !next.IsZero() {
		then = strconv.FormatInt(next.UnixMilli(), 10)
	}
	args := []any{s.Name, s.Version, s.due, then}
	for _, at := range times {
		args = append(args, at.UnixMilli(), s.headers(at))
	}
	reply, err := q.runOn(ctx, scheduleFireScript, scheduleKeys(q.keys), args...)
	if err != nil {
		return false, err
	}
	if reply.Word == "damaged" {
		return false, fmt.Errorf("%w: schedule %s of queue %s: %w", ErrInvalid, s.Name, q.name, errRecord)
	}
	return reply.Word == "ok", nil
}
