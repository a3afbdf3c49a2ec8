package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A leaseSession is one lease and the jobs that the worker holds under it.
type leaseSession struct {
	queue     *servedQueue
	lease     *queue.Lease
	completer *completer
	sched     *scheduler
	log       *slog.Logger       // with the queue's name
	onLost    func(queue string) // may be nil

	renewed atomic.Pointer[time.Time] // when it was opened or renewed

	mu        sync.Mutex
	held      map[string]*attempt  // by job ID, until the outcome is written
	cancelled map[string]time.Time // cancellation times by job ID
	gone      bool                 // the lease is lost or closed

	// writtenSinceReread has the jobs whose outcomes were written since the latest reread
	// began; nil if the next call of hold does not follow a reread.
	writtenSinceReread map[string]*queue.Job
}

// rememberCancels is how long the id of a cancelled job is kept: the signal may come
// before the answer of the fetch with the job.
const rememberCancels = time.Minute

func newLeaseSession(q *servedQueue, lease *queue.Lease, linger time.Duration, log *slog.Logger) *leaseSession {
	s := &leaseSession{queue: q, lease: lease, log: log, held: map[string]*attempt{}, cancelled: map[string]time.Time{}}
	s.setRenewed()
	s.completer = &completer{
		write: func(ctx context.Context, outcomes []queue.Completion) error {
			_, err := lease.Finish(ctx, outcomes)
			return err
		},
		written: s.forget, count: func(int) {}, linger: linger, log: log, wake: newNotification(),
	}
	return s
}

// hold records jobs as held and returns an attempt for each. It omits jobs already held,
// or finished since the latest reread, which it ends. It interrupts jobs cancelled before,
// and returns nil if the session has ended.
func (s *leaseSession) hold(jobs []*queue.Job) []*attempt {
	attempts := make([]*attempt, 0, len(jobs))
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
		a := &attempt{job: job, queue: s.queue, session: s, retry: job.IsRetry()} // not in one slice with others: a long job would keep them all
		s.held[job.ID] = a
		if _, cancelled := s.cancelled[job.ID]; cancelled {
			a.interrupt(ErrCancelled)
		}
		attempts = append(attempts, a)
	}
	s.writtenSinceReread = nil
	return attempts
}

// reread returns jobs that the worker holds according to Redis and that are not held
// here, about maxBytes of args at a time. Some may finish before the answer arrives: hold
// omits them.
func (s *leaseSession) reread(ctx context.Context, maxBytes int) (queue.FetchResult, error) {
	s.mu.Lock()
	s.writtenSinceReread = map[string]*queue.Job{}
	held := make([]*queue.Job, 0, len(s.held))
	for _, a := range s.held {
		held = append(held, a.job)
	}
	s.mu.Unlock()
	return s.lease.Reread(ctx, held, maxBytes)
}

// setRenewed records that the lease was opened or renewed.
func (s *leaseSession) setRenewed() {
	now := time.Now()
	s.renewed.Store(&now)
}

// renewedSince reports whether the lease was opened or renewed after a time.
func (s *leaseSession) renewedSince(t time.Time) bool { return s.renewed.Load().After(t) }

