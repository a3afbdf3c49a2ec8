package workers

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway/queue"
	"skidway/workers/stats"
)

// A leaseSession is one lease and the jobs that the worker holds under it.
type leaseSession struct {
	queue     *servedQueue
	lease     *queue.Lease
	completer *completer
	sched     *scheduler
	log       *slog.Logger       // with the queue's name
	onLost    func(queue string) // may be nil
	onEmpty   func()             // called when no job is held any more

	rereadDue   bool // the lease may hold jobs that the worker does not know; guarded by the scheduler's mutex
	longRunning bool // its quarantined group is or was, see quarantine; guarded by the scheduler's mutex
	shared      bool // it is marked so in Redis, see quarantine; used by the fetcher only

	renewed       atomic.Pointer[time.Time] // when it was opened or renewed
	serverChanged func() (int64, bool)      // of the lease
	// comparing is locked while jobs are compared with a changed server, until those that it
	// lost are released, and for reading while outcomes are written.
	comparing sync.RWMutex

	mu        sync.Mutex
	held      map[string]*attempt     // by job ID, until the outcome is written
	used      bool                    // jobs were held since the latest call of idle
	cancelled map[string]cancelSignal // by job ID
	gone      bool                    // the lease is lost or closed

	// writtenSinceReread has the jobs whose outcomes were written since the latest reread
	// began; nil if the next call of hold does not follow a reread.
	writtenSinceReread map[string]*queue.Job

	recent   *recentEnds
	lostJobs bool // jobs were held whose delivery Redis has lost

	// restored has the ends, by job ID, that Redis may have lost when the server changed. It is
	// nil again with the first reread after keepRestored.
	restored   map[string][]queue.Completion
	changedAt  time.Time                     // when it was set
	unwritten  map[string][]queue.Completion // those of released jobs that were not written; for as long
	rereadMore bool                          // the latest reread has left jobs, or has failed
}

// A cancelSignal is a signal that a job was cancelled, and when it was received.
type cancelSignal struct {
	queue.Signal
	received time.Time
}

// rememberCancels is how long the id of a cancelled job is kept: the signal may come
// before the answer of the fetch with the job.
const rememberCancels = time.Minute

func newLeaseSession(q *servedQueue, lease *queue.Lease, retryFor time.Duration, log *slog.Logger) *leaseSession {
	s := &leaseSession{
		queue: q, lease: lease, log: log, serverChanged: lease.ServerChanged, recent: &recentEnds{},
		held: map[string]*attempt{}, cancelled: map[string]cancelSignal{}, onEmpty: func() {},
	}
	s.setRenewed()
	s.completer = &completer{
		write: func(ctx context.Context, outcomes []queue.Completion) error {
			s.comparing.RLock()
			_, err := lease.Finish(ctx, s.withoutLost(outcomes))
			s.comparing.RUnlock()
			if errors.Is(err, queue.ErrServerChanged) {
				s.sched.update(s.setRereadDueLocked)
			}
			return err
		},
		written: func(outcomes []queue.Completion) {
			q.counter.Add(ends(outcomes, s.forget(outcomes)))
			s.recent.add(s, outcomes, time.Now())
		},
		count: func(int) {}, retryFor: retryFor, log: log, wake: newNotification(),
	}
	return s
}

