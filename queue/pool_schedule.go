package queue

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
)

// Headers of the jobs that schedules add.
const (
	HeaderSchedule = "schedule" // name of the schedule
	HeaderDue      = "due"      // time at which the job was due, in RFC 3339
)

// Bounds of schedules.
const (
	MaxSchedules    = 1000     // of one queue
	MaxScheduleSize = 64 << 10 // bytes of one schedule, with its args
	MaxFirings      = 10       // that are remembered of a schedule

	maxScheduleExpr = 256 // bytes of an expression or a zone
)

// What happens to times that were missed.
const (
	CatchUpNone CatchUp = "none" // they are skipped; the default
	CatchUpLast CatchUp = "last" // the latest of them fires
	CatchUpAll  CatchUp = "all"  // they all fire, oldest first, up to the bound of package delayed
)

// PutSchedule stores a schedule, in place of one with the same name if there is one. next
// returns the first time after another, both by Redis's clock; it is called if the
// expression or zone is new.
//
// A schedule with the same content is left alone, and changed is false. With a Revision
// above zero the error is a [RevisionError] if the stored schedule takes precedence.
// Without one the stored schedule is replaced but keeps its revision, so that a
// configuration takes over again only when its revision is raised.
//
// A call whose answer was lost is repeated. Concurrent calls take effect one after the
// other. Package delayed has AddSchedule for users.
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

// replace returns the record to store in place of another, "" for none, and whether the
// schedule keeps its next time.
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

// DueSchedules is the result of [PoolQueue.DueSchedules]. All times are by Redis's clock.
type DueSchedules struct {
	Now time.Time

	// No worker watched the queue between Old and Since: times in between were
	// missed. All other times that are due are late at most.
	Old, Since time.Time

	Due []DueSchedule // the earliest, not necessarily all

	// Next is the time until another schedule is due; negative if there is none.
	// Waker is whether this caller should call again at that time; other callers
	// do so a little later, in case this one has stopped.
	Next  time.Duration
	Waker bool
}

// A DueSchedule is a schedule that is to be fired.
type DueSchedule struct {
	CronSchedule
	At      time.Time // the first time for which it has not fired
	Version string    // changes with its content
	Err     error     // if it can't be read

	due  string // At as it is stored
	size int    // bytes of its record
}

// DueSchedules returns the schedules that are due, and records in Redis that the queue is
// being watched until lateGrace from now. watcher is the caller's unique name. unreadable
// has the versions, by name, of schedules that the caller can't read: they are skipped, so
// that they delay no others.
func (q *PoolQueue) DueSchedules(ctx context.Context, watcher string, lateGrace time.Duration, unreadable map[string]string) (DueSchedules, error) {
	args := []any{watcher, millis(lateGrace), maxDueSchedules}
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

// MaxFirings returns the number of times that FireSchedule takes in one call.
func (s *DueSchedule) MaxFirings() int {
	return min(maxFireJobs, max(1, maxFireBytes/max(1, s.size)))
}

// FireSchedule adds a job for each of some times, and sets the next time; zero means
// never. If the schedule was fired, changed or removed since it was read, nothing happens
// and fired is false: the call can be repeated, and of several calls for one time one
// fires. The error wraps [ErrInvalid] if the schedule's record is damaged.
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

// A CatchUp decides what happens to times at which no worker watched the queue.
type CatchUp string

// A CronSchedule adds a job to its queue at each time of an expression. Package delayed
// interprets expressions and zones, and fires schedules; here they are texts.
type CronSchedule struct {
	Name string // unique in its queue; it follows the rules for names of queues
	Expr string // times, such as "30 6 * * 1-5"
	Zone string // name of a time zone, such as "Europe/Berlin"; empty means UTC

	Queue   string // empty means [DefaultQueue]
	Kind    string
	Args    []byte
	Options Options // without Queue, Delay, At and Deadline

	CatchUp CatchUp

	// Revision is that of the configuration that has the schedule, above zero. It
	// is zero if a person added it. See [RevisionError].
	Revision int
}

// A RevisionError reports that a schedule of a configuration was not stored, because a
// schedule of the same name has a revision that isn't lower.
type RevisionError struct {
	Schedule string
	Given    int // revision that was refused
	Stored   int // revision that is there: higher, or the same with other content
}

func (e *RevisionError) Error() string {
	if e.Given < e.Stored {
		return fmt.Sprintf("schedule %s was left as it is: revision %d is there, this configuration has %d", e.Schedule, e.Stored, e.Given)
	}
	return fmt.Sprintf("schedule %s is refused: revision %d is there with other content; raise the revision in the configuration that is to hold", e.Schedule, e.Stored)
}

// Outdated reports whether a newer revision is stored, which is no mistake while an old and
// a new configuration run side by side.
func (e *RevisionError) Outdated() bool { return e.Given < e.Stored }

// Validate returns an error, which wraps [ErrInvalid], if the schedule is invalid. It does
// not check the expression, the zone, the kind and the args.
func (s CronSchedule) Validate() error {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return err
	}
	return checkName("queue", s.Queue)
}
