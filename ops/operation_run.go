package ops

import (
	"context"
	"errors"
	"time"

	"skidway/internal/filter"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Bounds of one step of an operation.
const (
	minStep  = 20
	maxStep  = 100
	maxPurge = 500                    // jobs that are deleted without reading them
	fastStep = 400 * time.Microsecond // a step that took less may be followed by a larger one
	slowStep = 700 * time.Microsecond // one that took more, by a smaller one
)

// A match is a job that an operation is to change, with the cursor behind it, and how many jobs
// the reader had examined with it.
type match struct {
	id, cursor string
	examined   int
	size       int // of its args, in bytes
}

// A reader reads the jobs of an operation.
type reader struct {
	client   *Client
	queue    *queue.Queue
	state    queue.State
	asOf     time.Time
	budget   *budget
	matches  filter.Matcher
	record   jobRecord
	cursor   string
	limit    int // of the next read
	examined int // jobs examined
}

func (c *Client) newReader(q *queue.Queue, f *filter.Filter, state queue.State, asOf time.Time, cursor string) *reader {
	return &reader{client: c, queue: q, state: state, asOf: asOf, budget: c.changes, record: jobRecord{redactor: c.redactor}, matches: f.Matcher(asOf), cursor: cursor, limit: minRead}
}

// wait blocks until there is some of Redis's time for the operation.
func (r *reader) wait(ctx context.Context) error {
	if err := r.client.measurePath(ctx, r.budget); err != nil {
		return err
	}
	if wait := r.budget.wait(); wait > 0 {
		return rdb.Sleep(ctx, wait)
	}
	return nil
}

// read returns the jobs of the next page that match, and whether there are more.
func (r *reader) read(ctx context.Context) (found []match, more bool, err error) {
	page, err := r.queue.Read(ctx, r.state, r.cursor, r.limit, r.asOf)
	if err != nil {
		return nil, false, err
	}
	r.budget.spend(page.Took, page.Trips)
	for i, job := range page.Jobs {
		r.examined++
		r.record.set(job)
		if r.matches(&r.record) {
			found = append(found, match{job.ID, page.After[i], r.examined, len(job.Args)})
		}
	}
	if r.limit = min(2*r.limit, maxRead); page.Size > 0 {
		r.limit = max(1, min(r.limit, maxReadBytes*len(page.Jobs)/page.Size))
	}
	r.cursor = page.Next
	return found, page.Next != "", nil
}

// An OperationRun runs an operation in this process. It is for one goroutine.
type OperationRun struct {
	Operation queue.Operation // as of the last step

	client *Client
	queue  *queue.Queue
	owner  string
	reader *reader
	sent   int       // jobs examined that steps have reported
	size   int       // of the next step
	max    int       // of steps
	last   time.Time // of the last one
	credit float64   // jobs that the rate allows now
	filled time.Time
}

// open makes the operation ready to run, unless Redis refused it.
func (r *OperationRun) open() error {
	if err := refusal(&r.Operation); err != nil {
		return err
	}
	f, err := parseFilter(r.Operation.Match)
	if err == nil {
		r.reader = r.client.newReader(r.queue, f, r.Operation.State, r.Operation.AsOf, r.Operation.Cursor)
	}
	return err
}

// Recover returns nil if the operation was begun by a call of [Client.Begin] that Redis did not
// answer: then Run runs it. It blocks until Redis answers, for at most 15 s; another process may
// continue the operation then. The error is [ErrNoOperation] if it was not begun.
func (r *OperationRun) Recover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, turnLength)
	defer cancel()
	for pause := (rdb.Backoff{}); ; {
		_, err := r.client.Operation(ctx, r.Operation.ID)
		if err == nil { // to begin it again begins nothing, and returns it if this process has begun it
			var op queue.Operation
			if op, err = r.queue.Operate(ctx, r.Operation, r.call(queue.OperationCall{Do: "begin", MaxAge: maxQuestionAge})); err == nil {
				r.Operation = op
				return r.open()
			}
		}
		if !unreachable(err) || pause.Sleep(ctx) != nil {
			return err
		}
	}
}

// Run changes jobs until the operation is done or stopped, and returns nil then. It calls report
// after each step. If ctx ends, or Redis fails for long, the operation is interrupted, and
// [Client.Continue] continues it later. Another error also stops it. [ErrContinued] means that
// another process has continued it, because this one had made no step for too long.
func (r *OperationRun) Run(ctx context.Context, report func(queue.Operation)) error {
	r.size, r.last, r.filled = minStep, r.client.now(), r.client.now()
	advance := r.page
	r.max = maxStep
	if r.Operation.Do == "delete" && r.Operation.State == queue.Waiting && r.Operation.Match == "" {
		advance, r.max = r.purge, maxPurge
	}
	for r.Operation.Status == "running" {
		err := r.reader.wait(ctx)
		if err == nil {
			err = advance(ctx, report)
		}
		if err == nil {
			continue
		}
		if ctx.Err() == nil && !unreachable(err) && !errors.Is(err, ErrContinued) {
			if stopped, err2 := r.client.stop(ctx, r.Operation.ID, err.Error()); err2 == nil {
				r.Operation = stopped
			}
		}
		return err
	}
	return nil
}

