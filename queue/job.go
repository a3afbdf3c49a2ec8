package queue

import (
	"errors"
	"fmt"
	"time"
)

// A State is where a job is. Every accepted job that has not finished is in
// exactly one.
type State string

// The states.
const (
	Waiting  State = "waiting"  // in a line, for a worker
	Delayed  State = "delayed"  // for its time: scheduled, or for a retry
	Active   State = "active"   // a worker has it
	Dead     State = "dead"     // failed for good, kept for a person to look at
	Finished State = "finished" // kept for as long as its Retain says
)

// An Outcome is what became of a finished job.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Discarded Outcome = "discarded" // its handler said that there is nothing to do
	Cancelled Outcome = "cancelled"
	Died      Outcome = "dead"
)

// A Job is one piece of work. Fields are as of when it was read. Jobs must not
// be changed while handlers use them.
type Job struct {
	ID       string
	Queue    string
	Kind     string
	Args     []byte // as they were given to Enqueue; not JSON unless the sender made it so
	Priority Priority

	MaxAttempts int           // 0: the worker's default
	Timeout     time.Duration // 0: the worker's default
	Deadline    time.Time     // zero: none
	Unique      Unique
	Retain      time.Duration
	Headers     map[string]string
	Then        []NewJob // enqueued when it succeeds

	Enqueued      time.Time // by Redis's clock
	Attempts      int       // attempts that have failed so far
	Forgiven      int       // those of them that don't count towards MaxAttempts, since somebody let it run again: see [Client.Retry]
	Errors        []Failure // of the latest failed attempts, oldest first, at most 10
	SharedCrashes int       // how often in a row its worker died while it had it and ran others too
	SoloCrashes   int       // how often its worker died while it ran alone

	// Of a job that was looked up: where it is.
	State  State
	Due    time.Time // when delayed
	Worker string    // when active: who has it
	Taken  time.Time // and since when, by Redis's clock

	// Of a job that is dead or finished.
	Ended   time.Time
	Outcome Outcome
	Reason  string // why it is dead, discarded or cancelled
	Result  []byte

	local   string        // id within the queue
	packed  string        // args as they are stored
	packing string        // how: "" or "zstd"
	then    string        // Then as it is stored
	line    line          // where it was fetched from
	entry   string        // and as which entry
	ahead   time.Duration // by how much this machine's clock was ahead of Redis's then
}

// A Failure is an attempt that ended with an error.
type Failure struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Error   string    `json:"error"`
}

// Size is how many bytes the args take in Redis.
func (j *Job) Size() int { return len(j.packed) }

// errNoKind says why an entry can't be run.
var errNoKind = errors.New("it has no kind")

// complete derives what is not stored and checks the rest. limit bounds the
// unpacked args.
func (j *Job) complete(queue string, limit int) error {
	j.Queue = queue
	if j.local == "" && j.entry != "" {
		j.local = string(j.line.priority().letter()) + j.entry
	}
	j.ID = globalID(queue, j.local)
	if j.Enqueued.IsZero() && len(j.local) > 1 {
		if ms, ok := entryTime(j.local[1:]); ok {
			j.Enqueued = time.UnixMilli(ms)
		}
	}
	if j.Kind == "" {
		return errNoKind
	}
	if err := checkKind(j.Kind); err != nil {
		return err
	}
	var err error
	if j.Args, err = unpack(j.packed, j.packing, limit); err != nil {
		return fmt.Errorf("args: %w", err)
	}
	return nil
}

// plain reports whether a success needs nothing but its entry removed.
func (j *Job) plain() bool {
	return j.line.fresh() && j.local[1:] == j.entry && j.Unique.Key == "" && j.Retain == 0 && len(j.then) == 0
}

// LocalDeadline is the deadline of a job that was fetched, by the clock of this
// machine, whatever that shows: deadlines are by Redis's clock. Zero: none.
func (j *Job) LocalDeadline() time.Time {
	if j.Deadline.IsZero() {
		return j.Deadline
	}
	return j.Deadline.Add(j.ahead)
}

// Waited is for how long a job that was fetched has been in its line by now, by
// Redis's clock; false for one that was not fetched.
func (j *Job) Waited() (time.Duration, bool) {
	ms, ok := entryTime(j.entry)
	if !ok {
		return 0, false
	}
	return max(0, time.Since(time.UnixMilli(ms))-j.ahead), true
}

// SameDelivery reports whether two jobs that were fetched are the same one, and
// it was not given back in between.
func (j *Job) SameDelivery(other *Job) bool {
	return j.local == other.local && j.line == other.line && j.entry == other.entry
}
