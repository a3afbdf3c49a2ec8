package queue

import (
	"cmp"
	"fmt"
	"time"
)

// Headers of the jobs that schedules add.
const (
	HeaderSchedule = "schedule" // name of the schedule
	HeaderDue      = "due"      // time at which the job was due, in RFC 3339
)

const (
	maxSchedules    = 1000     // of one queue
	maxScheduleSize = 64 << 10 // bytes of one schedule, with its args
	maxFirings      = 10       // stored firings of one schedule
	maxScheduleExpr = 256      // bytes of an expression or a zone
)

// The catch-up policies.
const (
	CatchUpNone CatchUp = "none" // they are skipped; the default
	CatchUpLast CatchUp = "last" // the latest of them fires
	CatchUpAll  CatchUp = "all"  // they all fire, oldest first, up to the bound of package delayed
)

// A CatchUp decides what happens to times at which no worker watched the queue.
type CatchUp string

// A CronSchedule adds a job to its queue at each time of an expression. Package delayed
// interprets expressions and zones, and fires schedules; here they are texts. A queue has
// at most 1,000 schedules, each of at most 64 KiB with its args.
type CronSchedule struct {
	Name string // unique in its queue; it follows the rules for names of queues
	Expr string // times, such as "30 6 * * 1-5"
	Zone string // name of a time zone, such as "Europe/Berlin"; empty means UTC

	Queue   string // empty means [DefaultQueue]
	Kind    string
	Args    []byte
	Options Options // without Queue, Delay, At, Deadline and Durable

	CatchUp CatchUp

	// Revision is that of the configuration that has the schedule, above zero. It
	// is zero if a person added it. See [RevisionError].
	Revision int

	// IfVersion is the [CronScheduleInfo] Version that [PoolQueue.PutSchedule] replaces: if
	// there is another one, or none, the error is [ErrChanged]. Then the Revision is at least
	// that of the replaced one. "*" means any that is there, "!*" none, empty both. It is
	// not stored.
	IfVersion string

	paused bool // of a stored one
}

// A RevisionError reports that a schedule of a configuration was not stored, because a
// schedule of the same name has a revision that isn't lower. If Given is below Stored, that
// is no mistake while an old and a new configuration run side by side.
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

// A Firing is one time at which a schedule fired.
type Firing struct {
	Due    time.Time // the time of the schedule
	Fired  time.Time // when it fired, by Redis's clock
	JobID  string    // the job that was added; empty if HeldBy prevented it
	HeldBy string    // the job that held the unique key
	Manual bool      // whether [Queue.RunSchedule] fired it
}

// A CronScheduleInfo is a schedule as stored in Redis.
type CronScheduleInfo struct {
	CronSchedule

	Version string // differs for different content; empty in lists
	Paused  bool   // by [PoolQueue.PauseSchedule]: it has no next time

	// Next is when it fires next; zero means never. A time in the past fires, or is
	// skipped, as soon as a worker watches the queue.
	Next time.Time

	Last []Firing // latest first, at most 10

	// Err is why the schedule can't be read, and therefore never fires; then only
	// its name and queue are set. Adding it again repairs it.
	Err error
}

// withDefaults returns the schedule with a queue, a zone and a catch-up policy.
func (s CronSchedule) withDefaults() CronSchedule {
	s.Queue = cmp.Or(s.Queue, DefaultQueue)
	s.Zone = cmp.Or(s.Zone, "UTC")
	s.CatchUp = cmp.Or(s.CatchUp, CatchUpNone)
	s.Options.Queue = cmp.Or(s.Options.Queue, s.Queue)
	return s
}

// Validate returns an error, which wraps [ErrInvalid], if the schedule is invalid. It does
// not check the expression, the zone, the kind and the args.
func (s CronSchedule) Validate() error {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return err
	}
	return checkName("queue", s.Queue)
}

// validate returns an error if the schedule is invalid, apart from its expression and zone.
func (s CronSchedule) validate() error {
	if err := checkName("schedule", s.Name); err != nil {
		return err
	}
	o := s.Options
	switch {
	case len(s.Expr) == 0 || len(s.Expr) > maxScheduleExpr:
		return invalid("expression of %d bytes: want 1 to %d", len(s.Expr), maxScheduleExpr)
	case len(s.Zone) > maxScheduleExpr:
		return invalid("zone of %d bytes: at most %d", len(s.Zone), maxScheduleExpr)
	case s.CatchUp != CatchUpNone && s.CatchUp != CatchUpLast && s.CatchUp != CatchUpAll:
		return invalid("catch-up %.40q: want none, last or all", s.CatchUp)
	case s.Revision < 0:
		return invalid("revision %d: it can't be below zero", s.Revision)
	case o.Queue != s.Queue:
		return invalid("queue %.140q in the options: the schedule is of queue %s", o.Queue, s.Queue)
	case o.Delay != 0 || !o.At.IsZero() || !o.Deadline.IsZero():
		return invalid("a schedule's jobs have no delay, time or deadline: the expression says when")
	case o.Durable:
		return invalid("a schedule's jobs can't be durable: workers add them, and wait for no confirmation")
	}
	for _, name := range []string{HeaderSchedule, HeaderDue} {
		if _, taken := o.Headers[name]; taken {
			return invalid("header %q: it is set by the schedule", name)
		}
	}
	return nil
}

// Bounds of one script that fires schedules.
const (
	maxDueSchedules = 50
	maxFireJobs     = 50
	maxFireBytes    = 256 << 10
)
