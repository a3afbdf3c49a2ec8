// Package workers runs the jobs of queues. A [Pool] fetches them, calls the handlers
// of their kinds, and writes their outcomes.
//
//	type Greet struct{ Name string }
//
//	func (Greet) Kind() string { return "greet" }
//
//	pool := workers.NewPool(client, nil) // serves the queue "default"
//	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
//		fmt.Println("hello,", job.Args.Name) // an error is retried, with growing waits
//		return nil
//	})
//	err := pool.Run(ctx) // until ctx is done
//
// A file with handlers imports no other package of Skidway. [HandleKind] has the
// timeout, the attempts and the waits of a kind. In a handler, [Logger],
// [SetProgress] and [SetResult] keep something with the job, and [Snooze],
// [Discard], [Dead] and [RetryAfter] return errors with an outcome of their own.
//
// # Guarantee
//
// Each job is run at least once. It is run again only if its handler returned an
// error that retries it, if its worker died or lost its lease, or if it was handed
// back at a stop; then nothing that the earlier run still returns is written.
// Handlers must therefore be safe to repeat. While Redis is unreachable running
// jobs go on, and their outcomes are written when Redis is back, if the lease has
// not expired.
//
// # What a pool does
//
//  1. It holds a lease of each queue and renews it ([queue.Lease]). A pool is a
//     worker; in Redis each of its leases is a worker of its own, whose name is
//     that of the pool and a number.
//  2. It fetches jobs while it has free slots, and blocks in Redis while all
//     queues are empty.
//  3. It runs handlers. The context of each is cancelled at the job's timeout,
//     when the job is cancelled, when the lease is lost, and when a stop takes too
//     long.
//  4. It writes outcomes in batches, and repeats that until it has succeeded or
//     the lease is lost.
//  5. It recovers the jobs of dead workers. It quarantines the jobs whose worker
//     died while it had them.
//  6. It moves delayed jobs of its queues when they are due, and fires their
//     schedules (package delayed).
//  7. It follows signals: pause and resume, cancel, quiet and stop.
//
// # States of an attempt
//
//	fetched ─┬─► buffered ────┬─► running ──► claimed ──► written
//	         └─► quarantined ─┘      │
//	                   │             ├─ context cancelled, no return within the
//	                   │             │  grace: abandoned; claimed, its slot is
//	                   │             │  free again
//	                   │             └─ lease lost: its outcome is dropped
//	                   └─ not started: handed back
//
// Claimed means that one goroutine has claimed the end of the attempt. It alone
// adds the outcome to those that are written, or drops it with a lost lease.
//
// A quarantined job is one whose worker died while it had the job. If the running
// jobs end within 10 s, it runs with no other job beside it, at first for up to
// 10 s and longer each time: if the worker dies then, this job is the cause.
//
// Jobs that were not started are handed back if their queue is paused or removed,
// or the pool stops. Buffered ones are handed back as well if no runner took one
// for 200 ms or if a quarantined job starts, a quarantined one if the limit of its
// queue prevents its start.
//
// In the context of a handler, [context.Cause] returns [ErrTimeout],
// [ErrCancelled], [ErrShutdown] or [ErrLeaseLost].
//
// A handler that does not return within [Config.Grace] after its context has ended
// is abandoned, and counted in the Stuck field of [About]. As many abandoned
// handlers as there are slots cost nothing; each one more costs a slot until it
// returns.
//
// # Jobs that follow
//
// When a job with [queue.Options.Then] succeeds, the jobs that follow are enqueued
// in the same step. In the strings of their args, {{.result}} is replaced by what
// the job passed to [SetResult], {{.result.lines}} by a field of it if it is JSON,
// and {{.job.id}}, {{.job.kind}} and {{.job.queue}} by those of the job. Inside of
// a string, a value that is not a string is written as JSON; a string that is
// nothing but one reference becomes the value, which may be a number or an object.
// Other braces stay as they are. If a referenced field does not exist, the job is
// dead, with the reason, although its handler has succeeded. Jobs that follow a
// job of a schedule have its header "due".
//
// # Order
//
// A pool with a concurrency of one runs the jobs of a queue in the queue's order.
// Several queues are served by weights: while all have jobs, the numbers of jobs
// that are run are in proportion to the weights, and each queue is served. A
// strict pool fetches from a queue only when those before it are empty.
//
// Jobs are prefetched only if handlers are quick: as many as keep the slots busy
// for 5 ms, and at most 400. A job can be early or late by so much, and a pool
// whose handlers become slow can hold so many; it hands them back when no slot was
// free for 200 ms.
//
// # Stopping
//
//  1. Quiet: no more jobs are fetched, and those not started are handed back.
//  2. Drain: running handlers have [Config.Drain] to return.
//  3. Their contexts are cancelled with [ErrShutdown], and they have
//     [Config.Grace] to return. Those that do not are abandoned.
//  4. Jobs that have not ended go to the front of their queue, with no attempt
//     used; all outcomes are written; the leases are closed.
//
// The end of [Pool.Run]'s context, [Pool.Stop] and a stop signal start all four
// steps, [Pool.Quiet] and a quiet signal only the first.
//
// # Blocking
//
// [Pool.Run] blocks until the pool has stopped, [Pool.Stop] as well;
// [Pool.Attempt] until the handler returns; [SetProgress] until Redis has
// answered. All other functions return at once.
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
// fetcher          one, and its reads    the running read
// scheduler        none                  served queues, slots, buffers, weights,
//                                        quarantined jobs: all that decides what
//                                        is fetched and started
// executor         one for each slot     the handlers by kind
// attempt          the handler's         one job: context, timeout, result, log,
//                                        and whether its end is claimed
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
//   - The outcome of an attempt is determined once: the goroutine that sets
//     attempt.claimed adds it to the completer, or drops it with a lost lease.
//   - Slots are taken by the runners and by the current quarantined job. A runner
//     whose handler is abandoned has lost its slot to a new one. The pool is idle
//     when no slot is taken. A quarantined job that ends within its window frees its
//     slot in the same step, so that the next one finds none taken.
//   - buffered is the number of jobs in all buffers.
//   - While there is a current quarantined job, or quarantined jobs wait, no job is
//     fetched and no buffered job is started; running jobs go on.
//   - A removed queue is stopped when none of its jobs runs or is on its way; then
//     its completer writes the pending outcomes.
//
// # Quarantine
//
// A quarantined job is one whose worker died while it held the job, and no other job
// was marked. Quarantined jobs are started one after another, if possible when no
// other handler of the pool runs. The current one was started and has neither ended
// nor run for its window: no other job starts beside it. If no other handler runs at
// its start, it is marked: Redis records that only this job runs, and a crash counts
// against it.
//
// That costs throughput, so three constants bound it:
//
//   - soloWait: if the running jobs take longer, a quarantined job starts beside
//     them, unmarked.
//   - firstWindow: when a job that is quarantined for the first time has run so long,
//     other jobs start beside it. A job's window doubles each time that this job is
//     quarantined, so that a job that crashes its worker only after a long time is
//     found too.
//   - maxWindow: no window is longer.
//
// # Locks
//
// Functions with the suffix Locked require the mutex of their receiver, those of
// servedQueue scheduler.mu.
//
// They are taken in this order, each with or without those before it:
//
//	control.mu ──► scheduler.mu ──► completer.mu
//	leaseSession.mu ──► attempt.mu
//
// Redis, hooks, handlers and timers are called without any of them. control.mu
// only serializes changes of the set of queues: while it is held the client, the
// mover, the cron and the logger may be called, which do not call the pool.
// The scheduler locks completer.mu while it holds its own, to hand jobs back, so that
// no job is between two places while its queue is stopped.
//
// # Shutdown
//
//  1. Quiet: the scheduler starts no more jobs. The discovery and the fetcher
//     end, and with them their reads. Lost answers are read again, and all jobs
//     that were not started are handed back.
//  2. Drain: the pool waits until no slot is taken. When the drain is over it
//     interrupts all attempts; the executor abandons those whose handlers ignore
//     that, so that no slot is taken after the grace.
//  3. The lease loops are stopped: each completer writes the pending outcomes, and
//     the lease is closed.
//  4. The listener, the description, the mover and the cron end.
//
// Each goroutine is waited for by the part that started it, except those of
// abandoned handlers, which nothing can end, and timers that find nothing to do.
