package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// An executor runs the jobs that the scheduler starts: it calls their handlers, decides
// their outcomes, and adds these to the completer of their session.
//
// A runner is a goroutine with a slot. It runs one job after another, and ends when
// there is none. The scheduler counts the taken slots, and a stop waits until there are
// none. Only the goroutines of abandoned handlers outlive it.
type executor struct {
	config      Config
	client      *queue.Client
	sched       *scheduler
	firstWindow time.Duration
	runCtx      context.Context // ends when the pool has written all outcomes; set by Pool.run before the first job starts

	kinds   sync.Map      // name → *registration
	unknown *registration // for jobs of other kinds
}

// kind returns the handler and the settings of a kind.
func (x *executor) kind(name string) *registration {
	if k, known := x.kinds.Load(name); known {
		return k.(*registration)
	}
	return x.unknown
}

// log returns the pool's logger with the queue, the id and the kind of a job.
func (x *executor) log(job *queue.Job) *slog.Logger {
	return x.config.Logger.With("queue", job.Queue, "job", job.ID, "kind", job.Kind)
}

// kindNames returns the names of the kinds that have a handler, sorted.
func (x *executor) kindNames() []string {
	names := []string{}
	for name := range x.kinds.Range {
		names = append(names, name.(string))
	}
	slices.Sort(names)
	return names
}

// startRunners starts n runners, for which the caller has taken slots.
func (x *executor) startRunners(n int) {
	for range n {
		go x.runSlot()
	}
}

// runSlot runs jobs in a slot, until the slot is freed or given to another runner.
func (x *executor) runSlot() {
	var timer deadlineTimer
	defer timer.stop()
	for a := x.sched.take(time.Now()); a != nil; a = x.sched.take(time.Now()) {
		if !x.execute(a, &timer) {
			return // another runner has the slot
		}
	}
}

// runSolo marks a job that must run solo, which calls Redis, unless others run, and starts
// it in a new goroutine. takeSolo has taken its slot. If the job cannot be marked, it is
// handed back.
func (x *executor) runSolo(a *attempt) {
	log := x.log(a.job)
	if a.markSolo {
		if err := a.session.lease.MarkSolo(x.runCtx, a.job); err != nil {
			if !errors.Is(err, queue.ErrLeaseLost) {
				log.Warn("a solo job cannot be marked", "error", err)
			}
			a.handBack()
			x.sched.finished(a, 0)
			x.sched.update(func() { x.sched.slots.add(-1) })
			x.startRunners(x.sched.soloEnded())
			return
		}
	}
	log.Info("running a job solo: its workers died", "crashes", a.job.Crashes, "marked", a.markSolo)
	a.currentSolo.Store(true)
	windowEnd := time.AfterFunc(window(x.firstWindow, a.job.Quarantines), func() { x.endSolo(a, false) })
	go func() {
		var timer deadlineTimer
		defer timer.stop()
		hasSlot := x.execute(a, &timer)
		windowEnd.Stop()
		if freed := x.endSolo(a, hasSlot); hasSlot && !freed {
			x.runSlot()
		}
	}()
}

// endSolo removes the mark of the current solo job and lets other jobs start beside it. If freeSlot is
// set it frees the job's slot before, so that the next solo job finds no slot taken and can be
// marked, and that a stop does not wait for the removal. It reports whether it has freed the slot.
// It does nothing if a is not the current solo job, or no longer is.
func (x *executor) endSolo(a *attempt, freeSlot bool) (freed bool) {
	if !a.currentSolo.CompareAndSwap(true, false) {
		return false
	}
	if freeSlot {
		x.sched.update(func() { x.sched.slots.add(-1) })
	}
	startOthers := sync.OnceFunc(func() { x.startRunners(x.sched.soloEnded()) })
	if a.markSolo {
		x.removeMark(a, startOthers)
	}
	startOthers()
	return freeSlot
}