// forget removes jobs whose outcomes are written.
func (s *leaseSession) forget(outcomes []queue.Completion) {
	quarantined := 0
	defer func() {
		if quarantined > 0 {
			s.sched.quarantineWritten(s, quarantined)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, outcome := range outcomes {
		if a := s.held[outcome.Job.ID]; a != nil && a.job == outcome.Job {
			delete(s.held, outcome.Job.ID)
		}
		if outcome.Job.Group != "" {
			quarantined++
		}
		if s.writtenSinceReread != nil {
			s.writtenSinceReread[outcome.Job.ID] = outcome.Job
		}
	}
}

// unclaimed returns the held attempts whose end is not claimed yet.
func (s *leaseSession) unclaimed() (attempts []*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.held {
		if !a.claimed.Load() {
			attempts = append(attempts, a)
		}
	}
	return attempts
}

// cancel interrupts a job if it is held, or if it is fetched within rememberCancels.
func (s *leaseSession) cancel(id string) {
	s.mu.Lock()
	held := s.held[id]
	s.cancelled[id] = time.Now()
	s.mu.Unlock()
	if held != nil {
		held.interrupt(ErrCancelled)
	}
}

// checkCancelled asks Redis which of the held jobs were cancelled, and interrupts them:
// signals may be missed, since Redis keeps only the latest ones of a queue. It also
// forgets old cancellations.
func (s *leaseSession) checkCancelled(ctx context.Context) error {
	s.mu.Lock()
	maps.DeleteFunc(s.cancelled, func(_ string, when time.Time) bool { return time.Since(when) > rememberCancels })
	s.mu.Unlock()
	var jobs []*queue.Job
	for _, a := range s.unclaimed() {
		jobs = append(jobs, a.job)
	}
	cancelled, err := s.lease.Cancelled(ctx, jobs)
	for _, job := range cancelled {
		s.cancel(job.ID)
	}
	return err
}

// lost ends the session: its jobs go to other workers. The renewal, the fetcher and the
// completer may each call it.
func (s *leaseSession) lost() {
	if s.end() {
		s.log.Warn("lease lost: the jobs that this worker holds go to others", "worker", s.lease.Worker())
		if s.onLost != nil {
			s.onLost(s.queue.name)
		}
	}
	s.sched.drop(s)
	s.mu.Lock()
	held := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	for _, a := range held {
		a.interrupt(queue.ErrLeaseLost)
	}
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

// close closes the lease, unless it is lost. Jobs whose outcomes are not written are
// recovered later.
func (s *leaseSession) close() {
	if !s.end() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := s.lease.Close(ctx); err != nil {
		s.log.Warn("lease cannot be closed: it will expire", "error", err)
	}
}

// A leaseLoop maintains the lease of one queue. Until its context is done it opens and
// renews a lease, opens another after a loss, and starts recoveries.
type leaseLoop struct {
	pool  *Pool
	queue *servedQueue
	log   *slog.Logger // with the queue's name

	recovering atomic.Bool
}

func (l *leaseLoop) run(ctx context.Context) {
	defer l.pool.control.unwatch(l.queue)
	l.setCursor(ctx)
	for backoff := (rdb.Backoff{}); ctx.Err() == nil; {
		session, err := l.open(ctx)
		l.pool.sched.opened(l.queue, session) // nil after an error: the first lease is delayed
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("lease cannot be opened yet", "error", err)
			}
			_ = backoff.Sleep(ctx)
			continue
		}
		backoff.Reset()
		l.keep(ctx, session)
	}
}

// keep renews a lease and writes the outcomes of its jobs, until the lease is lost, or
// ctx is done and all outcomes are written. Then it closes the lease.
func (l *leaseLoop) keep(ctx context.Context, session *leaseSession) {
	renewing, stopRenewing := context.WithCancel(ctx)
	completed := make(chan struct{})
	go func() {
		defer close(completed)
		defer stopRenewing()
		if errors.Is(session.completer.run(ctx), queue.ErrLeaseLost) {
			session.lost()
		}
	}()
	l.renew(renewing, session)
	stopRenewing()
	<-completed
	session.close()
}

// setCursor sets the cursor from which the queue's signals are read, before the first
// lease, so that no signal to cancel a held job is missed.
func (l *leaseLoop) setCursor(ctx context.Context) {
	for backoff := (rdb.Backoff{}); ctx.Err() == nil; {
		_, cursor, err := l.queue.queue.Signals(ctx, queue.StreamCursor{})
		if err == nil {
			l.queue.cursor.Store(&cursor)
			l.pool.control.watchSignals(l.queue)
			l.pool.mover.Wake(l.queue.name) // for signals before the cursor
			l.pool.crons.Wake(l.queue.name)
			return
		}
		l.pool.sched.opened(l.queue, nil)
		if ctx.Err() == nil {
			l.log.Warn("signals cannot be read yet", "error", err)
		}
		_ = backoff.Sleep(ctx)
	}
}

func (l *leaseLoop) open(ctx context.Context) (*leaseSession, error) {
	// Each lease has a name of its own, which is never used again.
	name := fmt.Sprintf("%s.%d", l.pool.name, l.pool.control.opened.Add(1))
	lease, err := l.queue.queue.OpenLease(ctx, name, l.pool.config.Lease, l.pool.control.aboutJSON())
	if err != nil {
		return nil, err
	}
	config := l.pool.config
	session := newLeaseSession(l.queue, lease, config.Lease, l.log)
	session.sched, session.onLost = l.pool.sched, config.Hooks.LeaseLost
	session.completer.count = func(change int) {
		if l.pool.sched.unrecorded.add(change) {
			l.pool.executor.startRunners(l.pool.sched.capacityRose())
		}
	}
	return session, nil
}

// renewalsPerLease is the number of renewals within the time of a lease, so that it
// survives one failed renewal.
const renewalsPerLease = 2.5

// renewTimeout is the part of a lease that one try to renew it may take. A second try
// follows at once: it uses another connection, so that one whose other end is gone does
// not cost the lease.
const renewTimeout = 0.25

// scanEvery is the interval at which a recovery includes jobs of workers without a lease,
// and at which the held jobs are compared with those in Redis.
const scanEvery = time.Minute

// renew renews the lease until it is lost or ctx is done. It interrupts cancelled jobs,
// and starts a recovery when other workers have died, and every scanEvery.
func (l *leaseLoop) renew(ctx context.Context, session *leaseSession) {
	ticker := time.NewTicker(time.Duration(float64(l.pool.config.Lease) / renewalsPerLease))
	defer ticker.Stop()
	// Queues whose leases are opened together are scanned at different times.
	scanned := time.Now().Add(rand.N(l.pool.config.Lease))
	reread := false // when the lease is renewed next
	for {
		recoverable, err := l.renewOnce(ctx, session)
		if err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrLeaseLost) {
			reread = true
			recoverable, err = l.renewOnce(ctx, session)
		}
		switch {
		case errors.Is(err, queue.ErrLeaseLost):
			session.lost()
			return
		case err != nil && ctx.Err() == nil:
			l.log.Warn("lease cannot be renewed", "error", err)
		}
		fullScan := time.Since(scanned) > l.pool.control.scanEvery
		if fullScan {
			scanned = time.Now()
		}
		if recoverable || fullScan {
			l.recoverAsync(ctx, fullScan)
		}
		// Redis may have lost writes, above all while it could not be reached.
		reread = reread || fullScan
		if reread && err == nil {
			l.pool.sched.rereadQueue(l.queue)
			reread = false
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// renewOnce renews the lease and checks which of its jobs were cancelled.
func (l *leaseLoop) renewOnce(ctx context.Context, session *leaseSession) (recoverable bool, err error) {
	timeout := time.Duration(renewTimeout * float64(l.pool.config.Lease))
	renewing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if recoverable, err = session.lease.Renew(renewing); err != nil {
		return false, err
	}
	session.setRenewed()
	checking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := session.checkCancelled(checking); err != nil && ctx.Err() == nil {
		l.log.Warn("cancellations cannot be read", "error", err)
	}
	return recoverable, nil
}

// recoverAsync runs recovery in a goroutine of its own, so that it does not delay the
// renewal. It does nothing while a recovery runs.
func (l *leaseLoop) recoverAsync(ctx context.Context, fullScan bool) {
	if l.recovering.CompareAndSwap(false, true) {
		l.pool.control.leases.Go(func() {
			defer l.recovering.Store(false)
			l.recoverJobs(ctx, fullScan)
		})
	}
}

// recoverJobs hands back the jobs of dead workers in steps, so that other clients of Redis
// are served in between, and then deletes expired data.
func (l *leaseLoop) recoverJobs(ctx context.Context, fullScan bool) {
	var total queue.RecoverResult
	for ctx.Err() == nil {
		step, err := l.queue.queue.Recover(ctx, l.pool.config.Crashes, fullScan)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("recovery failed", "error", err)
			}
			return
		}
		total.Returned, total.Dead = total.Returned+step.Returned, total.Dead+step.Dead
		fullScan = false
		if !step.More {
			break
		}
		_ = rdb.Sleep(ctx, time.Millisecond)
	}
	if total.Returned+total.Dead > 0 {
		l.log.Warn("recovered jobs of dead workers", "returned", total.Returned, "dead", total.Dead)
	}
	if err := l.queue.queue.Tidy(ctx); err != nil && ctx.Err() == nil {
		l.log.Warn("old data cannot be removed", "error", err)
	}
	l.pool.control.forgetQueues(ctx)
}
