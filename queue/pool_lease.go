package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
)

// ErrLeaseLost is returned when the worker was declared dead. Its jobs go to other
// workers, and every further call with its lease is refused.
var ErrLeaseLost = errors.New("lease lost: the worker was silent for too long, its jobs go to others")

// ErrServerChanged is returned by [Lease.Fetch] and [Lease.Finish] when Redis was restarted, or
// replaced by another server, since the lease was created or [Lease.Reread] was called. Redis may
// have lost writes, and have other jobs under the ids of entries that the worker holds, so nothing
// was sent: call Reread, which compares the jobs.
var ErrServerChanged = rdb.ErrServerChanged

// A Lease is a worker's right to take jobs of one queue and to report how their
// attempts ended. It is opened by the first fetch that brings jobs: a worker without jobs of
// the queue leaves no trace in it. When the worker was silent for longer than its lease it is
// declared dead, and every call is refused with [ErrLeaseLost]. It is safe for concurrent use,
// but until it is open [Lease.Fetch] must not be called concurrently.
// [workers.Pool] manages leases; use one directly only to write a pool of your own.
type Lease struct {
	queue  *PoolQueue
	worker string
	length time.Duration
	open   atomic.Bool

	native   nativeFetch
	compared atomic.Int64 // number of restarts of Redis at the latest Reread
}

// NewLease returns a lease for a worker. The name must be random and must never be used
// again. A length of zero means [DefaultLease]. Nothing is sent to Redis.
func (q *PoolQueue) NewLease(worker string, length time.Duration) (*Lease, error) {
	if length == 0 {
		length = DefaultLease
	}
	if err := checkName("worker", worker); err != nil {
		return nil, err
	}
	if length < time.Millisecond {
		return nil, fmt.Errorf("%w: lease %s: want at least 1ms", ErrInvalid, length)
	}
	l := &Lease{queue: q, worker: worker, length: length}
	l.compared.Store(q.client.db.Restarts())
	return l, nil
}

// Queue returns the queue that the lease is for.
func (l *Lease) Queue() *PoolQueue { return l.queue }

// Worker returns the name that was passed to NewLease.
func (l *Lease) Worker() string { return l.worker }

// IsOpen reports whether the lease was opened. After a [skidway.OutcomeUnknownError] of the
// fetch that may have opened it, [Lease.Reread] finds out.
func (l *Lease) IsOpen() bool { return l.open.Load() }

// ServerChanged reports whether Redis was restarted, or replaced by another server, since the
// lease was created or [Lease.Reread] was called, and how often it was since the client was
// opened. What a caller prepares because of it is right for a Reread with this number only.
func (l *Lease) ServerChanged() (restarts int64, changed bool) {
	restarts = l.queue.client.db.Restarts()
	return restarts, l.compared.Load() != restarts
}

// expectServer returns a context for scripts that must reach the server with which the jobs
// were compared.
func (l *Lease) expectServer(ctx context.Context) context.Context {
	return rdb.ExpectServer(ctx, l.compared.Load())
}

// Renew extends the lease to its full length from now. needsRecover reports whether
// [PoolQueue.Recover] has work to do. Call it several times per lease.
func (l *Lease) Renew(ctx context.Context) (needsRecover bool, err error) {
	reply, err := l.queue.run(ctx, leaseBeatScript, l.worker, millis(l.length))
	return reply.Int(0) == 1, err
}

// Cancelled returns those of the jobs, which the worker holds, that were cancelled. It
// finds them also if the worker has missed their [SignalCancel].
func (l *Lease) Cancelled(ctx context.Context, jobs []*Job) (cancelled []*Job, err error) {
	for some := range slices.Chunk(jobs, maxBatch) {
		ids := make([]string, len(some))
		for i, job := range some {
			ids[i] = job.local
		}
		var times []any
		err := l.queue.client.db.Retry(ctx, func() (err error) {
			times, err = l.queue.client.db.HMGet(ctx, l.queue.keys[keyCancelled], ids...).Result()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("queue %s: read cancellations: %w", l.queue.name, err)
		}
		for i, job := range some {
			if times[i] != nil {
				cancelled = append(cancelled, job)
			}
		}
	}
	return cancelled, nil
}

// MarkSolo records that no other job of the worker runs beside the job from now on: only then
// can the death of the worker make it dead. A nil job removes the mark.
func (l *Lease) MarkSolo(ctx context.Context, job *Job) error {
	place := ""
	if job != nil {
		place = fmt.Sprintf("%d %s", job.line, job.entry)
	}
	return l.mark(ctx, place)
}

// MarkShared records whether the worker's process holds jobs of other quarantined groups under
// other leases: as long as it does, the death of the worker counts for no job. It replaces the
// mark of MarkSolo.
func (l *Lease) MarkShared(ctx context.Context, shared bool) error {
	if shared {
		return l.mark(ctx, "shared")
	}
	return l.mark(ctx, "")
}

// mark sets the mark of the worker, or removes it if it is empty.
func (l *Lease) mark(ctx context.Context, mark string) error {
	_, err := l.queue.run(ctx, leaseSoloScript, l.worker, mark)
	return err
}

// Close ends the lease. held reports whether the worker still held jobs: [PoolQueue.Recover]
// hands them back, without quarantine.
func (l *Lease) Close(ctx context.Context) (held bool, err error) {
	reply, err := l.queue.run(ctx, leaseCloseScript, l.worker)
	return reply.Int(0) == 1, err
}
