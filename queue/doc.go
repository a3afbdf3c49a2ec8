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
// [Client.ForPool] returns a [PoolQueue], on which packages workers and delayed are built.
// A worker opens a [Lease] and renews it, takes jobs with [Lease.Fetch], waits for others
// after the cursors that Fetch returns with a [Watch], and reports the end of each attempt
// with [Lease.Finish]. After a lost answer [Lease.Reread] returns the jobs that it holds.
// Some worker of each queue calls [PoolQueue.Recover], [PoolQueue.MoveDue],
// [PoolQueue.Tidy], [PoolQueue.DueSchedules] and [PoolQueue.FireSchedule].
// [PoolQueue.Signals] only make workers react sooner.
//
// A worker whose lease has expired is dead: Recover buries it, which gives its jobs to
// others. While no worker can reach Redis, leases expire too. Therefore the first open or
// renewal of a lease after a silence of 0.6 times the longest lease starts an amnesty of
// 0.8 times that lease plus 1 s. During an amnesty only workers are buried whose leases had
// expired before the silence began.
//
// The keys are listed in docs/architecture.md, and the format for programs in other
// languages is in docs/wire-format.md.
package queue
