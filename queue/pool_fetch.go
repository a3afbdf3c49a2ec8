package queue

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"skidway/internal/rdb"
)

// A FetchResult is the result of [Lease.Fetch].
type FetchResult struct {
	// Jobs are in the order in which they should start.
	Jobs []*Job

	// Malformed is the number of entries that were not valid jobs. They are dead,
	// with the reason.
	Malformed int

	// Lost has the held jobs passed to [Lease.Reread] whose delivery Redis has lost: they wait, or
	// another worker has them. There are such jobs only where [Lease.ServerChanged] reported true.
	// Their attempts must not be finished.
	Lost []*Job

	// More reports whether there are more jobs for [Lease.Reread].
	More bool

	// Paused reports whether the queue is paused: no jobs until [SignalResume].
	Paused bool

	// Cursors are the stream positions after which new jobs appear, if there were none:
	// without those of retries if RetryLimits.Max was zero.
	Cursors []StreamCursor
}

// FetchLimits bound what one fetch returns.
type FetchLimits struct {
	Jobs    int          // at least 1; more than 500 means 500
	Bytes   int          // of args and headers, at least 1; the fetch stops with the job that reaches it
	Retries *RetryLimits // nil: no more than Jobs

	// Quarantined bounds the quarantined jobs, see [Job.Group]. They are all of one
	// group: of that of which the worker holds jobs already, if there is one.
	Quarantined int
}

// RetryLimits bound the retries that one fetch returns, see [Job.IsRetry].
type RetryLimits struct {
	BesideOthers int  // maximum number while other jobs of the queue wait
	Max          int  // maximum number; at least BesideOthers
	First        bool // take one before other jobs of its priority, if BesideOthers allows it
}

// IsRetry reports whether a fetched job is a retry: its last attempt failed, and its delay
// has passed. A job that [Client.Retry] lets run again is none.
func (j *Job) IsRetry() bool { return j.entry != "" && j.line.kind() == retryLine }

func (f FetchLimits) validate() error {
	switch retries := f.Retries; {
	case f.Jobs < 1 || f.Bytes < 1:
		return invalid("fetch of %d jobs, %d bytes: want at least one", f.Jobs, f.Bytes)
	case f.Quarantined < 0:
		return invalid("fetch of %d quarantined jobs: want at least zero", f.Quarantined)
	case retries != nil && (retries.BesideOthers < 0 || retries.Max < retries.BesideOthers):
		return invalid("fetch of %d retries, %d beside other jobs: want at least zero, and no more beside others", retries.Max, retries.BesideOthers)
	}
	return nil
}

// Fetch returns jobs within the limits. It does not block. It opens the lease if it brings the
// first jobs of it; before that it adds the lease to the list of open leases, so that others find
// it if the worker dies, unless the master of a Cluster that has the list is away. After a
// [skidway.OutcomeUnknownError] the worker may hold jobs that it doesn't know: call [Lease.Reread]
// before the next fetch.
func (l *Lease) Fetch(ctx context.Context, limits FetchLimits) (FetchResult, error) {
	if err := limits.validate(); err != nil {
		return FetchResult{}, err
	}
	fetched, size, err := l.fetchNative(ctx, limits)
	if err != nil {
		return FetchResult{}, l.queue.explain(err)
	}
	fetched, err = l.fetchRest(ctx, limits, fetched, size)
	l.native.after(fetched.Jobs, limits, l.queue.client.nativeFrom)
	return fetched, err
}

// fetchByScript is Fetch by fetch.lua.
func (l *Lease) fetchByScript(ctx context.Context, limits FetchLimits) (FetchResult, error) {
	began := time.Now()
	args, db := l.fetchArgs(limits), l.queue.client.db
	var reply rdb.Reply
	var err error
	if l.open.Load() {
		reply, err = fetchScript.Run(l.expectServer(ctx), db, l.queue.keys, args...)
	} else {
		l.compared.Store(db.Restarts()) // there are no jobs to compare
		reply, err = fetchScript.RunAfter(l.expectServer(ctx), db, l.addRow(), l.queue.keys, args...)
	}
	if err != nil {
		return FetchResult{}, l.queue.explain(err)
	}
	return l.fetched(ctx, reply, limits, began)
}

// fetchArgs returns the arguments of fetch.lua.
func (l *Lease) fetchArgs(limits FetchLimits) []any {
	opening := time.Duration(0)
	if !l.open.Load() {
		opening = l.length
	}
	retries := limits.retries()
	return []any{
		l.worker, min(limits.Jobs, maxBatch), limits.Bytes,
		retries.BesideOthers, retries.Max, retries.First, limits.Quarantined, millis(opening),
	}
}

