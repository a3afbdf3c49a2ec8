package workers

import (
	"context"
	"time"

	"skidway/queue"
)

// Attempt calls the handler of a job's kind once, as [Pool.Run] does: with all
// middleware, the job's timeout, a panic made an error, and hooks. It blocks
// until the handler returns and gives what becomes of the job, and the handler's
// error. Nothing is written to Redis: that is up to the caller, who holds the
// job under a [queue.Lease]. When ctx ends, the handler's context ends with its
// cause; the handler finds ctx's values in its own.
//
// Attempt is for programs that run jobs one by one and for tests, for which
// package workerstest has more. The pool need not run.
func (p *Pool) Attempt(ctx context.Context, job *queue.Job) (queue.Ending, error) {
	q, err := p.client.Queue(job.Queue)
	if err != nil {
		return queue.Ending{}, err
	}
	r := &attempt{job: job, queue: &servedQueue{pool: p, queue: q}}
	r.settled.Store(true) // the caller waits: it is never left behind
	kind := p.kind(job.Kind)
	var took time.Duration
	handling, err := r.start(kind)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { r.interrupt(context.Cause(ctx)) })
		if p.config.Hooks.Started != nil {
			p.config.Hooks.Started(job)
		}
		started := time.Now()
		err = r.call(heir{handling, ctx})
		took = time.Since(started)
		stop()
	}
	end, err := p.decide(r, kind, err)
	if p.config.Hooks.Ended != nil {
		p.config.Hooks.Ended(job, Report{As: end.As, Err: err, Duration: took, Wait: end.Wait})
	}
	return end, err
}

// A heir is a context that has the values of another one beside its own.
type heir struct {
	context.Context
	values context.Context
}

func (h heir) Value(key any) any {
	if value := h.Context.Value(key); value != nil {
		return value
	}
	return h.values.Value(key)
}
