package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of the steps of a watch.
const (
	maxDueSchedules = 50
	maxFireJobs     = 50
	maxFireBytes    = 256 << 10
)

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
	Next time.Duration
	Mine bool
}

// A DueSchedule is one that is to be fired.
type DueSchedule struct {
	Schedule
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
func (q *Queue) DueSchedules(ctx context.Context, who string, vouch time.Duration, unreadable map[string]string) (DueSchedules, error) {
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
		Next: time.Duration(reply.Int(3)) * time.Millisecond, Mine: reply.Int(4) == 1,
	}
	for i := 5; i+3 < reply.Len(); i += 4 {
		due := DueSchedule{due: reply.Text(i + 1), Version: reply.Text(i + 2), size: len(reply.Text(i + 3))}
		due.Schedule, due.Err = q.schedule(reply.Text(i), reply.Text(i+3))
		due.At = scoreTime(due.due)
		if due.At.IsZero() && due.Err == nil {
			due.Err = fmt.Errorf("schedule %.140q of queue %s is malformed: its next time is %.40q", due.Name, q.name, due.due)
		}
		found.Due = append(found.Due, due)
	}
	return found, nil
}

// MostFirings is how many times FireSchedule takes in one call.
func (s *DueSchedule) MostFirings() int {
	return min(maxFireJobs, max(1, maxFireBytes/max(1, s.size)))
}

// FireSchedule adds a job for each of some times that have come, and sets the
// next one; zero: never. All or nothing: if the schedule has been fired, changed
// or removed since it was read nothing happens, and fired is false. So a call can
// be repeated, and of many calls for one time one fires. [ErrInvalid] says that
// it can't be read after all.
func (q *Queue) FireSchedule(ctx context.Context, s *DueSchedule, times []time.Time, next time.Time) (fired bool, err error) {
	if len(times) > s.MostFirings() {
		return false, fmt.Errorf("%w: fire schedule %s for %d times: at most %d", ErrInvalid, s.Name, len(times), s.MostFirings())
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

// RunSchedule fires a schedule now and gives the id of its job. The times at
// which it fires stay. A call whose answer was lost is repeated, without adding
// another job. [ErrNoSchedule] says that there is no such schedule, a
// [DuplicateError] that another job holds the unique key.
func (q *Queue) RunSchedule(ctx context.Context, name string) (id string, err error) {
	for token := rand.Text(); ; {
		stored, err := q.storedSchedule(ctx, name)
		if err != nil {
			return "", err
		}
		if stored.record == "" {
			return "", fmt.Errorf("schedule %.140s of queue %s: %w", name, q.name, ErrNoSchedule)
		}
		s, err := q.schedule(name, stored.record)
		if err != nil {
			return "", err
		}
		reply, err := q.runOn(ctx, scheduleRunScript, scheduleKeys(q.keys), name, stored.version, token, stored.now.UnixMilli(), s.headers(stored.now))
		switch {
		case err != nil:
			return "", err
		case reply.Word == "damaged":
			return "", fmt.Errorf("%w: schedule %s of queue %s: %w", ErrInvalid, name, q.name, errRecord)
		case reply.Word == "moved":
			continue
		}
		id := reply.Text(0)
		if owner, held := strings.CutPrefix(id, "="); held {
			return "", &DuplicateError{Key: s.Options.Unique.Key, Owner: globalID(q.name, owner)}
		}
		if id == "" {
			return "", errors.New("fire a schedule: Redis gave no id")
		}
		return globalID(q.name, id), nil
	}
}
