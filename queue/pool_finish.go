package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/internal/rdb"
)

// A Disposition is the way in which an attempt ended.
type Disposition int8

// The ways in which an attempt ends.
const (
	AttemptSucceeded Disposition = iota
	AttemptDiscarded             // there was nothing to do; Reason is why
	AttemptCancelled
	AttemptRetry    // failed with Reason; the next attempt is after Wait
	AttemptSnoozed  // postponed for Wait; does not count as an attempt
	AttemptDead     // failed for good with Reason
	AttemptReturned // handed back to the front; does not count as an attempt

	attemptMalformed // not a valid job; Reason is why
)

// String returns a word such as "retry".
func (d Disposition) String() string {
	words := [...]string{"succeeded", "discarded", "cancelled", "retry", "snoozed", "dead", "returned", "malformed"}
	if d < 0 || int(d) >= len(words) {
		return fmt.Sprintf("Disposition(%d)", int8(d))
	}
	return words[d]
}

// A Completion is the end of an attempt at a job.
type Completion struct {
	Job         *Job
	Disposition Disposition
	Wait        time.Duration // with AttemptRetry and AttemptSnoozed
	Reason      string
	Result      []byte // kept if the job is retained, and returned by [Client.Wait]

	// Of the attempt, for statistics: how long the job had been in its line at the start,
	// negative if it was not started, and how long its handler took, zero if that is not known.
	Waited, Took time.Duration

	// Failure has the Started, by the local clock, Took and Stack of an attempt that failed; nil
	// if they are not known.
	Failure *Failure

	// Then are the jobs to add in the same step, with AttemptSucceeded: those of
	// the job, with its result filled in.
	Then []NewJob

	// Duplicates is set by [Lease.Finish]: for each job of Then that was not added, the job
	// that holds its unique key.
	Duplicates []*DuplicateError
}

// maxBatch is the maximum number of jobs that one script handles.
const maxBatch = 500

// recordWork is the time that a script takes for a job with a record, relative to a plain
// job.
const recordWork = 8

// shortWork is recordWork for adding a delayed job without other options.
const shortWork = 2

// maxBatchBytes is the maximum size of the args of the jobs that one script handles, if they are
// more than one.
const maxBatchBytes = 256 << 10

// Finish stores the ends of attempts, sets [Completion.Duplicates], and returns the number of jobs
// that it changed: it skips jobs that were finished or deleted before, so it can be repeated.
// After [ErrLeaseLost] no further job was changed: other workers have them. A job must not occur
// twice. Completions are stored in steps of at most 500, each of them atomic.
func (l *Lease) Finish(ctx context.Context, completions []Completion) (changed int, err error) {
	ctx = l.expectServer(ctx)
	for len(completions) > 0 {
		args, took := l.finishArgs(completions)
		reply, err := l.queue.run(ctx, finishScript, args...)
		if err != nil {
			return changed, err
		}
		for i := range reply.Len() {
			changed += int(reply.Int(i))
			if duplicates := reply.List(i); duplicates.Len() > 0 {
				changed++
				l.queue.setDuplicates(completions[:took], duplicates)
			}
		}
		completions = completions[took:]
	}
	return changed, nil
}

// setDuplicates sets the duplicates of one of the completions, of which the reply has the
// job's id, and for each duplicate its place, its key and the holder of that.
func (q *PoolQueue) setDuplicates(completions []Completion, reply rdb.Reply) {
	of := slices.IndexFunc(completions, func(e Completion) bool { return e.Job.local == reply.Text(0) })
	for ; of >= 0 && reply.Len() > 0; reply = reply.From(4) {
		duplicate := &DuplicateError{Key: reply.Text(2), Owner: globalID(q.name, reply.Text(3))}
		completions[of].Duplicates = append(completions[of].Duplicates, duplicate)
	}
}

// finishArgs returns the arguments for as many completions as fit one call, and their
// number.
func (l *Lease) finishArgs(completions []Completion) (args []any, took int) {
	args = make([]any, 1, 8+len(completions))
	args[0] = l.worker
	var plain [lineCount + 1][]*Job // jobs that succeeded and need no more, by line
	size, work := 0, 0
	for ; took < len(completions) && work < maxBatch; took++ {
		e := completions[took]
		if e.Disposition == AttemptSucceeded && e.Job.plain() && len(e.Result) == 0 && len(e.Then) == 0 {
			plain[e.Job.line] = append(plain[e.Job.line], e.Job)
			work++
			continue
		}
		more := append(l.queue.thenArgs(&e), e.args(l.worker)...)
		if e.Disposition == AttemptReturned {
			size += e.Job.packedSize() // the script writes it again
		}
		for _, arg := range more {
			if record, ok := arg.([]byte); ok {
				size += len(record)
			}
		}
		if took > 0 && size > maxBatchBytes {
			break
		}
		work += recordWork * (1 + len(e.Then))
		args = append(args, more...)
	}
	for at := line(1); at <= lineCount; at++ {
		args = append(args, plainFinishArgs(at, plain[at])...)
	}
	return args, took
}