// removeMark removes the mark of a solo job, however long Redis is away. While the mark is set, a
// death of the worker makes the job dead, so no other job may start. There are two exceptions, in
// which removeMark calls startOthers before the mark is removed: if the lease has expired, to Redis
// the worker has died at a time when no other job ran (an outage of all workers does not count as
// that, but then the mark is removed soon after it); and if Redis refuses the removal, the pool cannot
// wait for ever.
func (x *executor) removeMark(a *attempt, startOthers func()) {
	for pause := (rdb.Backoff{}); ; {
		err := a.session.lease.MarkSolo(x.runCtx, nil)
		if err == nil || errors.Is(err, queue.ErrLeaseLost) || x.runCtx.Err() != nil {
			return
		}
		x.log(a.job).Warn("the mark of a solo job cannot be removed yet", "error", err)
		if isFinal(err) || !a.session.renewedSince(time.Now().Add(-x.config.Lease)) {
			startOthers()
		}
		_ = pause.Sleep(x.runCtx)
	}
}

// isFinal reports whether an error of Redis may not pass with time.
func isFinal(err error) bool {
	var unknown *rdb.OutcomeUnknownError
	return !isAway(err) && !errors.As(err, &unknown) && !rdb.Refused(err)
}

// execute runs the handler. It reports whether the caller still has its slot: if the
// handler was abandoned, another runner has it.
func (x *executor) execute(a *attempt, timer *deadlineTimer) (hasSlot bool) {
	kind, started := x.kind(a.job.Kind), time.Now()
	if err := a.start(x, kind, timer, started); err != nil {
		if a.endClaimed.CompareAndSwap(false, true) {
			x.complete(a, kind, err, 0)
		}
		return true
	}
	if x.config.Hooks.Started != nil {
		x.config.Hooks.Started(a.job)
	}
	returned := false
	defer func() {
		if !returned { // the handler has called runtime.Goexit
			go x.afterExit(a, time.Since(started))
		}
	}()
	err := a.call(&a.ctx)
	returned = true
	timer.end()
	return x.handlerEnded(a, err, time.Since(started))
}

// handlerEnded records that a handler has returned or exited, and completes its job. It
// reports whether the slot still belongs to the caller: an abandoned handler has lost it,
// and its job is completed already.
func (x *executor) handlerEnded(a *attempt, err error, took time.Duration) (hasSlot bool) {
	if a.endClaimed.CompareAndSwap(false, true) {
		x.complete(a, a.kind, err, took)
		return true
	}
	x.sched.slots.abandoned.Add(-1)
	x.sched.aboutChanged.send()
	x.startRunners(x.sched.capacityRose())
	x.log(a.job).Warn("an abandoned handler has returned")
	return false
}

// errExit is the error of a handler that has called runtime.Goexit.
var errExit = errors.New("the handler called runtime.Goexit, as testing's FailNow does")

// afterExit takes over the slot of a runner whose goroutine ended because its handler
// called runtime.Goexit.
func (x *executor) afterExit(a *attempt, took time.Duration) {
	hasSlot := x.handlerEnded(a, errExit, took)
	if freed := x.endSolo(a, hasSlot); hasSlot && !freed {
		x.runSlot()
	}
}

// abandon stops waiting for a handler that ignores the end of its context: the job is
// completed without it, and a new runner gets the slot.
func (x *executor) abandon(a *attempt) {
	if !a.endClaimed.CompareAndSwap(false, true) {
		return
	}
	_, cause := a.release()
	err := fmt.Errorf("%w, and the handler did not return within %s", cause, x.config.Grace)
	x.log(a.job).Error("handler abandoned: it ignores its context", "error", err)
	x.sched.slots.abandoned.Add(1)
	x.sched.aboutChanged.send()
	x.complete(a, a.kind, err, 0)
	go x.runSlot()
	x.endSolo(a, false)
}