// reachedBy reports whether a fetch returns no more than some jobs with args of a size.
func (f FetchLimits) reachedBy(jobs, size int) bool {
	return jobs >= min(f.Jobs, maxBatch) || size >= f.Bytes
}

// retries returns the limits of retries.
func (f FetchLimits) retries() *RetryLimits {
	return cmp.Or(f.Retries, &RetryLimits{BesideOthers: maxBatch, Max: maxBatch})
}

// fetched returns the result of a fetch that began at a time.
func (l *Lease) fetched(ctx context.Context, reply rdb.Reply, limits FetchLimits, began time.Time) (FetchResult, error) {
	switch reply.Word {
	case "paused":
		return FetchResult{Paused: true}, nil
	case "empty":
		var cursors []StreamCursor
		for i := range int(lineCount) {
			if lines[i].kind != retryLine || limits.retries().Max > 0 {
				cursors = append(cursors, StreamCursor{Key: l.queue.keys[i], ID: reply.Text(i), read: began})
			}
		}
		return FetchResult{Cursors: cursors}, nil
	}
	l.open.Store(true)
	jobs, malformed := l.decodeJobs(reply)
	return l.deadLetterMalformed(ctx, jobs, malformed)
}

// Reread returns jobs that the worker holds according to Redis and that are not in held.
// It stops after about maxBytes of args, but returns at least one job;
// [FetchResult.More] reports whether there are others. After a change of the server it also
// returns the jobs that are lost, even with an error. restarts is from [Lease.ServerChanged]; if
// there was another restart, the error is [ErrServerChanged].
func (l *Lease) Reread(ctx context.Context, restarts int64, held []*Job, maxBytes int) (fetched FetchResult, err error) {
	ctx = rdb.ExpectServer(ctx, restarts)
	unknown, lost, err := l.compare(ctx, held)
	if err != nil {
		return FetchResult{}, err
	}
	l.open.Store(true)
	if l.compared.Swap(restarts) == restarts {
		lost = nil // their ends are being written
	}
	if len(unknown) == 0 {
		return FetchResult{Lost: lost}, nil
	}
	args := []any{l.worker, maxBytes}
	for _, at := range unknown[:min(len(unknown), maxBatch)] {
		args = append(args, int(at.line), at.entry)
	}
	reply, err := l.queue.run(ctx, rereadScript, args...)
	if err != nil {
		return FetchResult{Lost: lost}, err
	}
	jobs, malformed := l.decodeJobs(reply)
	fetched, err = l.deadLetterMalformed(ctx, jobs, malformed)
	fetched.Lost = lost
	// A page of entries that could not be made dead would come again and again.
	progress := len(jobs)+fetched.Malformed > 0
	fetched.More = progress && len(jobs)+len(malformed) < len(unknown)
	return fetched, err
}

// A place is the line and the entry of a job.
type place struct {
	line  line
	entry string
}

// compare returns the places of jobs that the worker holds according to Redis, without those of
// held, and those of held that it does not hold.
func (l *Lease) compare(ctx context.Context, held []*Job) (unknown []place, lost []*Job, err error) {
	known := make(map[place]*Job, len(held))
	for _, job := range held {
		known[place{job.line, job.entry}] = job
	}
	for at := (place{1, "0"}); at.line <= lineCount; {
		reply, err := l.queue.run(ctx, heldScript, l.worker, int(at.line), at.entry, maxBatch)
		if err != nil {
			return nil, nil, err
		}
		at = place{line(reply.Int(0)), reply.Text(1)}
		for i := 2; i < reply.Len(); i += 2 {
			at := place{line(reply.Int(i)), reply.Text(i + 1)}
			if known[at] == nil {
				unknown = append(unknown, at)
			}
			delete(known, at)
		}
	}
	return unknown, slices.Collect(maps.Values(known)), nil
}

// deadLetterMalformed moves entries that are not valid jobs to the dead jobs, and returns
// the others.
func (l *Lease) deadLetterMalformed(ctx context.Context, jobs, malformed []*Job) (FetchResult, error) {
	fetched := FetchResult{Jobs: jobs, Malformed: len(malformed)}
	if len(malformed) == 0 {
		return fetched, nil
	}
	endings := make([]Completion, len(malformed))
	for i, job := range malformed {
		endings[i] = Completion{Job: job, Disposition: attemptMalformed, Reason: job.Reason}
	}
	// If this fails, the worker still holds them: Reread or recovery returns them
	// again.
	if _, err := l.Finish(ctx, endings); err != nil {
		fetched.Malformed = 0
		if errors.Is(err, ErrLeaseLost) {
			return fetched, err
		}
	}
	return fetched, nil
}

