package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What the headers of a job that a schedule has made are called: the name of the
// schedule, and the time in RFC 3339 at which the job fell due.
const (
	HeaderSchedule = "schedule"
	HeaderDue      = "due"
)

// ErrNoSchedule: the queue has no schedule of that name.
var ErrNoSchedule = errors.New("no such schedule")

// Bounds of schedules.
const (
	MaxSchedules    = 1000     // of one queue
	MaxScheduleSize = 64 << 10 // bytes of one schedule, nearly all of them args
	MaxScheduleExpr = 256      // bytes of an expression, and of a zone
	MaxFirings      = 10       // that are remembered of a schedule
)

// A CatchUp says what becomes of times that fell due while nobody watched.
type CatchUp string

// The ways to catch up. An empty CatchUp means [CatchUpNone].
const (
	CatchUpNone CatchUp = "none" // they are passed over
	CatchUpLast CatchUp = "last" // the newest of them fires
	CatchUpAll  CatchUp = "all"  // they all fire, oldest first; package delayed says how many at most
)

// A Schedule adds a job to its queue each time that an expression says. Package
// delayed knows what expressions and zones mean, and fires schedules; here they
// are texts.
type CronSchedule struct {
	Name string // tells it from all others of its queue; made as the name of a queue is
	Expr string // when, as in "30 6 * * 1-5"
	Zone string // name of a time zone as in "Europe/Berlin"; empty means UTC

	Queue   string // empty means [DefaultQueue]
	Kind    string
	Args    []byte
	Options Options // without Queue, Delay, At and Deadline

	CatchUp CatchUp

	// Revision of the configuration that it comes from, above zero. Zero: a
	// person added it. See [RevisionError].
	Revision int
}

// A Firing is one time at which a schedule was to add a job.
type Firing struct {
	Due    time.Time // when it was to fire
	Fired  time.Time // when it did, by Redis's clock
	JobID  string    // the job that was added; empty: none was, because of HeldBy
	HeldBy string    // the job that held the unique key
	Manual bool      // somebody wanted it then
}

// A ScheduleInfo is a schedule as it stands in Redis.
type CronScheduleInfo struct {
	CronSchedule

	// Next is when it fires next; zero: never. A time in the past is about to
	// be fired, or passed over, by whoever watches the queue next.
	Next time.Time

	Last []Firing // the newest first, at most [MaxFirings]

	// Err says why the schedule can't be read, and so never fires; then only
	// its name and queue are set. Adding it again mends it.
	Err error
}

// A RevisionError says that a schedule of a configuration was not stored,
// because another one of the same name is there whose revision isn't lower.
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

// Outdated reports whether a newer revision is there, which is no mistake while
// an old and a new configuration run side by side.
func (e *RevisionError) Outdated() bool { return e.Given < e.Stored }

// Check says what is wrong with a schedule, beside its expression, its zone, its
// kind and its args; that error wraps [ErrInvalid].
func (s CronSchedule) Validate() error {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return err
	}
	return checkName("queue", s.Queue)
}

// withDefaults returns the schedule with a queue, a zone and a way to catch up.
func (s CronSchedule) withDefaults() CronSchedule {
	s.Queue = cmp.Or(s.Queue, DefaultQueue)
	s.Zone = cmp.Or(s.Zone, "UTC")
	s.CatchUp = cmp.Or(s.CatchUp, CatchUpNone)
	s.Options.Queue = cmp.Or(s.Options.Queue, s.Queue)
	return s
}

// validate reports what is wrong with a schedule, beside its expression and zone.
func (s CronSchedule) validate() error {
	if err := checkName("schedule", s.Name); err != nil {
		return err
	}
	o := s.Options
	switch {
	case len(s.Expr) == 0 || len(s.Expr) > MaxScheduleExpr:
		return invalid("expression of %d bytes: want 1 to %d", len(s.Expr), MaxScheduleExpr)
	case len(s.Zone) > MaxScheduleExpr:
		return invalid("zone of %d bytes: at most %d", len(s.Zone), MaxScheduleExpr)
	case s.CatchUp != CatchUpNone && s.CatchUp != CatchUpLast && s.CatchUp != CatchUpAll:
		return invalid("catch-up %.40q: want none, last or all", s.CatchUp)
	case s.Revision < 0:
		return invalid("revision %d: it can't be below zero", s.Revision)
	case o.Queue != s.Queue:
		return invalid("queue %.140q in the options: the schedule is of queue %s", o.Queue, s.Queue)
	case o.Delay != 0 || !o.At.IsZero() || !o.Deadline.IsZero():
		return invalid("a schedule's jobs have no delay, time or deadline: the expression says when")
	}
	for _, name := range []string{HeaderSchedule, HeaderDue} {
		if _, taken := o.Headers[name]; taken {
			return invalid("header %q: it is set by the schedule", name)
		}
	}
	return nil
}

// Bounds of the steps of a watch.
const (
	maxDueSchedules = 50
	maxFireJobs     = 50
	maxFireBytes    = 256 << 10
)

// RunSchedule fires a schedule now and gives the id of its job. The times at
// which it fires stay. A call whose answer was lost is repeated, without adding
// another job. [ErrNoSchedule] says that there is no such schedule, a
// [DuplicateError] that another job holds the unique key.
func (q *Queue) RunSchedule(ctx context.Context, name string) (id string, err error) {
	for token := rand.Text(); ; {
		stored, err := q.readSchedule(ctx, name)
		if err != nil {
			return "", err
		}
		if stored.record == "" {
			return "", fmt.Errorf("schedule %.140s of queue %s: %w", name, q.name, ErrNoSchedule)
		}
		s, err := q.decodeSchedule(name, stored.record)
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
