// Package workers runs jobs. A [Pool] takes them from some queues, calls the
// handlers of their kinds, and writes what became of them.
//
//	pool, err := workers.New(db, client, workers.Config{
//		Queues:      []workers.Queue{{Name: "mail", Weight: 3}, {Name: "tenant-*"}},
//		Concurrency: 32,
//	})
//	workers.Handle(pool, func(ctx context.Context, job *queue.Job, args SendEmail) error {
//		return send(ctx, args)
//	}, workers.Kind{Timeout: time.Minute})
//	err = pool.Run(ctx)
//
// # Promise
//
// Each job is run at least once. It is run again only when its handler asked
// for that, when its worker died or lost its lease, or when it was handed back
// at a stop; then whatever an earlier run still says is not heard. What handlers
// do must therefore be safe to repeat. While Redis is away, what runs goes on,
// and its end is written when Redis is back, as long as the lease lasts.
//
// # Duties of a pool
//
//  1. It holds a lease for each queue and prolongs it ([queue.Lease]).
//  2. It fetches jobs while it has free slots, from the queues whose turn it is,
//     and blocks in Redis while there are none.
//  3. It runs handlers, each with a context that ends at its timeout, when the
//     job is cancelled, when the lease is lost, and when a stop takes too long.
//  4. It writes ends of jobs in batches, again and again until it has succeeded
//     or the lease is lost.
//  5. It recovers the jobs of dead workers and runs quarantined jobs solo.
//  6. It moves delayed jobs of its queues when they are due, and fires their
//     schedules (package delayed).
//  7. It hears signals: pause and resume, cancel, quiet and stop.
//
// # States of a run
//
//	fetched ──► buffered ──► running ──► ended ──► written
//	               │            │
//	               │            ├─ context ended, no return within the grace:
//	               │            │  left behind; ended, its slot is free again
//	               │            └─ lease lost: nothing it says counts
//	               └─ paused, stopped, or no slot for 200 ms: handed back
//
// What a handler returns says how the job ends: nil, [Snooze], [Discard],
// [Dead], [RetryAfter], or another error, which uses up an attempt. In its
// context, context.Cause tells [ErrTimeout], [ErrCancelled], [ErrShutdown] and
// [queue.ErrLeaseLost] apart.
//
// Handlers that were left behind are counted as stuck in the [About] of the
// worker. As many as there are slots cost nothing; each one more costs a slot
// until it returns.
//
// # Jobs that follow
//
// When a job with [queue.Options.Then] succeeds, the jobs that follow are
// enqueued in the same step. In each text of their args {{.result}} stands for
// what the job set with [SetResult], {{.result.lines}} for a part of it where it
// is JSON, {{.job.id}}, {{.job.kind}} and {{.job.queue}} for the job itself. In a
// text, what is no text stands as JSON; a text that is nothing but one of these
// becomes the value, which may be a number or an object. Other braces are left
// alone. Where something is missing the job is dead, with the reason, though it
// has succeeded. Jobs that follow one of a schedule have its header "due", too.
//
// # Order
//
// A pool with a concurrency of one runs the jobs of a queue in the queue's
// order. Several queues are served by weights: while all have jobs, the jobs
// that are run of each are in proportion to its weight, and none starves. A
// strict pool takes from a queue only when those before it are empty.
//
// Jobs are fetched ahead only where handlers are quick: as many as keep the
// slots busy for 5 ms, and at most 400. By so much can a job be too early or too
// late, and so many can a pool hold that turns slow; it hands them back when no
// slot was free for 200 ms.
//
// # Stopping
//
//  1. Quiet: no more jobs are taken, and those not started are handed back.
//  2. Drain: running handlers have [Config.Drain] to end.
//  3. Their contexts end with [ErrShutdown], and they have [Config.Grace] to
//     return. Those that don't are left behind.
//  4. What has not finished goes to the front of its queue, with no attempt used;
//     what has is written; leases are closed.
//
// The context of [Pool.Run], [Pool.Stop] and a stop signal go through all of
// them; [Pool.Quiet] and a quiet signal end with the first.
//
// # What blocks
//
// [Pool.Run] until all is done, [Pool.Stop] as long as that; [SetProgress]
// until Redis has answered. The others don't.
package workers

// How the package is built
//
// A [Pool] is the API and the lifecycle; its parts do the rest. The way of a job
// goes through them in one direction:
//
//	fetcher ──► scheduler ──► executor ──► completer ──► Redis
//	   ▲            ▲             │
//	 Redis       control          └──► handler
//
// part             goroutines            state
//
// fetcher          one, and its reads    none but the read that is under way
// scheduler        none                  served queues, slots, buffers, weights,
//                                        quarantined jobs: all that decides what
//                                        is fetched and started
// executor         one for each slot     the handlers by kind
// attempt          the handler's         one job: context, timeout, result, log,
//                                        and whether its outcome is decided
// lease loop       one for each queue,   which queue it keeps a lease of
//                  and a recovery
// lease session    none                  one lease and the jobs held under it
// completer        one for each session  outcomes that are not yet written
// control          three: signals,       which lease loops run
//                  discovery of queues,
//                  About
//
// # Invariants
//
//   - A job that a session holds is in one place: on its way from hold to the
//     scheduler, in the buffer of its queue, in quarantine, with a runner, or in
//     the completer.
//   - The outcome of an attempt is decided once: the goroutine that sets
//     attempt.settled adds it to the completer, or drops it with a lost lease.
//   - Slots are taken by the runners and by the solo job. A runner whose handler
//     is abandoned has lost its slot to a new one. The pool is idle when no slot is
//     taken. A solo job frees its slot when it ends its solo run, in one step, so
//     that the next quarantined job finds none taken.
//   - buffered is the number of jobs in all buffers.
//   - While a job runs solo, or quarantined jobs wait, none is fetched or started,
//     but for those that already run.
//   - A queue that is removed is stopped when none of its jobs runs or is on its
//     way; its completer then writes what it has.
//
// # Locks
//
// They are taken in this order, each with or without those before it:
//
//	control.mu ──► scheduler.mu ──► completer.mu
//	leaseSession.mu ──► attempt.mu
//
// Redis, hooks, handlers and timers are called without any of them. control.mu
// only keeps changes of the set of queues apart: while it is held the client, the
// mover, the cron and the logger may be called, which call nothing of the pool.
// The scheduler takes a completer's lock under its own to hand jobs back, so that
// none is between two places while its queue is stopped.
//
// # Shutdown
//
//  1. Quiet: the scheduler starts no job any more. The discovery and the fetcher
//     end, and with them their reads. Lost answers are read again, and all jobs
//     that were not started are handed back.
//  2. Drain: the pool waits until no slot is taken. When the drain is over it
//     interrupts all attempts; the executor abandons those whose handlers ignore
//     that, so that no slot is taken after the grace.
//  3. The lease loops are stopped: each completer writes what it has, and the
//     lease is closed.
//  4. The listener, the description, the mover and the cron end.
//
// Each goroutine is waited for by the part that started it, except those of
// abandoned handlers, which nothing can end, and timers that find nothing to do.
