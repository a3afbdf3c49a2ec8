package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway/queue"
)

// A leaseKeeper keeps a lease as long as the worker holds jobs under it: it renews the lease,
// interrupts cancelled jobs, and writes the outcomes. It closes the lease after a renewal
// interval without a job, or when its context is done and all outcomes are written.
type leaseKeeper struct {
	pool    *Pool
	session *leaseSession
}

// newSession returns a session of a queue whose lease is not open yet. Each lease has a name
// of its own, which is never used again.
func (c *control) newSession(q *servedQueue) (*leaseSession, error) {
	config := c.pool.config
	lease, err := q.queue.NewLease(fmt.Sprintf("%s.%d", c.pool.name, c.opened.Add(1)), config.Lease)
	if err != nil {
		return nil, err
	}
	session := newLeaseSession(q, lease, config.Lease, c.pool.log.With("queue", q.name))
	session.sched, session.onLost, session.recent = c.sched, config.Hooks.LeaseLost, &c.recent
	session.onEmpty = func() { c.sched.update(func() { c.sched.retireLocked(q) }) }
	if hook := config.Hooks.Written; hook != nil {
		write := session.completer.write
		session.completer.write = func(ctx context.Context, outcomes []queue.Completion) error {
			began := time.Now()
			err := write(ctx, outcomes)
			hook(q.name, outcomes, began, err)
			return err
		}
	}
	session.renewed.Store(c.pool.heart.beaten.Load())
	c.pool.heart.opening.send()
	session.completer.count = func(change int) {
		if c.sched.slots.unrecorded.add(change) {
			c.pool.executor.startRunners(c.sched.capacityRose())
		}
	}
	return session, nil
}

// keep keeps the lease of a session until the queue is no longer served.
func (c *control) keep(session *leaseSession) {
	keeper := &leaseKeeper{c.pool, session}
	c.leases.Go(func() { keeper.run(session.queue.ctx) })
}

func (k *leaseKeeper) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	completed := make(chan struct{})
	go func() {
		defer close(completed)
		defer stop()
		if errors.Is(k.session.completer.run(ctx), queue.ErrLeaseLost) {
			k.session.lost()
		}
	}()
	k.renew(ctx)
	stop()
	<-completed
	if k.session.end() { // else it is lost
		k.close()
	}
}

// close closes the lease. Jobs whose outcomes are not written are recovered: at once, or later
// by other workers.
func (k *leaseKeeper) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	held, err := k.session.lease.Close(ctx)
	switch {
	case err != nil:
		k.session.log.Warn("lease cannot be closed: it will expire", "error", err)
		return
	case held:
		k.pool.heart.recoverJobs(ctx, k.session.queue, false, nil)
	}
	k.pool.heart.closed(k.session.lease)
}

// renewTimeout is the part of a lease that one try to renew it may take. A second try
// follows at once: it uses another connection, so that one whose other end is gone does
// not cost the lease.
const renewTimeout = 0.25

// scanEvery is the interval at which the jobs held under a lease are compared with those in
// Redis, and at least that at which a queue is recovered with a full scan.
const scanEvery = time.Minute

// renew renews the lease until it is lost or idle, or ctx is done.
func (k *leaseKeeper) renew(ctx context.Context) {
	length := k.pool.config.Lease
	ticker := time.NewTicker(time.Duration(float64(length) / queue.RenewalsPerLease))
	defer ticker.Stop()
	compared := time.Now()
	reread := false               // when the lease is renewed next
	k.checkCancelled(ctx, length) // the signal may have come before the session
	for sinceTick(ctx, ticker) {
		if k.pool.sched.detachIdle(k.session) {
			return
		}
		recoverable, err := k.renewOnce(ctx, length)
		if err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrLeaseLost) {
			reread = true
			recoverable, err = k.renewOnce(ctx, length)
		}
		switch {
		case errors.Is(err, queue.ErrLeaseLost):
			k.session.lost()
			return
		case err != nil && ctx.Err() == nil:
			k.session.log.Warn("lease cannot be renewed", "error", err)
		}
		if recoverable {
			k.pool.heart.recoverAsync(k.session.queue, nil)
		}
		// Redis may have lost writes, above all while it could not be reached.
		if time.Since(compared) > k.pool.control.scanEvery || k.session.mustCompare() {
			compared, reread = time.Now(), true
		}
		if reread && err == nil {
			k.pool.sched.update(k.session.setRereadDueLocked)
			reread = false
		}
	}
}

// sinceTick blocks until a tick, and returns false if ctx is done before.
func sinceTick(ctx context.Context, ticker *time.Ticker) bool {
	select {
	case <-ctx.Done():
		return false
	case <-ticker.C:
		return true
	}
}

// renewOnce renews the lease and checks which of its jobs were cancelled.
func (k *leaseKeeper) renewOnce(ctx context.Context, length time.Duration) (recoverable bool, err error) {
	renewing, cancel := context.WithTimeout(ctx, time.Duration(renewTimeout*float64(length)))
	defer cancel()
	if recoverable, err = k.session.lease.Renew(renewing); err != nil {
		return false, err
	}
	k.session.setRenewed()
	k.checkCancelled(ctx, length)
	return recoverable, nil
}

func (k *leaseKeeper) checkCancelled(ctx context.Context, length time.Duration) {
	checking, cancel := context.WithTimeout(ctx, time.Duration(renewTimeout*float64(length)))
	defer cancel()
	if err := k.session.checkCancelled(checking); err != nil && ctx.Err() == nil {
		k.session.log.Warn("cancellations cannot be read", "error", err)
	}
}
