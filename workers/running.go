package workers

import (
	"context"
	"sync"
	"time"

	"skidway/workers/stats"
)

// A reporter reports which handlers of queues run, only while operators watch that.
type reporter struct {
	pool  *Pool
	asked notification

	mu      sync.Mutex
	watched map[*servedQueue]time.Time // until when
}

func newReporter(p *Pool) *reporter {
	return &reporter{pool: p, asked: newNotification(), watched: map[*servedQueue]time.Time{}}
}

// watch makes the pool report what runs of a queue, for some time.
func (r *reporter) watch(q *servedQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched[q] = time.Now().Add(stats.WatchFor)
	r.asked.send()
}

// due returns the queues that are watched.
func (r *reporter) due(now time.Time) (queues []*servedQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for q, until := range r.watched {
		if now.After(until) || q.ctx.Err() != nil {
			delete(r.watched, q)
			continue
		}
		queues = append(queues, q)
	}
	return queues
}

// run reports until ctx is done. It waits without a timer while nothing is watched.
func (r *reporter) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		case <-timer.C:
		}
		queues := r.due(time.Now())
		for _, q := range queues {
			reporting, cancel := context.WithTimeout(ctx, fetchWait)
			if err := stats.Report(reporting, r.pool.client, q.queue.Queue, r.pool.name, r.pool.running(q)); err != nil && ctx.Err() == nil {
				r.pool.log.Debug("running jobs cannot be reported", "queue", q.name, "error", err)
			}
			cancel()
		}
		if len(queues) > 0 {
			timer.Reset(stats.ReportEvery)
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
