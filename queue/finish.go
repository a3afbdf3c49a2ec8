package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An As says how an attempt ended.
type As int8

// The ways in which an attempt ends.
const (
	AsSucceeded As = iota
	AsDiscarded    // nothing to do; Reason says why
	AsCancelled    // somebody cancelled it
	AsRetry        // failed with Reason; again after Wait
	AsSnoozed      // not an attempt; again after Wait
	AsDead         // failed for good with Reason
	AsReturned     // not finished: to the front, not an attempt

	asMalformed // it is no job, says Reason
)

// String is a word for the way, as "retry".
func (a As) String() string {
	words := [...]string{"succeeded", "discarded", "cancelled", "retry", "snoozed", "dead", "returned", "malformed"}
	if a < 0 || int(a) >= len(words) {
		return fmt.Sprintf("As(%d)", int8(a))
	}
	return words[a]
}

// An Ending is what became of an attempt at a job.
type Ending struct {
	Job    *Job
	As     As
	Wait   time.Duration // with AsRetry and AsSnoozed
	Reason string
	Result []byte // kept if the job is retained, and given to those who wait for it

	// Then are enqueued in the same step with AsSucceeded: the job's own, with
	// its result filled in.
	Then []Insert
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
func (l *Lease) Finish(ctx context.Context, endings []Ending) (changed int, err error) {
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
func (l *Lease) finishArgs(endings []Ending) (args []any, took int) {
	args = make([]any, 1, 8+len(endings))
	args[0] = l.worker
	var plain [lineCount + 1][]string // entries that succeeded and need no more, by line
	size := 0
	for work := 0; took < len(endings) && work < maxBatch && size < maxBatchBytes; {
		e := endings[took]
		took++
		if e.As == AsSucceeded && e.Job.plain() && len(e.Result) == 0 && len(e.Then) == 0 {
			plain[e.Job.line] = append(plain[e.Job.line], e.Job.entry)
			work++
			continue
		}
		work += recordWork * (1 + len(e.Then))
		if e.As == AsReturned {
			size += e.Job.Size() // the script writes it again
		}
		more := append(l.queue.follow(&e), e.args()...)
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

func (e *Ending) args() []any {
	j, reason := e.Job, cut(e.Reason)
	switch e.As {
	case AsRetry:
		failed := *j
		failed.fail(reason)
		failed.Suspected = 0 // it came back
		return []any{"retry", int(j.line), j.entry, j.local, failed.record(), millis(e.Wait), 1}
	case AsSnoozed:
		again := *j
		again.Suspected = 0 // it came back
		return []any{"retry", int(j.line), j.entry, j.local, again.record(), millis(e.Wait), 0}
	case AsDead:
		failed := *j
		failed.fail(reason)
		record := appendField(failed.record(), "reason", reason)
		return []any{"dead", int(j.line), j.entry, j.local, j.Unique.Key, j.Unique.Scope.word(), record}
	case AsReturned:
		return []any{"back", int(j.line), j.entry, j.local}
	case asMalformed:
		return []any{"malformed", int(j.line), j.entry, reason}
	}
	outcome := [...]Outcome{AsSucceeded: Succeeded, AsDiscarded: Discarded, AsCancelled: Cancelled}[e.As]
	record := appendField(j.record(), "outcome", string(outcome))
	record = appendField(record, "reason", reason)
	record = appendField(record, "result", e.Result)
	return []any{"end", int(j.line), j.entry, j.local, string(outcome), j.Unique.Key, j.Unique.Scope.word(), j.Retain.Milliseconds(), record}
}

// cut bounds what is kept of an error's text.
func cut(text string) string {
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
