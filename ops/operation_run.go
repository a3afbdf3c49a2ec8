package ops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// Bounds of one step of an operation.
const (
	minStep  = 20
	maxStep  = 100
	maxPurge = 500                    // jobs that are deleted without reading them
	goalStep = 700 * time.Microsecond // of Redis's time for a step
	fastStep = 600 * time.Microsecond // a step that took less may be followed by a larger one
	slowStep = 850 * time.Microsecond // one that took more, by a smaller one

	weighEvery  = 50                    // steps of a size, of which one is weighed if it seems slow
	settleEvery = 20 * time.Millisecond // at least, between two readings of Redis's processor time
)

// An OperationRun runs an operation in this process. It is for one goroutine.
type OperationRun struct {
	Operation queue.Operation // as of the last step

	operations *Operations
	queue      *queue.Queue
	owner      string
	lost       bool // the reply that would have shown the operation
	reader     *reader
	ids        []string  // of the jobs, if they are named
	found      []match   // and not changed yet
	sent       int       // jobs examined that steps have reported
	size       int       // of the next step
	max        int       // of steps
	weigh      bool      // the next step
	proved     int       // steps that may follow without being weighed
	last       time.Time // of the last one
	credit     float64   // jobs that the rate allows now
	filled     time.Time
}

// open makes the operation ready to run, unless Redis refused it.
func (r *OperationRun) open() error {
	if err := refusal(&r.Operation); err != nil {
		return err
	}
	f, err := parseFilter(r.Operation.Match)
	if err == nil {
		r.ids = r.Operation.IDs // later answers have none
		r.reader = r.operations.newReader(r.queue, f, r.Operation.State, r.Operation.AsOf, r.Operation.Cursor)
	}
	return err
}