// complete determines the outcome of a claimed attempt and adds it to the completer.
func (x *executor) complete(a *attempt, kind *registration, err error, took time.Duration) {
	outcome, err := x.decide(a, kind, err, took)
	a.session.completer.add(outcome)
	x.ended(a.job, Report{Disposition: outcome.Disposition, Err: err, Duration: took, Wait: outcome.Wait})
	if outcome.Disposition == queue.AttemptRetry || outcome.Disposition == queue.AttemptDead {
		x.log(a.job).Warn("job failed", "attempt", a.job.Attempts+1, "error", err, "took", took)
	}
	x.sched.finished(a, took)
}

func (x *executor) ended(job *queue.Job, report Report) {
	if x.config.Hooks.Ended != nil {
		x.config.Hooks.Ended(job, report)
	}
}

// decide ends the attempt: it releases its context and log, calls the Exhausted hook if
// the job is dead, and returns the outcome and the error that is reported.
func (x *executor) decide(a *attempt, kind *registration, err error, took time.Duration) (queue.Completion, error) {
	started, cause := a.release()
	outcome := kind.outcome(a.job, err, cause, x.config.IsFailure)
	outcome.Waited, outcome.Took = -1, took
	if waited, known := a.job.Waited(started); known && !started.IsZero() {
		outcome.Waited = waited
	}
	if outcome.Disposition == queue.AttemptRetry || outcome.Disposition == queue.AttemptDead {
		outcome.Failure = &queue.Failure{Started: started, Took: took, Stack: stackOf(err)}
	}
	if outcome.Disposition == queue.AttemptSucceeded {
		result, headers := a.success()
		outcome.Result = result
		if len(a.job.Then) > 0 {
			if outcome.Then, err = follow(x.client, a.job, result, headers); err != nil {
				outcome = outcome.ThenFailed(err)
				err = errors.New(outcome.Reason)
			}
		}
	}
	if outcome.Disposition == queue.AttemptDead && x.config.Hooks.Exhausted != nil {
		x.config.Hooks.Exhausted(context.Background(), a.job, err)
	}
	return outcome, err
}

// Attempt calls the handler of a job's kind once, as [Pool.Run] does: with middleware,
// the job's timeout, hooks, and an error in place of a panic. It blocks until the
// handler returns, and returns the outcome of the job and the handler's error. It does
// not write the outcome: the caller does, which holds the job under a [queue.Lease]. Lines
// of [Logger] are written. The end of ctx cancels the handler's context with the same
// cause, and the handler's context has the values of ctx.
//
// Attempt is for programs that run jobs one by one, and for tests; package workerstest
// is based on it. The pool need not run.
func (p *Pool) Attempt(ctx context.Context, job *queue.Job) (queue.Completion, error) {
	if p.invalid != nil {
		return queue.Completion{}, p.invalid
	}
	q, err := p.client.ForPool(job.Queue)
	if err != nil {
		return queue.Completion{}, err
	}
	x := p.executor
	a := &attempt{job: job, queue: &servedQueue{queue: q}}
	a.endClaimed.Store(true) // it is never abandoned: the caller waits
	kind, started := x.kind(job.Kind), time.Now()
	var took time.Duration
	var timer deadlineTimer
	defer timer.stop()
	err = a.start(x, kind, &timer, started)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { a.interrupt(context.Cause(ctx)) })
		if x.config.Hooks.Started != nil {
			x.config.Hooks.Started(job)
		}
		err = a.call(valueContext{&a.ctx, ctx})
		took = time.Since(started)
		stop()
	}
	outcome, err := x.decide(a, kind, err, took)
	x.ended(job, Report{Disposition: outcome.Disposition, Err: err, Duration: took, Wait: outcome.Wait})
	return outcome, err
}

// A valueContext is a context with additional values of another one.
type valueContext struct {
	context.Context
	values context.Context
}

// Value returns the context's own value of the key, or that of the other context.
func (c valueContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}
