// Package queue adds jobs to queues in Redis, and inspects and changes them. Package
// workers runs them.
//
//	type SendEmail struct{ To string }
//
//	func (SendEmail) Kind() string { return "email.send" }
//
//	client, err := queue.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	id, err := client.Enqueue(ctx, SendEmail{To: "a@example.com"}, nil)
//	job, err := client.Wait(ctx, id) // or Get, Cancel, Retry, Reschedule, Delete
//
// A job that Enqueue has accepted is in exactly one [State] at any time, and no crash
// loses it. It runs at least once: after a crash it may run again.
//
//	Enqueue ──► waiting ──► active ──► finished, for Options.Retain
//	             ▲   ▲       │   │
//	         due │   └───────┤   └───► dead, until Retry or Delete
//	             │ crashed   │
//	          delayed ◄──────┘ failed
//
// Jobs of a higher [Priority] go first. Within a priority, new jobs are taken in the order
// of their arrival; before them go jobs whose time has come, and before those the jobs that
// a worker handed back. Jobs whose last attempt failed go after the new ones; [RetryLimits]
// let them go on beside these, and leave workers free for others.
//
// # For pools
//
// [Client.ForPool] returns a [PoolQueue], on which packages workers and delayed are built. A
// worker takes jobs with [Lease.Fetch], which opens the [Lease] if there are any, renews it, waits
// for other jobs after the cursors that Fetch returns with a [Watch], and reports the end of each
// attempt with [Lease.Finish]. After a lost answer [Lease.Reread] returns the jobs that it holds.
// A pool calls [Client.Beat], and Recover for the late leases that it returns. Some worker of each
// queue calls [PoolQueue.Recover], [PoolQueue.MoveDue], [PoolQueue.Tidy], [PoolQueue.DueSchedules]
// and [PoolQueue.FireSchedule]. [PoolQueue.Signals] only make workers react sooner.
//
// A worker whose lease has expired is dead: Recover buries it, which hands its jobs to
// others. While no worker can reach Redis, leases expire too. Therefore the first open or
// renewal of a lease, or recovery, after a silence of 0.6 times the longest lease starts an
// amnesty of 0.8 times that lease plus 1 s. During an amnesty only workers are buried whose leases had
// expired before the silence began.
//
// # Quarantine
//
// Any job that a worker held when it died may have killed it. These jobs are quarantined, and
// halving finds the one that kills. Recover moves them into the quarantine lines, as two
// groups of half the size each: [Job.Group]. Jobs that the worker held of a quarantined group
// and its other jobs are halved separately. The sizes are fixed when the worker is buried. A
// job leaves its group when an attempt ends; one that is handed back keeps it. A closed lease
// quarantines nothing, and recovery uses up no attempt.
//
// Under each lease a worker holds jobs of at most one group at a time: Fetch returns no others. A
// death counts towards [Job.Crashes] only if the group of the job began with this job alone, and
// unless [Lease.MarkShared] says that the process of the worker holds other groups under other leases.
// The job is dead after [DefaultCrashes], of which the last one counts only if [Lease.MarkSolo]
// says that no other job of the worker ran. So a job that kills no worker is not made dead
// because of another one. A job that kills each of its workers is dead after at most
// max(1, log2(n)) + 3 deaths if its first worker held n jobs, n rounded up to a power of two, and
// if all of them count: package workers describes which do. Jobs beside it may run as often.
//
// The keys are listed in docs/architecture.md, and the format for programs in other
// languages is in docs/wire-format.md.
package queue