// decodeJobs decodes the time and the groups of jobs that fetch.lua returns.
func (l *Lease) decodeJobs(reply rdb.Reply) (jobs, malformed []*Job) {
	ahead := time.Since(time.UnixMilli(reply.Int(0)))
	for rest := reply.From(1); rest.Len() > 0; {
		at, count, kind := line(rest.Int(0)), int(rest.Int(1)), rest.Text(2)
		withID := at < 0
		at = max(at, -at)
		rest = rest.From(3)
		jobs = slices.Grow(jobs, count)
		for range count {
			job := l.newJob(at, rest.Text(0), ahead)
			var err error
			switch {
			case withID:
				job.Kind, job.local, job.packed = kind, rest.Text(1), rest.Text(2)
				rest = rest.From(3)
			case kind != "":
				job.Kind, job.packed = kind, rest.Text(1)
				rest = rest.From(2)
			default:
				var fields rdb.Reply
				fields, rest = rest.From(2).Cut(int(rest.Int(1)))
				err = job.setFields(fields)
			}
			jobs, malformed = l.accept(job, err, jobs, malformed)
		}
	}
	return jobs, malformed
}

// newJob returns a job that was delivered, without what its entry says.
func (l *Lease) newJob(at line, entry string, ahead time.Duration) *Job {
	job := &Job{} // not in one slice with others: a long job would keep the args of all
	job.line, job.entry, job.State, job.Worker, job.ahead = at, entry, Active, l.worker, ahead
	job.Priority = at.priority()
	return job
}

// accept completes a job and appends it to one of the lists. err is what is wrong with its entry.
func (l *Lease) accept(job *Job, err error, jobs, malformed []*Job) (_, _ []*Job) {
	if err == nil {
		err = job.complete(l.queue.name, l.queue.client.config.MaxPayload)
	}
	if err != nil {
		job.Reason = "malformed: " + err.Error()
		return jobs, append(malformed, job)
	}
	return append(jobs, job), malformed
}

// setEntry sets the fields of an entry that was read without a script. The kind of another job
// is used if it is the same.
func (j *Job) setEntry(fields [][]byte, kind string) error {
	if len(fields) == 4 && string(fields[0]) == "kind" && string(fields[2]) == "args" {
		if string(fields[1]) != kind {
			kind = string(fields[1])
		}
		j.Kind, j.packed = kind, string(fields[3])
		return nil
	}
	if len(fields) == 2 && string(fields[0]) == "job" {
		err := j.setRecord(string(fields[1]))
		j.Priority = j.line.priority()
		return err
	}
	texts := make([]any, len(fields))
	for i, field := range fields {
		texts[i] = string(field)
	}
	return j.setFields(rdb.Reply{Values: texts})
}

// setFields sets the fields of an entry: first those of the record that it may carry, since
// the others amend them.
func (j *Job) setFields(fields rdb.Reply) error {
	if fields.Len() == 0 {
		return errors.New("its entry is gone")
	}
	at := j.line.priority()
	for _, record := range []bool{true, false} {
		for i := 0; i+1 < fields.Len(); i += 2 {
			name := fields.Text(i)
			if name == "id" && j.line.kind() == freshLine {
				continue // any client can write a fresh entry, which must not choose its id
			}
			if (name == "job") == record {
				if err := j.setField(name, fields.Text(i+1)); err != nil {
					return err
				}
			}
		}
	}
	j.Priority = at
	return nil
}

// LocalTime returns a time of a fetched job, such as its deadline, by the local clock; times of
// jobs are by Redis's clock. The zero time stays as it is.
func (j *Job) LocalTime(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(j.ahead)
}

// Waited returns how long a fetched job had been in its line at a time by the local clock, and
// false for a job that was not fetched.
func (j *Job) Waited(until time.Time) (time.Duration, bool) {
	ms, ok := entryTime(j.entry)
	if !ok {
		return 0, false
	}
	return max(0, until.Sub(time.UnixMilli(ms))-j.ahead), true
}

// SameDelivery reports whether two fetched jobs are the same job and the same fetch of it:
// it was not handed back in between.
func (j *Job) SameDelivery(other *Job) bool {
	return j.local == other.local && j.line == other.line && j.entry == other.entry
}
