package queue

import (
	"context"
	"fmt"
	"time"
)

// DefaultLease is how long a worker may be silent before its jobs go to others.
const DefaultLease = 10 * time.Second

// A Lease is a worker's right to take jobs of one queue and to say what became
// of them. Everything that it does is refused with [ErrLeaseLost] once the
// worker was silent for too long and was declared dead. It is safe for
// concurrent use. [workers.Pool] does all this; a Lease is for those who write
// a pool of their own.
type Lease struct {
	queue  *PoolQueue
	worker string
	length time.Duration
}

// Lease opens a lease. worker is the name of this incarnation of the worker: it
// must be random and never used again. about is shown to people who look at the
// queue's workers. length zero means [DefaultLease].
func (q *PoolQueue) OpenLease(ctx context.Context, worker string, length time.Duration, about []byte) (*Lease, error) {
	if length == 0 {
		length = DefaultLease
	}
	if err := checkName("worker", worker); err != nil {
		return nil, err
	}
	if length < time.Millisecond {
		return nil, fmt.Errorf("%w: lease %s: want at least 1ms", ErrInvalid, length)
	}
	if err := q.register(ctx); err != nil {
		return nil, err
	}
	l := &Lease{queue: q, worker: worker, length: length}
	if _, err := q.run(ctx, leaseOpenScript, worker, millis(length), about); err != nil {
		return nil, fmt.Errorf("open a lease: %w", err)
	}
	return l, nil
}

// Queue returns the queue that the lease is for.
func (l *Lease) Queue() *PoolQueue { return l.queue }

// Worker is the name of the worker's incarnation.
func (l *Lease) Worker() string { return l.worker }

// Beat prolongs the lease from now by its length. recover says that there is
// something to [PoolQueue.Recover]. Call it a few times a lease.
func (l *Lease) Renew(ctx context.Context) (recover bool, err error) {
	reply, err := l.queue.run(ctx, leaseBeatScript, l.worker, millis(l.length))
	return reply.Int(0) == 1, err
}

// Describe changes what people are shown of the worker.
func (l *Lease) Describe(ctx context.Context, about []byte) error {
	_, err := l.queue.run(ctx, leaseNoteScript, l.worker, "describe", about)
	return err
}

// Alone says that of all jobs which the worker holds only this one runs from
// now on, in a process that runs no other: if the worker dies, it was this
// one. nil ends that.
func (l *Lease) MarkSolo(ctx context.Context, job *Job) error {
	place := ""
	if job != nil {
		place = fmt.Sprintf("%d %s", job.line, job.entry)
	}
	_, err := l.queue.run(ctx, leaseNoteScript, l.worker, "alone", place)
	return err
}

// Close ends the lease. Jobs that the worker still holds are recovered by
// others, as after its death; hand them back first.
func (l *Lease) Close(ctx context.Context) error {
	_, err := l.queue.run(ctx, leaseCloseScript, l.worker)
	return err
}