// recover makes an operation ready to run whose beginning Redis did not confirm. It blocks until Redis
// answers, for at most 15 s; another process may continue the operation then. The error is
// [ErrNoOperation] if it was not begun.
func (r *OperationRun) recover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, turnLength)
	defer cancel()
	for pause := (rdb.Backoff{}); ; {
		_, err := r.operations.Get(ctx, r.Operation.ID)
		if err == nil { // to begin it again begins nothing, and returns it if this process has begun it
			var op queue.Operation
			if op, err = r.queue.Operate(ctx, r.Operation, r.call(queue.OperationCall{Do: "begin", MaxAge: maxQuestionAge})); err == nil {
				r.Operation, r.lost = op, false
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
// [Operations.Continue] continues it later. Another error also stops it. [ErrContinued] means that
// another process has continued it, because this one had made no step for too long. After a lost
// beginning, [ErrNoOperation] means that it was not begun.
func (r *OperationRun) Run(ctx context.Context, report func(queue.Operation)) error {
	if r.lost {
		if err := r.recover(ctx); err != nil {
			return err
		}
	}
	defer r.reader.end()
	r.size, r.last, r.filled = minStep, r.operations.client.now(), r.operations.client.now()
	advance := r.page
	r.max = maxStep
	if r.Operation.Do == "delete" && r.Operation.State == queue.Waiting && r.Operation.Match == "" {
		advance, r.max = r.purge, maxPurge
	}
	if len(r.ids) > 0 {
		advance, r.max = r.named, maxStep
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
			if stopped, err2 := r.operations.stop(ctx, r.Operation.ID, err.Error()); err2 == nil {
				r.Operation = stopped
			}
		}
		return err
	}
	return nil
}

// Outcome returns what the audit has of the end of a run, of which err is the error: an operation that was
// stopped has one.
func (r *OperationRun) Outcome(err error) error {
	if err == nil && r.Operation.Status != "done" {
		return fmt.Errorf("operation %s was stopped", r.Operation.ID)
	}
	return err
}

// find reads until it has found enough jobs for a step: a page may have few that match. It reports
// whether there are more.
func (r *OperationRun) find(ctx context.Context) (more bool, err error) {
	more = true
	for more && !r.isFull() && !r.isLate() {
		if err := r.reader.wait(ctx); err != nil {
			return false, err
		}
		var page []match
		if page, more, err = r.reader.read(ctx); err != nil {
			return false, err
		}
		r.found = append(r.found, page...)
	}
	return more, nil
}

// isFull reports whether enough jobs were found for a step.
func (r *OperationRun) isFull() bool {
	return len(r.found) > 0 && (len(r.found) >= r.size || within(r.found, maxReadBytes) < len(r.found))
}

// isLate reports whether there must be a step, whatever it changes.
func (r *OperationRun) isLate() bool { return r.operations.client.now().Sub(r.last) > renewEvery }

// within returns how many of the first jobs have args of no more than some bytes, at least one.
func within(found []match, bytes int) int {
	for i, one := range found {
		if bytes -= one.size; bytes < 0 {
			return max(1, i)
		}
	}
	return len(found)
}

// page reads jobs and changes those that match, in steps that are full: a step takes Redis some time
// beside that for each job.
func (r *OperationRun) page(ctx context.Context, report func(queue.Operation)) error {
	more, err := r.find(ctx)
	if err != nil {
		return err
	}
	for len(r.found) > 0 && r.Operation.Status == "running" && (!more || r.isFull() || r.isLate()) {
		size := min(r.size, r.allowed(), within(r.found, maxReadBytes))
		if size == 0 {
			if err := r.pause(ctx, report); err != nil {
				return err
			}
			continue
		}
		call := queue.OperationCall{Do: "step", Cursor: r.found[size-1].cursor, Examined: r.found[size-1].examined - r.sent}
		for _, one := range r.found[:size] {
			call.Jobs = append(call.Jobs, one.id)
		}
		if r.found = r.found[size:]; len(r.found) == 0 {
			call.Cursor, call.Done, call.Examined = r.reader.cursor, !more, r.reader.examined-r.sent
		}
		if err := r.step(ctx, call, report); err != nil {
			return err
		}
	}
	if len(r.found) == 0 && r.Operation.Status == "running" && (!more || r.isLate()) {
		return r.step(ctx, queue.OperationCall{Do: "step", Cursor: r.reader.cursor, Done: !more, Examined: r.reader.examined - r.sent}, report)
	}
	return nil
}

// named changes the next jobs of those that are named. The cursor is their number.
func (r *OperationRun) named(ctx context.Context, report func(queue.Operation)) error {
	first, _ := strconv.Atoi(r.Operation.Cursor) // empty at the beginning
	left := r.ids[min(first, len(r.ids)):]
	size := min(r.size, r.allowed(), len(left))
	if size == 0 && len(left) > 0 {
		return r.pause(ctx, report)
	}
	return r.step(ctx, queue.OperationCall{Do: "step", Cursor: strconv.Itoa(first + size), Done: size == len(left), Examined: size, Jobs: left[:size]}, report)
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
	at, rate := r.operations.client.now(), float64(r.Operation.Rate)
	r.credit = min(rate, r.credit+rate*at.Sub(r.filled).Seconds())
	r.filled = at
	return min(r.max, int(r.credit))
}

// pause waits until the rate allows another job, and keeps the turn.
func (r *OperationRun) pause(ctx context.Context, report func(queue.Operation)) error {
	if r.isLate() {
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
	before, weighed := time.Duration(0), false
	if r.weigh {
		r.reader.await()
		before, weighed = r.reader.processorTime(ctx)
	}
	began := time.Now()
	op, err := r.queue.Operate(ctx, r.Operation, r.call(call))
	if err != nil {
		return err
	}
	if err := refusal(&op); err != nil {
		return err
	}
	took := time.Since(began)
	r.reader.bill.add(r.reader.budget.spend(took, 1))
	took -= r.reader.budget.path()
	if weighed {
		var after time.Duration
		if after, weighed = r.reader.processorTime(ctx); weighed {
			took = min(took, after-before)
		}
	}
	jobs := max(len(call.Jobs), op.Changed-r.Operation.Changed)
	r.resize(jobs, took, weighed)
	r.credit -= float64(jobs)
	if r.sent += call.Examined; op.Status == "interrupted" {
		op.Status = "running" // the turn was lost for a moment
	}
	r.Operation, r.last = op, r.operations.client.now()
	report(op)
	return nil
}

// resize chooses the size of the next step after one with some jobs that took some time. A step may
// have taken long only because the machine is busy: the size is reduced after a step that was weighed,
// which the next one after a slow one is.
func (r *OperationRun) resize(jobs int, took time.Duration, weighed bool) {
	if jobs == 0 {
		return
	}
	goal, slow := int(time.Duration(jobs)*goalStep/max(took, 1)), took > slowStep
	switch {
	case took < fastStep && goal > r.size && r.size < r.max:
		r.size, r.proved = min(goal, 2*r.size, r.max), 0
	case slow && (weighed || r.weigh): // also where it cannot be weighed
		r.size, r.proved = max(min(goal, r.size), minStep), 0
	case weighed:
		r.proved = weighEvery
	case r.proved > 0:
		r.proved--
	}
	r.weigh = slow && !weighed && r.proved == 0
}

// call returns a call as the owner.
func (r *OperationRun) call(call queue.OperationCall) queue.OperationCall {
	call.Owner, call.Turn = r.owner, turnLength
	return call
}