// find reads until it has found enough jobs for a step: a page may have few that match.
func (r *OperationRun) find(ctx context.Context) (found []match, more bool, err error) {
	more = true
	for bytes := 0; more && len(found) < r.size && bytes < maxReadBytes && r.client.now().Sub(r.last) < renewEvery; {
		if err := r.reader.wait(ctx); err != nil {
			return nil, false, err
		}
		var page []match
		if page, more, err = r.reader.read(ctx); err != nil {
			return nil, false, err
		}
		for _, one := range page {
			bytes += one.size
		}
		found = append(found, page...)
	}
	return found, more, nil
}

// within returns how many of the first jobs have args of no more than some bytes, at least one.
func within(found []match, bytes int) int {
	for i, one := range found {
		if bytes -= one.size; bytes < 0 {
			return max(1, i)
		}
	}
	return len(found)
}

// page changes the next jobs that match.
func (r *OperationRun) page(ctx context.Context, report func(queue.Operation)) error {
	found, more, err := r.find(ctx)
	if err != nil {
		return err
	}
	for len(found) > 0 && r.Operation.Status == "running" {
		size := min(r.size, len(found), r.allowed(), within(found, maxReadBytes))
		if size == 0 {
			if err := r.pause(ctx, report); err != nil {
				return err
			}
			continue
		}
		call := queue.OperationCall{Do: "step", Cursor: found[size-1].cursor, Examined: found[size-1].examined - r.sent}
		for _, one := range found[:size] {
			call.Jobs = append(call.Jobs, one.id)
		}
		if found = found[size:]; len(found) == 0 {
			call.Cursor, call.Done, call.Examined = r.reader.cursor, !more, r.reader.examined-r.sent
		}
		if err := r.step(ctx, call, report); err != nil {
			return err
		}
	}
	late := r.client.now().Sub(r.last) > renewEvery
	if r.Operation.Status == "running" && (late || !more) {
		return r.step(ctx, queue.OperationCall{Do: "step", Cursor: r.reader.cursor, Done: !more, Examined: r.reader.examined - r.sent}, report)
	}
	return nil
}

// purge deletes the next waiting jobs.
func (r *OperationRun) purge(ctx context.Context, report func(queue.Operation)) error {
	size := min(r.size, r.allowed())
	if size == 0 {
		return r.pause(ctx, report)
	}
	return r.step(ctx, queue.OperationCall{Do: "purge", Max: size}, report)
}

// allowed returns how many jobs the rate of the operation allows to change now, at most those of a
// second.
func (r *OperationRun) allowed() int {
	if r.Operation.Rate == 0 {
		return r.max
	}
	at, rate := r.client.now(), float64(r.Operation.Rate)
	r.credit = min(rate, r.credit+rate*at.Sub(r.filled).Seconds())
	r.filled = at
	return min(r.max, int(r.credit))
}

// pause waits until the rate allows another job, and keeps the turn.
func (r *OperationRun) pause(ctx context.Context, report func(queue.Operation)) error {
	if r.client.now().Sub(r.last) > renewEvery {
		return r.step(ctx, queue.OperationCall{Do: "step", Cursor: r.Operation.Cursor}, report)
	}
	return rdb.Sleep(ctx, max(time.Second/time.Duration(r.Operation.Rate)/2, 10*time.Millisecond))
}

// step makes a step, once though its reply may be lost.
func (r *OperationRun) step(ctx context.Context, call queue.OperationCall, report func(queue.Operation)) error {
	if err := r.reader.wait(ctx); err != nil {
		return err
	}
	call.Step = r.Operation.Step + 1
	began := time.Now()
	op, err := r.queue.Operate(ctx, r.Operation, r.call(call))
	if err != nil {
		return err
	}
	if err := refusal(&op); err != nil {
		return err
	}
	took := time.Since(began)
	r.reader.budget.spend(took, 1)
	switch took -= r.reader.budget.path(); {
	case took > slowStep:
		r.size = max(minStep, r.size/2)
	case took < fastStep:
		r.size = min(r.max, 2*r.size)
	}
	r.credit -= float64(max(len(call.Jobs), op.Changed-r.Operation.Changed))
	if r.sent += call.Examined; op.Status == "interrupted" {
		op.Status = "running" // the turn was lost for a moment
	}
	r.Operation, r.last = op, r.client.now()
	report(op)
	return nil
}

// call returns a call as the owner.
func (r *OperationRun) call(call queue.OperationCall) queue.OperationCall {
	call.Owner, call.Turn = r.owner, turnLength
	return call
}
