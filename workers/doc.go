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
// Each job is run at least once, so handlers must be safe to repeat. It is run again
// only if its handler returned an error that retries it, if its worker died or lost
// its lease, if it was handed back at a stop, or if Redis has lost its end, as in a
// failover; then nothing that the earlier run still returns is written. While Redis cannot
// be reached running jobs go on, and their outcomes are written when Redis is back. If only
// this worker cannot reach it, its lease must not have expired.
//
// # States of an attempt
//
//	fetched ──► buffered ──► running ──► outcome written
//	               │            ├─► abandoned ──► outcome written
//	               │            └─► lease lost: outcome dropped
//	               └─► handed back
//
// A handler that does not return within [Config.Grace] after its context has ended is
// abandoned. Other jobs run beside quarantined ones, which package queue describes, unless the next
// death of the worker could make the job dead, see [Config.Crashes].
//
// # Quarantine
//
// A pool fetches quarantined jobs for at most half of its slots, and of one group at a time: if
// the worker dies, the other groups need not run again. A job may run for hours, so a group keeps
// no other waiting once each of its jobs has run for 5 s: then it lingers. The time doubles with each
// quarantine of a job. Jobs that linger do not count towards the half of the slots.
//
// This costs no further death of a worker until the group has one job. The pool fetches the next
// group under another lease, and Redis halves by leases: after a death the group of the job that
// kills its workers has half of its size, whatever lingered beside it. If lingering jobs were only
// taken for harmless, a job that kills its worker after that time would be found late; if they
// were halved together with the next group, a group could stay as large as it was. What it costs:
// jobs that linger when the worker dies are quarantined once more. None of them is made dead, since
// the last death that makes a job dead counts only while no other runs. For that the pool waits for
// 10 s; beside jobs that run for longer, quarantined or not, that death does not count, and the wait
// doubles for the next one.
package workers

// How the package is built is described in docs/architecture.md.
//
// Functions with the suffix Locked require the mutex of their receiver, those of
// servedQueue scheduler.mu. Mutexes are locked in this order, each with or without
// those before it:
//
//	control.mu ──► scheduler.mu ──► completer.mu
//	leaseSession.mu ──► attempt.mu
//
// Redis, hooks, handlers and timers are called without any of them, except that
// control.mu is held for the mover, the cron and the client, which do not call the pool.
// servedQueue.signalMu comes before all of them, and is held while signals are read and handled.