// hold records jobs as held and returns an attempt for each. It omits jobs already held,
// or finished since the latest reread, which it ends, and those whose end Redis has lost, which
// it writes again. It interrupts jobs cancelled before, and returns nil if the session has ended.
func (s *leaseSession) hold(jobs []*queue.Job) []*attempt {
	attempts := make([]*attempt, 0, len(jobs))
	var ends []queue.Completion
	defer func() {
		for _, end := range ends {
			s.completer.add(end)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone { // lost was called before, and does not interrupt these
		return nil
	}
	for _, job := range jobs {
		// A job may be delivered again before the worker knows that its earlier
		// outcome is written: that is another delivery.
		if old := s.held[job.ID]; old != nil && old.job.SameDelivery(job) {
			continue
		}
		if written := s.writtenSinceReread[job.ID]; written != nil && written.SameDelivery(job) {
			continue
		}
		end, again := endOf(job, s.restored[job.ID])
		ended := again
		if !ended {
			end, ended = endOf(job, s.unwritten[job.ID])
		}
		if ended {
			end.Duplicates = nil
			written := &attempt{job: end.Job, queue: s.queue, session: s, rewrite: again}
			written.endClaimed.Store(true)
			s.held[job.ID] = written
			ends = append(ends, end)
			continue
		}
		a := &attempt{job: job, queue: s.queue, session: s, retry: job.IsRetry()} // not in one slice with others: a long job would keep them all
		s.held[job.ID] = a
		if cancel, known := s.cancelled[job.ID]; known && !cancel.Precedes(job) {
			a.interrupt(ErrCancelled)
		}
		attempts = append(attempts, a)
	}
	s.used = s.used || len(attempts)+len(ends) > 0
	s.writtenSinceReread = nil
	return attempts
}

// reread returns jobs that the worker holds according to Redis and that are not held
// here, about maxBytes of args at a time. Some may finish before the answer arrives: hold
// omits them.
func (s *leaseSession) reread(ctx context.Context, maxBytes int) (queue.FetchResult, error) {
	restarts, changed := s.serverChanged() // once: the server may change at any time
	if changed {
		s.comparing.Lock()
		defer s.comparing.Unlock()
	}
	s.mu.Lock()
	s.writtenSinceReread = map[string]*queue.Job{}
	held := make([]*queue.Job, 0, len(s.held))
	for _, a := range s.held {
		held = append(held, a.job)
	}
	if !s.rereadMore && (changed || time.Since(s.changedAt) > keepRestored) {
		s.restored, s.unwritten = nil, nil
	}
	if changed {
		s.restored, s.changedAt = s.recent.of(s), time.Now()
	}
	s.rereadMore = true
	s.mu.Unlock()
	answer, err := s.lease.Reread(ctx, restarts, held, maxBytes)
	s.release(answer.Lost)
	if err == nil {
		s.mu.Lock()
		s.rereadMore = answer.More
		s.mu.Unlock()
	}
	return answer, err
}

// setRereadDueLocked makes the fetcher compare the jobs that the lease holds, according to Redis, with
// those that the worker knows.
func (s *leaseSession) setRereadDueLocked() { s.rereadDue = true }

// mustCompare reports whether the server has changed since the jobs were compared.
func (s *leaseSession) mustCompare() bool {
	_, changed := s.serverChanged()
	return changed
}

// release interrupts jobs whose delivery Redis has lost. Those that it still has run again; the entries
// of the others may be those of other jobs by now. An outcome that is not written yet is written if the
// same job is delivered.
func (s *leaseSession) release(jobs []*queue.Job) {
	if len(jobs) == 0 {
		return
	}
	var released []*attempt
	quarantined := 0
	unwritten := endsByJob(s.completer.withdraw(jobs))
	s.mu.Lock()
	for _, job := range jobs {
		if a := s.held[job.ID]; a != nil && a.job == job {
			delete(s.held, job.ID)
			released = append(released, a)
			if job.Group != "" {
				quarantined++
			}
		}
	}
	if s.unwritten == nil {
		s.unwritten = unwritten
	} else {
		maps.Copy(s.unwritten, unwritten)
	}
	s.lostJobs = s.lostJobs || len(released) > 0
	empty := len(s.held) == 0
	s.mu.Unlock()
	if len(released) == 0 {
		return
	}
	if empty {
		defer s.onEmpty()
	}
	s.log.Warn("Redis has lost deliveries: these jobs are interrupted, and those that it still has run again", "jobs", len(released))
	for _, a := range released {
		a.interrupt(queue.ErrLeaseLost)
	}
	if quarantined > 0 {
		s.sched.quarantineWritten(s, quarantined)
	}
}

// withoutLost returns outcomes without those of jobs that were released.
func (s *leaseSession) withoutLost(outcomes []queue.Completion) []queue.Completion {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lostJobs {
		return outcomes
	}
	return slices.DeleteFunc(slices.Clone(outcomes), func(outcome queue.Completion) bool {
		a := s.held[outcome.Job.ID]
		return a == nil || a.job != outcome.Job
	})
}

// setRenewed records that the lease was opened or renewed.
func (s *leaseSession) setRenewed() {
	now := time.Now()
	s.renewed.Store(&now)
}

// renewedSince reports whether the lease was opened or renewed after a time. Before it is opened, it reports
// whether the pool's last heartbeat before the session came after that time.
func (s *leaseSession) renewedSince(t time.Time) bool {
	renewed := s.renewed.Load()
	return renewed != nil && renewed.After(t)
}

// forget removes jobs whose outcomes are written. It returns those that statistics do not count:
// they were released before, or are counted already.
func (s *leaseSession) forget(outcomes []queue.Completion) (uncounted []*queue.Job) {
	quarantined, empty := 0, false
	defer func() {
		if quarantined > 0 {
			s.sched.quarantineWritten(s, quarantined)
		}
		if empty {
			s.onEmpty()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, outcome := range outcomes {
		a := s.held[outcome.Job.ID]
		released := a == nil || a.job != outcome.Job
		if released || a.rewrite {
			uncounted = append(uncounted, outcome.Job)
		}
		if !released {
			delete(s.held, outcome.Job.ID)
			if outcome.Job.Group != "" {
				quarantined++
			}
		}
		if s.writtenSinceReread != nil {
			s.writtenSinceReread[outcome.Job.ID] = outcome.Job
		}
	}
	empty = len(s.held) == 0
	return uncounted
}

// holdsJobs reports whether a job is held: its outcome is not written.
func (s *leaseSession) holdsJobs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) > 0
}

// ends returns the ends of attempts for the statistics, without those of some jobs.
func ends(outcomes []queue.Completion, without []*queue.Job) iter.Seq[stats.End] {
	return func(yield func(stats.End) bool) {
		for i := range outcomes {
			outcome := &outcomes[i]
			if len(without) > 0 && slices.Contains(without, outcome.Job) {
				continue
			}
			if !yield(stats.End{Job: outcome.Job, Disposition: outcome.Disposition, Error: outcome.Reason, Waited: outcome.Waited, Took: outcome.Took}) {
				return
			}
		}
	}
}

// unclaimed returns the held attempts whose end is not claimed yet.
func (s *leaseSession) unclaimed() (attempts []*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.held {
		if !a.endClaimed.Load() {
			attempts = append(attempts, a)
		}
	}
	return attempts
}

// cancel interrupts the job of a signal if it is held, or if it is fetched within rememberCancels. A job that
// was retried after the signal goes on.
func (s *leaseSession) cancel(signal queue.Signal) {
	s.mu.Lock()
	held := s.held[signal.Job]
	s.cancelled[signal.Job] = cancelSignal{signal, time.Now()}
	s.mu.Unlock()
	if held != nil && !signal.Precedes(held.job) {
		held.interrupt(ErrCancelled)
	}
}

// checkCancelled asks Redis which of the held jobs were cancelled, and interrupts them:
// signals may be missed, since Redis keeps only the latest ones of a queue. It also
// forgets old cancellations.
func (s *leaseSession) checkCancelled(ctx context.Context) error {
	s.mu.Lock()
	maps.DeleteFunc(s.cancelled, func(_ string, c cancelSignal) bool { return time.Since(c.received) > rememberCancels })
	s.mu.Unlock()
	attempts := map[*queue.Job]*attempt{}
	for _, a := range s.unclaimed() {
		attempts[a.job] = a
	}
	cancelled, err := s.lease.Cancelled(ctx, slices.Collect(maps.Keys(attempts)))
	for _, job := range cancelled {
		attempts[job].interrupt(ErrCancelled)
	}
	return err
}

// idle reports whether the session holds no job, and has held none since the previous call.
func (s *leaseSession) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := len(s.held) == 0 && !s.used
	s.used = false
	return idle
}

// lost ends the session: its jobs go to other workers. The renewal, the fetcher and the
// completer may each call it.
func (s *leaseSession) lost() {
	s.mu.Lock()
	held := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	// A fetch whose outcome is unknown may not have opened the lease.
	if s.end() && (len(held) > 0 || s.lease.IsOpen()) {
		s.log.Warn("lease lost: the jobs that this worker holds are interrupted, and those that Redis still has go to others", "worker", s.lease.Worker())
		if s.onLost != nil {
			s.onLost(s.queue.name)
		}
	}
	s.sched.drop(s)
	s.mu.Lock()
	held = slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	for _, a := range held {
		a.interrupt(queue.ErrLeaseLost)
	}
	s.sched.update(func() {
		s.queue.droppedLocked(s)
		s.sched.retireLocked(s.queue)
	})
}

// end makes the session hold and write no more jobs. first reports whether this is the
// first call.
func (s *leaseSession) end() (first bool) {
	s.mu.Lock()
	first = !s.gone
	s.gone = true
	s.mu.Unlock()
	s.completer.close()
	return first
}
