package workers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"skidway/workers/stats"
)

// A reporter reports which handlers of queues run, only while operators watch that.
type reporter struct {
	pool  *Pool
	asked notification

	mu      sync.Mutex
	watched map[*servedQueue]watchedQueue
}

// A watchedQueue is a queue whose running jobs are reported.
type watchedQueue struct {
	until time.Time
	isNew bool // not reported yet
}

func newReporter(p *Pool) *reporter {
	return &reporter{pool: p, asked: newNotification(), watched: map[*servedQueue]watchedQueue{}}
}

// watch makes the pool report what runs of a queue, for some time.
func (r *reporter) watch(q *servedQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, found := r.watched[q]
	r.watched[q] = watchedQueue{time.Now().Add(stats.WatchFor), old.isNew || !found}
	r.asked.send()
}

// due returns the queues that are to be reported, those that were not reported yet or all, those
// that are no longer watched or served, and whether any is watched.
func (r *reporter) due(now time.Time, all bool) (queues, over []*servedQueue, watching bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for q, w := range r.watched {
		if now.After(w.until) || q.ctx.Err() != nil {
			delete(r.watched, q)
			over = append(over, q)
			continue
		}
		if all || w.isNew {
			queues = append(queues, q)
			r.watched[q] = watchedQueue{until: w.until}
		}
	}
	return queues, over, len(r.watched) > 0
}

// run reports until ctx is done: a queue as soon as it is watched, so that an operator who asks for
// many of them need not wait for repeated reports, and all of them every [stats.ReportEvery]. It
// waits without a timer while nothing is watched. At the end it removes its reports.
func (r *reporter) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	ticking := true
	for {
		tick := false
		select {
		case <-ctx.Done():
			r.mu.Lock()
			left := slices.Collect(maps.Keys(r.watched))
			r.mu.Unlock()
			r.remove(left)
			return
		case <-r.asked:
		case <-timer.C:
			tick, ticking = true, false
		}
		queues, over, watching := r.due(time.Now(), tick)
		r.remove(over)
		for _, q := range queues {
			reporting, cancel := context.WithTimeout(ctx, fetchWait)
			if err := stats.Report(reporting, r.pool.client, q.queue.Queue, r.pool.name, r.pool.running(q)); err != nil && ctx.Err() == nil {
				r.pool.log.Debug("running jobs cannot be reported", "queue", q.name, "error", err)
			}
			cancel()
		}
		if watching && !ticking {
			timer.Reset(stats.ReportEvery)
			ticking = true
		}
	}
}

// remove removes the reports of queues. If that fails, they are removed when they are old.
func (r *reporter) remove(queues []*servedQueue) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, q := range queues {
		if err := stats.EndReport(ctx, r.pool.client, q.queue.Queue, r.pool.name); err != nil {
			r.pool.log.Debug("the report of running jobs cannot be removed", "queue", q.name, "error", err)
		}
	}
}

// running returns the jobs of a queue whose handlers run.
func (p *Pool) running(q *servedQueue) (jobs []stats.RunningJob) {
	now := time.Now()
	for _, session := range p.sched.sessions() {
		if session.queue != q {
			continue
		}
		for _, a := range session.unclaimed() {
			a.mu.Lock()
			started := a.started
			a.mu.Unlock()
			if !started.IsZero() {
				jobs = append(jobs, stats.RunningJob{ID: a.job.ID, Kind: a.job.Kind, Attempt: a.job.Attempts + 1, For: now.Sub(started)})
			}
		}
	}
	return jobs
}
