package workers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"skidway/queue"
)

// A run is one job in this worker's hands.
type attempt struct {
	job     *queue.Job
	queue   *servedQueue
	session *leaseSession
	kind    *kind

	settled atomic.Bool // it is settled what becomes of the job

	marked bool        // a suspect: its worker's lease says that it runs alone
	freed  atomic.Bool // and that others may start beside it

	mu     sync.Mutex
	cancel context.CancelCauseFunc // once it runs
	cause  error                   // why it was interrupted
	timer  *time.Timer
	result []byte
	log    *jobLog // once it was asked for
	over   bool    // what is logged is no longer kept
}

// A jobContext is the context of a handler. It has no parent that could end it,
// so that a start costs little; the pool ends it.
type jobContext struct {
	context.Context
	run      *attempt
	deadline time.Time
}

type runKey struct{}

// Deadline is when the attempt's time is up.
func (c *jobContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value gives the run to those who know its key.
func (c *jobContext) Value(key any) any {
	if key == (runKey{}) {
		return c.run
	}
	return c.Context.Value(key)
}

// start makes the context, or says why the job can't be started any more.
func (r *attempt) start(kind *kind) (context.Context, error) {
	now := time.Now()
	deadline := now.Add(kind.timeout(r.job))
	if last := r.job.LocalDeadline(); !last.IsZero() && last.Before(deadline) {
		deadline = last
	}
	if !deadline.After(now) {
		return nil, Dead(fmt.Errorf("its deadline %s had passed before it was started", r.job.Deadline.Format(time.RFC3339)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		return nil, r.cause
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.kind, r.cancel = kind, cancel
	r.timer = time.AfterFunc(deadline.Sub(now), func() { r.interrupt(ErrTimeout) })
	return &jobContext{ctx, r, deadline}, nil
}

// interrupt ends the context of a job. If the handler doesn't return within the
// grace it is left behind.
func (r *attempt) interrupt(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		return
	}
	r.cause = cause
	if r.cancel == nil {
		return
	}
	r.cancel(cause)
	r.timer.Stop()
	time.AfterFunc(r.queue.pool.config.Grace, r.leave)
}

// settled releases what the context holds, and gives the result and why it was
// interrupted, nil if it was not.
func (r *attempt) release() (result []byte, cause error) {
	r.closeLog()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.cancel != nil {
		r.cancel(context.Canceled)
	}
	return r.result, r.cause
}

// errExit is what became of a handler that has ended its goroutine.
var errExit = errors.New("the handler called runtime.Goexit, as testing's FailNow does")

// call calls the handler and makes a panic an error.
func (r *attempt) call(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return r.kind.handler(ctx, r.job)
}

// execute runs the handler. false: it was left behind and the caller has lost
// its slot.
func (p *Pool) execute(r *attempt) bool {
	kind := p.kind(r.job.Kind)
	ctx, err := r.start(kind)
	if err != nil {
		if r.settled.CompareAndSwap(false, true) {
			p.settle(r, kind, err, 0)
		}
		return true
	}
	if p.config.Hooks.Started != nil {
		p.config.Hooks.Started(r.job)
	}
	started, returned := time.Now(), false
	defer func() {
		if !returned { // this goroutine ends: another one goes on for it
			go p.exited(r, kind, time.Since(started))
		}
	}()
	err = r.call(ctx)
	returned = true
	return p.conclude(r, kind, err, time.Since(started))
}

// conclude deals with a handler that has ended. false: it was left behind
// before, and the slot is another's.
func (p *Pool) conclude(r *attempt, kind *kind, err error, took time.Duration) (hasSlot bool) {
	if !r.settled.CompareAndSwap(false, true) {
		p.cameBack(r)
		return false
	}
	p.settle(r, kind, err, took)
	return true
}

// exited goes on for a goroutine that a handler has ended.
func (p *Pool) exited(r *attempt, kind *kind, took time.Duration) {
	hasSlot := p.conclude(r, kind, errExit, took)
	p.endAlone(r)
	if hasSlot {
		p.runner()
	}
}

// decide says what becomes of a job whose handler returned err, and gives the
// error that it ends with.
func (p *Pool) decide(r *attempt, kind *kind, err error) (queue.Ending, error) {
	result, cause := r.release()
	end := p.ending(r.job, kind, err, cause)
	if end.As == queue.AsSucceeded {
		end.Result = result
	}
	if end.As == queue.AsSucceeded && len(r.job.Then) > 0 {
		if end.Then, err = p.follow(r.job, result); err != nil {
			end = queue.Unfollowed(r.job, err)
			err = errors.New(end.Reason)
		}
	}
	if end.As == queue.AsDead && p.config.Hooks.Exhausted != nil {
		p.config.Hooks.Exhausted(context.Background(), r.job, err)
	}
	return end, err
}

// settle decides what becomes of a job and hands that on to be written.
func (p *Pool) settle(r *attempt, kind *kind, err error, took time.Duration) {
	end, err := p.decide(r, kind, err)
	r.session.completer.add(end)
	if p.config.Hooks.Ended != nil {
		p.config.Hooks.Ended(r.job, Report{As: end.As, Err: err, Duration: took, Wait: end.Wait})
	}
	if end.As == queue.AsRetry || end.As == queue.AsDead {
		p.log.Warn("job failed", "id", r.job.ID, "kind", r.job.Kind, "attempt", r.job.Attempts+1, "error", err, "took", took)
	}
	p.mu.Lock()
	r.queue.running--
	p.dismiss(r.queue)
	p.learnPace(took)
	p.mu.Unlock()
}

// leave leaves a handler behind that goes on although its context has ended:
// its job goes on without it, and another runner gets its slot.
func (r *attempt) leave() {
	if !r.settled.CompareAndSwap(false, true) {
		return
	}
	p := r.queue.pool
	_, cause := r.release()
	err := fmt.Errorf("%w, and the handler did not return within %s", cause, p.config.Grace)
	p.log.Error("handler left behind: it ignores its context", "id", r.job.ID, "kind", r.job.Kind, "error", err)
	p.mu.Lock()
	p.stuck++
	p.mu.Unlock()
	p.settle(r, r.kind, err, 0)
	p.news()
	go p.runner()
	p.endAlone(r)
}

// cameBack notes that a handler which was left behind has returned at last.
func (p *Pool) cameBack(r *attempt) {
	p.mu.Lock()
	p.stuck--
	p.spawn()
	p.wake()
	p.mu.Unlock()
	p.log.Warn("handler that was left behind has returned", "id", r.job.ID, "kind", r.job.Kind)
	p.news()
}
