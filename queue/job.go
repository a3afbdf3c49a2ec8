package queue

import (
	"errors"
	"fmt"
	"time"
)

// A State is the place of a job in its life. Every accepted job that has not finished is
// in exactly one state.
type State string

// The states.
const (
	Waiting  State = "waiting"  // in a line, ready for a worker
	Delayed  State = "delayed"  // until its time: scheduled, snoozed or to be retried
	Active   State = "active"   // held by a worker
	Dead     State = "dead"     // failed for good, kept for inspection
	Finished State = "finished" // its result is kept for [Options.Retain]
)

// An Outcome is the end of a finished or dead job.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Discarded Outcome = "discarded" // its handler found nothing to do
	Cancelled Outcome = "cancelled"
	Died      Outcome = "dead"
)

// A Job is one unit of work, as of when it was read. It must not be changed while a
// handler uses it.
type Job struct {
	ID       string
	Queue    string
	Kind     string
	Args     []byte // as passed to Enqueue: JSON, unless the sender used [Raw]
	Priority Priority

	MaxAttempts int           // zero: the worker's default
	Timeout     time.Duration // zero: the worker's default
	Deadline    time.Time     // zero: none
	Unique      Unique
	Retain      time.Duration
	Headers     map[string]string
	Then        []NewJob // enqueued when it succeeds

	Enqueued    time.Time // by Redis's clock
	Attempts    int       // attempts that have failed so far
	Forgiven    int       // number of them that do not count towards MaxAttempts since [Client.Retry]
	Errors      []Failure // of the latest failed attempts, oldest first, at most 10
	Quarantines int       // how often it was quarantined since an attempt last ended, or since it is the only job of its group: its worker died while it held the job
	Crashes     int       // number of its workers that died while it was the only job of its quarantined group

	// Of a quarantined job.
	Group     string // that it belongs to; "" if the job is not quarantined
	GroupSize int    // number of jobs with which the group began

	// Of a job that was read by Get or List.
	State  State
	Due    time.Time // when delayed
	Worker string    // when active: the worker that holds it
	Taken  time.Time // when active: since when, by Redis's clock

	// Of a job that is dead or finished.
	Ended   time.Time
	Outcome Outcome
	Reason  string // why it is dead, discarded or cancelled
	Result  []byte

	local   string        // id within the queue
	packed  string        // args as they are stored
	packing string        // "" or "zstd"
	then    string        // Then as it is stored
	line    line          // where it was fetched
	entry   string        // id of its entry there
	ahead   time.Duration // how far the local clock was ahead of Redis's then
}

// A Failure is an attempt that ended with an error. The fields behind Error are zero where they
// are not known, and are not part of its JSON.
type Failure struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Error   string    `json:"error"`

	Worker  string        `json:"-"` // the lease under which it ran
	Started time.Time     `json:"-"` // by Redis's clock
	Took    time.Duration `json:"-"`
	Stack   string        `json:"-"` // of a panic, the first 4 KiB; the latest three of a job are kept
}

// packedSize returns about the size of the args and the headers in Redis, in bytes.
func (j *Job) packedSize() int { return len(j.packed) + headerSize(j.Headers) }

// errNoKind is why an entry without a kind can't run.
var errNoKind = errors.New("it has no kind")

// complete derives the fields that are not stored and validates the others. limit bounds
// the uncompressed args.
func (j *Job) complete(queue string, limit int) error {
	j.Queue = queue
	if j.line == 0 || j.line.kind() != quarantineLine {
		j.Group, j.GroupSize = "", 0
	}
	if j.local == "" && j.entry != "" {
		j.ID = globalID(queue, string(j.line.priority().letter())+j.entry)
		j.local = j.ID[len(j.ID)-len(j.entry)-1:] // one text for both
	} else {
		j.ID = globalID(queue, j.local)
	}
	if j.Enqueued.IsZero() {
		if ms, ok := addedAt(j.local); ok {
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

// plain reports whether finishing the job with success only removes what is stored about it.
func (j *Job) plain() bool { return j.Unique.Key == "" && j.Retain == 0 && len(j.then) == 0 }
