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
// A pool fetches quarantined jobs of one group at a time, for at most half of its slots: if the
// worker dies, the other groups need not run again. A job may run for hours, so a group keeps no
// other waiting once each of its jobs has run for 5 s; then the group is long-running. The only job
// of a group keeps others waiting for twice as long after each further death, because its deaths
// count. The half of the slots is without the jobs of long-running groups.
//
// Each group has a lease of its own, and Redis halves by leases: after a death the group of the job
// that kills its workers has half of its size, whatever ran beside it. A death of the worker counts
// towards [Config.Crashes] of one job at most. It must be the only job of its group; and this group
// is the only one that the pool holds, or the one that is not long-running. So jobs that run for
// hours beside one that kills its workers have no crash from that, and need not run solo.
//
// What this costs:
//
//   - Jobs of long-running groups run again when the worker dies, and are quarantined once more.
//   - A job that kills its worker only when its group is long-running, beside quarantined jobs that
//     run for longer still, costs more deaths: these are not counted until it keeps others waiting
//     for longer than it takes to kill. For one that kills after a minute there are four of them.
//     Without such jobs beside it there are none.
//   - A death that a job of a long-running group causes, or a job that is not quarantined, may
//     count for the only job of a group that is not long-running. It makes no job dead, since the
//     last death that makes a job dead counts only while no other job runs.
//   - For that last one the pool waits for 10 s until no other job runs; beside jobs that run for
//     longer, quarantined or not, that death does not count, and the wait doubles for the next one.
//     Meanwhile the pool starts no other job, and none in the first 80 s of the job, which double
//     too.
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
