package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skidway/internal/rdb"
)

// A Fetched is what a worker was given.
type FetchResult struct {
	// Jobs are in the order in which they are to be started.
	Jobs []*Job

	// Malformed says how many entries were no jobs; they are dead, with the
	// reason.
	Malformed int

	// Paused: nothing is given out until somebody resumes the queue, of which
	// [PoolQueue.Signals] tells.
	Paused bool

	// Marks are where to wait for more, when there was nothing.
	Cursors []StreamCursor
}

// Fetch takes up to most jobs, at most 500, and no more once they have that many
// bytes of payload together: as long as jobs are about as large as those before
// them. It does not block. On an [skidway.OutcomeUnknownError] the worker may hold jobs that it does
// not know: call [Lease.Reread] before the next fetch.
func (l *Lease) Fetch(ctx context.Context, most, bytes int) (FetchResult, error) {
	if most < 1 || bytes < 1 {
		return FetchResult{}, fmt.Errorf("%w: fetch of %d jobs, %d bytes: want at least one", ErrInvalid, most, bytes)
	}
	reply, err := l.queue.run(ctx, fetchScript, l.worker, min(most, maxBatch), bytes)
	if err != nil {
		return FetchResult{}, err
	}
	switch reply.Word {
	case "paused":
		return FetchResult{Paused: true}, nil
	case "empty":
		cursors := make([]StreamCursor, lineCount)
		for i := range cursors {
			cursors[i] = StreamCursor{Key: l.queue.keys[i], ID: reply.Text(i)}
		}
		return FetchResult{Cursors: cursors}, nil
	}
	jobs, malformed := l.decodeJobs(reply)
	return l.deadLetterMalformed(ctx, jobs, malformed)
}

// Reread gives all jobs that the worker holds by Redis's account, whether it
// knows of them or not.
func (l *Lease) Reread(ctx context.Context) (FetchResult, error) {
	var jobs, malformed []*Job
	for at := line(1); at <= lineCount; at++ {
		for after, more := "0", true; more; {
			reply, err := l.queue.run(ctx, rereadScript, l.worker, int(at), after, maxBatch)
			if err != nil {
				return FetchResult{}, err
			}
			if reply.Word == "empty" {
				break
			}
			some, bad := l.decodeJobs(reply)
			jobs, malformed = append(jobs, some...), append(malformed, bad...)
			more = reply.Int(2) == maxBatch
			for _, job := range append(some, bad...) {
				if compareEntries(job.entry, after) > 0 {
					after = job.entry
				}
			}
		}
	}
	return l.deadLetterMalformed(ctx, jobs, malformed)
}

// sorted buries what is no job.
func (l *Lease) deadLetterMalformed(ctx context.Context, jobs, malformed []*Job) (FetchResult, error) {
	fetched := FetchResult{Jobs: jobs, Malformed: len(malformed)}
	if len(malformed) == 0 {
		return fetched, nil
	}
	endings := make([]Completion, len(malformed))
	for i, job := range malformed {
		endings[i] = Completion{Job: job, Disposition: attemptMalformed, Reason: job.Reason}
	}
	// If this fails they are still held by this worker, and come again from
	// Reread or from recovery.
	if _, err := l.Finish(ctx, endings); err != nil && errors.Is(err, ErrLeaseLost) {
		return fetched, err
	}
	return fetched, nil
}

// decode reads the time and the groups that fetch.lua returns.
func (l *Lease) decodeJobs(reply rdb.Reply) (jobs, malformed []*Job) {
	ahead := time.Since(time.UnixMilli(reply.Int(0)))
	for rest := reply.From(1); rest.Len() > 0; {
		at, count, kind := line(rest.Int(0)), int(rest.Int(1)), rest.Text(2)
		rest = rest.From(3)
		all := make([]Job, count)
		jobs = slices.Grow(jobs, count)
		for n := range count {
			job := &all[n]
			job.line, job.entry, job.State, job.Worker, job.ahead = at, rest.Text(0), Active, l.worker, ahead
			job.Priority = at.priority()
			var err error
			if kind != "" {
				job.Kind, job.packed = kind, rest.Text(1)
				rest = rest.From(2)
			} else {
				var fields rdb.Reply
				fields, rest = rest.From(2).Cut(int(rest.Int(1)))
				err = job.setFields(fields)
			}
			if err == nil {
				err = job.complete(l.queue.name, l.queue.client.config.MaxPayload)
			}
			if err != nil {
				job.Reason = "malformed: " + err.Error()
				malformed = append(malformed, job)
				continue
			}
			jobs = append(jobs, job)
		}
	}
	return jobs, malformed
}

// setFields sets the fields of an entry: those of the record that it may carry
// first, since the others amend it.
func (j *Job) setFields(fields rdb.Reply) error {
	if fields.Len() == 0 {
		return errors.New("its entry is gone")
	}
	at := j.line.priority()
	for _, record := range []bool{true, false} {
		for i := 0; i+1 < fields.Len(); i += 2 {
			name := fields.Text(i)
			if name == "id" && j.line.fresh() {
				continue // what anyone can write doesn't choose its id
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
