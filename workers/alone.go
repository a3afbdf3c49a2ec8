package workers

import (
	"context"
	"errors"
	"time"

	"skidway/queue"
)

// A suspect is a job whose worker died while it had it. It runs with no other
// job beside it in this pool, so that a second death is its doing. That costs
// throughput, so it is bounded:
//
//   - The pool waits for its running jobs to end, and starts none, for a while
//     (aloneWait). If they take longer the suspects run beside them, one after
//     the other and unmarked: if the worker dies again, they are suspects once
//     more.
//   - A suspect that goes on for longer than its window is let run beside others.
//     The window doubles each time a job has become a suspect, so that a job that
//     kills slowly is found too.

const (
	aloneWait   = 10 * time.Second
	aloneWindow = 10 * time.Second
	mostWindow  = 12 * time.Hour
)

// window is how long a suspect runs alone, by how often it has become one.
func window(first time.Duration, suspected int) time.Duration {
	return min(mostWindow, first<<min(max(suspected-1, 0), 12))
}

// suspect puts a suspect in line. The mutex is held.
func (p *Pool) suspect(r *attempt) {
	if len(p.suspects) == 0 {
		p.since = time.Now()
		time.AfterFunc(p.aloneWait, p.wake)
	}
	p.suspects = append(p.suspects, r)
	p.wake()
}

// nextSuspect gives the suspect whose time has come, or nil, and whether no
// other job runs. The mutex is held.
func (p *Pool) nextSuspect() (r *attempt, alone bool) {
	if p.quiet || len(p.suspects) == 0 || p.alone != nil || p.slots >= p.capacity() {
		return nil, false
	}
	if p.slots > 0 && time.Since(p.since) < p.aloneWait {
		return nil, false
	}
	r = p.suspects[0]
	p.suspects = p.suspects[1:]
	return r, p.slots == 0 && p.stuck == 0
}

// startSuspect starts a suspect, and reports whether there is something new.
func (p *Pool) startSuspect(ctx context.Context) bool {
	p.mu.Lock()
	r, alone := p.nextSuspect()
	if r == nil {
		p.mu.Unlock()
		return false
	}
	if !r.queue.mayStart() { // by its queue's own limit; others don't wait for that
		p.mu.Unlock()
		r.handBack()
		return true
	}
	p.slots++
	p.alone = r
	r.marked = alone
	r.queue.running++
	p.mu.Unlock()

	// If the worker dies, what it has not started shall not be suspected.
	p.handBackBuffered()
	if alone {
		if err := r.session.lease.Alone(ctx, r.job); err != nil {
			p.notStarted(r, err)
			return true
		}
	}
	p.log.Info("running a job alone: its worker died while it had it", "id", r.job.ID, "kind", r.job.Kind, "crashes", r.job.Crashes)
	timer := time.AfterFunc(window(p.aloneWindow, r.job.Suspected), func() { p.endAlone(r) })
	go func() {
		hasSlot := p.execute(r)
		timer.Stop()
		p.endAlone(r)
		if hasSlot {
			p.runner()
		}
	}()
	return true
}

// notStarted hands a suspect back that could not be marked.
func (p *Pool) notStarted(r *attempt, err error) {
	if !errors.Is(err, queue.ErrLeaseLost) {
		p.log.Warn("suspect can't be run alone", "id", r.job.ID, "error", err)
	}
	r.handBack()
	p.mu.Lock()
	defer p.mu.Unlock()
	r.queue.running--
	p.alone = nil
	p.release()
	p.spawn()
}

// endAlone lets other jobs start again. Only its first call for a job does.
func (p *Pool) endAlone(r *attempt) {
	if !r.freed.CompareAndSwap(false, true) {
		return
	}
	p.mu.Lock()
	mine, life := p.alone == r, p.life
	p.mu.Unlock()
	if !mine {
		return
	}
	if r.marked {
		// Before the others start: a mark speaks for all that they do.
		if err := r.session.lease.Alone(life, nil); err != nil && !errors.Is(err, queue.ErrLeaseLost) && life.Err() == nil {
			p.log.Warn("suspect's mark can't be taken away", "id", r.job.ID, "error", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = nil
	p.spawn()
	p.wake()
}

// handBack gives a job that was not started back to the front of its queue.
func (r *attempt) handBack() {
	if r.settled.CompareAndSwap(false, true) {
		r.session.completer.add(queue.Ending{Job: r.job, As: queue.AsReturned})
	}
}
