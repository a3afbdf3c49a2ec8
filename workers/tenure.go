package workers

import (
	"context"
	"errors"
	"sync"
	"time"

	"skidway/queue"
)

// A tenure is one lease and the jobs that are held under it.
type tenure struct {
	source    *source
	lease     *queue.Lease
	completer *completer
	written   chan struct{} // closed when nothing is written any more

	mu        sync.Mutex
	held      map[string]*run       // by id, until their end is written
	cancelled map[string]time.Time  // ids of jobs that were cancelled lately
	ended     map[string]*queue.Job // by id, whose end was written while what is held is read again; else nil
	gone      bool                  // the lease is lost or closed
}

// lost ends a tenure: others have or will have its jobs.
func (t *tenure) lost() {
	s := t.source
	t.mu.Lock()
	first := !t.gone
	t.gone = true
	held := make([]*run, 0, len(t.held))
	for _, r := range t.held {
		held = append(held, r)
	}
	t.mu.Unlock()
	t.completer.close()
	if first { // the heartbeat, the dispatcher and the writer all find out
		s.pool.log.Warn("lease lost: the jobs that this worker holds go to others", "queue", s.queue.Name(), "worker", t.lease.Worker())
		if s.pool.config.Hooks.LeaseLost != nil {
			s.pool.config.Hooks.LeaseLost(s.queue.Name())
		}
	}
	s.pool.mu.Lock()
	if s.tenure == t {
		s.tenure = nil
	}
	for _, r := range s.dropBuffered(t) {
		r.ended.Store(true)
	}
	s.pool.mu.Unlock()
	for _, r := range held {
		r.interrupt(queue.ErrLeaseLost)
	}
}

// reread gives what is held by Redis's account. What ends meanwhile may be in
// the answer still: hold has to know of it.
func (t *tenure) reread(ctx context.Context) (queue.Fetched, error) {
	t.mu.Lock()
	t.ended = map[string]*queue.Job{}
	t.mu.Unlock()
	return t.lease.Reread(ctx)
}

// hold takes jobs into this worker's hands, but for those that are in them or
// were while they were read.
func (t *tenure) hold(jobs []*queue.Job) []*run {
	runs := make([]*run, 0, len(jobs))
	all := make([]run, len(jobs))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone { // lost did not see these: nobody would interrupt them
		return nil
	}
	for i, job := range jobs {
		// A job can come back before its earlier end is known here to be
		// written: then it is another delivery.
		if old := t.held[job.ID]; old != nil && old.job.SameDelivery(job) {
			continue
		}
		if ended := t.ended[job.ID]; ended != nil && ended.SameDelivery(job) {
			continue
		}
		r := &all[i]
		r.job, r.source, r.tenure = job, t.source, t
		t.held[job.ID] = r
		if _, cancelled := t.cancelled[job.ID]; cancelled {
			r.interrupt(ErrCancelled)
		}
		runs = append(runs, r)
	}
	t.ended = nil
	return runs
}

// close ends the lease, unless it is lost. What could not be written is left to
// recovery.
func (t *tenure) close() {
	t.mu.Lock()
	gone := t.gone
	t.gone = true
	t.mu.Unlock()
	if gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := t.lease.Close(ctx); err != nil {
		t.source.pool.log.Warn("lease can't be closed: its end does it", "queue", t.source.queue.Name(), "error", err)
	}
}

// write writes outcomes until ctx is done and none is left, or the lease is lost.
func (t *tenure) write(ctx context.Context) {
	defer close(t.written)
	if errors.Is(t.completer.run(ctx), queue.ErrLeaseLost) {
		t.lost()
	}
}

// finished forgets jobs whose outcome is written.
func (t *tenure) finished(outcomes []queue.Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, outcome := range outcomes {
		if r := t.held[outcome.Job.ID]; r != nil && r.job == outcome.Job {
			delete(t.held, outcome.Job.ID)
		}
		if t.ended != nil {
			t.ended[outcome.Job.ID] = outcome.Job
		}
	}
}
