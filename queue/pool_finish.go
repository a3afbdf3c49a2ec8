package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An As says how an attempt ended.
type Disposition int8

// The ways in which an attempt ends.
const (
	AttemptSucceeded Disposition = iota
	AttemptDiscarded             // nothing to do; Reason says why
	AttemptCancelled             // somebody cancelled it
	AttemptRetry                 // failed with Reason; again after Wait
	AttemptSnoozed               // not an attempt; again after Wait
	AttemptDead                  // failed for good with Reason
	AttemptReturned              // not finished: to the front, not an attempt

	attemptMalformed // it is no job, says Reason
)

// String is a word for the way, as "retry".
func (a Disposition) String() string {
	words := [...]string{"succeeded", "discarded", "cancelled", "retry", "snoozed", "dead", "returned", "malformed"}
	if a < 0 || int(a) >= len(words) {
		return fmt.Sprintf("As(%d)", int8(a))
	}
	return words[a]
}

// An Ending is what became of an attempt at a job.
type Completion struct {
	Job         *Job
	Disposition Disposition
	Wait        time.Duration // with AttemptRetry and AttemptSnoozed
	Reason      string
	Result      []byte // kept if the job is retained, and given to those who wait for it

	// Then are enqueued in the same step with AttemptSucceeded: the job's own, with
	// its result filled in.
	Then []NewJob
}

// maxBatch is the most jobs that one script handles.
const maxBatch = 500

// recordWork is for how many plain jobs one counts that needs a record written:
// it takes a script that much longer.
const recordWork = 8

// maxBatchBytes is about the most bytes sent to one script.
const maxBatchBytes = 4 << 20

// Finish writes what became of jobs, and gives the number of those that it
// changed: a job that was finished or deleted before is passed over. So it can
// be repeated. With [ErrLeaseLost] nothing (more) was changed: others have the
// jobs. A job may be among them once. Endings go in steps of at most 500, each of
// which is atomic.
func (l *Lease) Finish(ctx context.Context, endings []Completion) (changed int, err error) {
	for len(endings) > 0 {
		args, took := l.finishArgs(endings)
		reply, err := l.queue.run(ctx, finishScript, args...)
		if err != nil {
			return changed, err
		}
		for i := range reply.Len() {
			changed += int(reply.Int(i))
		}
		endings = endings[took:]
	}
	return changed, nil
}

// finishArgs gives the arguments for as many endings as fit one call.
func (l *Lease) finishArgs(endings []Completion) (args []any, took int) {
	args = make([]any, 1, 8+len(endings))
	args[0] = l.worker
	var plain [lineCount + 1][]string // entries that succeeded and need no more, by line
	size := 0
	for work := 0; took < len(endings) && work < maxBatch && size < maxBatchBytes; {
		e := endings[took]
		took++
		if e.Disposition == AttemptSucceeded && e.Job.plain() && len(e.Result) == 0 && len(e.Then) == 0 {
			plain[e.Job.line] = append(plain[e.Job.line], e.Job.entry)
			work++
			continue
		}
		work += recordWork * (1 + len(e.Then))
		if e.Disposition == AttemptReturned {
			size += e.Job.Size() // the script writes it again
		}
		more := append(l.queue.thenArgs(&e), e.args()...)
		args = append(args, more...)
		for _, arg := range more {
			if record, ok := arg.([]byte); ok {
				size += len(record)
			}
		}
	}
	for at, entries := range plain {
		if len(entries) == 0 {
			continue
		}
		slices.SortFunc(entries, compareEntries)
		args = append(args, "ok", at, len(entries))
		for _, entry := range entries {
			args = append(args, entry)
		}
	}
	return args, took
}

func (e *Completion) args() []any {
	j, reason := e.Job, truncate(e.Reason)
	switch e.Disposition {
	case AttemptRetry:
		failed := *j
		failed.fail(reason)
		failed.SharedCrashes = 0 // it came back
		return []any{"retry", int(j.line), j.entry, j.local, failed.record(), millis(e.Wait), 1}
	case AttemptSnoozed:
		again := *j
		again.SharedCrashes = 0 // it came back
		return []any{"retry", int(j.line), j.entry, j.local, again.record(), millis(e.Wait), 0}
	case AttemptDead:
		failed := *j
		failed.fail(reason)
		record := appendField(failed.record(), "reason", reason)
		return []any{"dead", int(j.line), j.entry, j.local, j.Unique.Key, j.Unique.Scope.word(), record}
	case AttemptReturned:
		return []any{"back", int(j.line), j.entry, j.local}
	case attemptMalformed:
		return []any{"malformed", int(j.line), j.entry, reason}
	}
	outcome := [...]Outcome{AttemptSucceeded: Succeeded, AttemptDiscarded: Discarded, AttemptCancelled: Cancelled}[e.Disposition]
	record := appendField(j.record(), "outcome", string(outcome))
	record = appendField(record, "reason", reason)
	record = appendField(record, "result", e.Result)
	return []any{"end", int(j.line), j.entry, j.local, string(outcome), j.Unique.Key, j.Unique.Scope.word(), j.Retain.Milliseconds(), record}
}

// cut bounds what is kept of an error's text.
func truncate(text string) string {
	if len(text) > maxErrorText {
		return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}

// fail notes a failed attempt.
func (j *Job) fail(reason string) {
	j.Attempts++
	old := j.Errors[max(0, len(j.Errors)-maxErrors+1):]
	j.Errors = append(append(make([]Failure, 0, len(old)+1), old...), Failure{Attempt: j.Attempts, Time: time.Now(), Error: reason})
}

// Forward is the kind of a job that adds another one, to another queue. Jobs
// that follow one of another queue travel so: no script can touch both queues.
// Every pool of package workers has a handler for it.
const Forward = "skidway.forward"

// A Forwarding is the args of a [Forward].
type Forwarding struct {
	Job NewJob `json:"job"`
}

// Kind is [Forward].
func (Forwarding) Kind() string { return Forward }

// followers encodes the jobs that follow an ending.
func (q *PoolQueue) encodeThen(e *Completion) ([]encodedJob, error) {
	jobs := make([]encodedJob, len(e.Then))
	for n, next := range e.Then {
		next.Options = next.options()
		if next.Options.Queue == "" {
			next.Options.Queue = q.name
		}
		if next.Options.Queue != q.name {
			next = NewJob{Forwarding{next}, Options{Queue: q.name, Priority: next.Options.Priority}}
		}
		_, job, err := q.client.prepare(next)
		if err != nil {
			return nil, fmt.Errorf("then[%d]: %w", n, err)
		}
		job.record = job.asRecord()
		jobs[n] = job
	}
	return jobs, nil
}

// Unfollowed is how a job ends that succeeded, while the jobs that follow it can't
// be made: it is dead, since what was to come must not be forgotten.
func ThenFailed(job *Job, err error) Completion {
	return Completion{Job: job, Disposition: AttemptDead, Reason: "it succeeded, but what follows it can't be enqueued: " + err.Error()}
}

// follow gives the arguments for the jobs that follow an ending, to go before
// its own: none for most.
func (q *PoolQueue) thenArgs(e *Completion) []any {
	if e.Disposition != AttemptSucceeded || len(e.Then) == 0 {
		return nil
	}
	jobs, err := q.encodeThen(e)
	if err != nil {
		*e = ThenFailed(e.Job, err)
		return nil
	}
	args := []any{"then", len(jobs)}
	for i := range jobs {
		args = append(args, jobs[i].recordArgs()...)
	}
	return args
}