// plainFinishArgs returns the arguments for jobs of a line that succeeded and need no more.
func plainFinishArgs(at line, jobs []*Job) []any {
	if len(jobs) == 0 {
		return nil
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return compareEntries(a.entry, b.entry) })
	args := make([]any, 0, 3+2*len(jobs))
	args = append(args, "ok", int(at), len(jobs))
	for _, job := range jobs {
		args = append(args, job.entry)
	}
	if at.kind() != freshLine {
		for _, job := range jobs {
			args = append(args, job.local)
		}
	}
	return args
}

// args returns the arguments of the script for a completion of a worker.
func (e *Completion) args(worker string) []any {
	j, reason := e.Job, truncate(e.Reason, maxErrorText)
	switch e.Disposition {
	case AttemptRetry:
		failed := *j
		failed.fail(reason, worker, e.Failure)
		failed.Quarantines = 0 // the attempt ended
		record := failed.record()
		if len(record) >= largeRecord {
			record = append(j.completed(record, "since"), retryMark...)
		}
		return []any{"retry", int(j.line), j.entry, j.local, record, millis(e.Wait), 1}
	case AttemptSnoozed:
		again := *j
		again.Quarantines = 0 // the attempt ended
		return []any{"retry", int(j.line), j.entry, j.local, j.completed(again.record(), "since"), millis(e.Wait), 0}
	case AttemptDead:
		failed := *j
		failed.fail(reason, worker, e.Failure)
		record := appendField(failed.record(), "reason", reason)
		return []any{"dead", int(j.line), j.entry, j.local, j.Unique.Key, j.Unique.Scope.word(), j.completed(record, "ended")}
	case AttemptReturned:
		return []any{"back", int(j.line), j.entry, j.local}
	case attemptMalformed:
		return []any{"malformed", int(j.line), j.entry, reason}
	}
	outcome := [...]Outcome{AttemptSucceeded: Succeeded, AttemptDiscarded: Discarded, AttemptCancelled: Cancelled}[e.Disposition]
	record := appendField(j.record(), "outcome", string(outcome))
	record = appendField(record, "reason", reason)
	record = appendField(record, "result", e.Result)
	return []any{"end", int(j.line), j.entry, j.local, string(outcome), j.Unique.Key, j.Unique.Scope.word(), j.Retain.Milliseconds(), j.completed(record, "ended")}
}

// A record of at least largeRecord bytes is completed here, because for each field that a script
// appends Lua reads the whole record, byte by byte (1.3 ms for 1 MiB).
const largeRecord = 64 << 10

const retryMark = "5:retry1:1"

// completed appends a field with the time, by Redis's clock, to a record that is large.
func (j *Job) completed(record []byte, name string) []byte {
	if len(record) < largeRecord {
		return record
	}
	return appendNumber(record, name, time.Now().Add(-j.ahead).UnixMilli())
}

// truncate bounds a text, in bytes.
func truncate(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// fail records a failed attempt. known may be nil.
func (j *Job) fail(reason, worker string, known *Failure) {
	j.Attempts++
	failure := Failure{Attempt: j.Attempts, Time: time.Now().Add(-j.ahead), Error: reason, Worker: worker}
	if known != nil {
		failure.Took, failure.Stack = known.Took, truncate(known.Stack, maxStack)
		if !known.Started.IsZero() {
			failure.Started = known.Started.Add(-j.ahead)
		}
	}
	old := j.Errors[max(0, len(j.Errors)-maxErrors+1):]
	j.Errors = append(append(make([]Failure, 0, len(old)+1), old...), failure)
	for i := range max(0, len(j.Errors)-maxStacks) {
		j.Errors[i].Stack = ""
	}
}

// Forward is the kind of jobs that add another job to another queue: no script can change
// both queues, so [Options.Then] for another queue takes this way. Every pool of package
// workers has a handler for it.
const Forward = "skidway.forward"

// A Forwarding is the args of a [Forward].
type Forwarding struct {
	Job NewJob `json:"job"` // without args: only the Then of the forwarding job is added
}

// Kind returns [Forward].
func (Forwarding) Kind() string { return Forward }

// encodeThen encodes the jobs that follow a completion.
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
		job.record, job.short = job.asRecord(), false
		jobs[n] = job
	}
	return jobs, nil
}

// ThenFailed returns the completion of a job that succeeded although the jobs that follow it
// can't be added: it is dead, so that they are not forgotten.
func (e Completion) ThenFailed(err error) Completion {
	e.Disposition, e.Reason = AttemptDead, "it succeeded, but what follows it can't be enqueued: "+err.Error()
	e.Result, e.Then = nil, nil
	return e
}

// thenArgs returns the arguments for the jobs that follow a completion, which precede its
// own. Most completions have none.
func (q *PoolQueue) thenArgs(e *Completion) []any {
	if e.Disposition != AttemptSucceeded || len(e.Then) == 0 {
		return nil
	}
	jobs, err := q.encodeThen(e)
	if err != nil {
		*e = e.ThenFailed(err)
		return nil
	}
	args := []any{"then", len(jobs)}
	for i := range jobs {
		args = append(args, jobs[i].recordArgs()...)
	}
	return args
}
