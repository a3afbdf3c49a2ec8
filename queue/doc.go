// Package queue adds jobs to queues in Redis, and inspects and changes them. Package
// workers runs them.
//
//	type SendEmail struct{ To string }
//
//	func (SendEmail) Kind() string { return "email.send" }
//
//	client, err := queue.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	id, err := client.Enqueue(ctx, SendEmail{To: "a@example.com"}, &queue.Options{Queue: "mail"})
//	job, err := client.Wait(ctx, id) // or Get, Cancel, Retry, Reschedule, Delete
//
// Most programs need only [Client]. [Queue] inspects and controls one queue: its jobs,
// counters, workers, schedules and retention. [PoolQueue] is the protocol of worker
// pools; its types are in the files pool_*.go.
//
// # Promise
//
// A job that Enqueue has accepted is in exactly one state at any time, and no crash
// loses it. It runs at least once: after a crash it may run again. Each change of a
// job's state is one atomic script.
//
//	          Enqueue                Enqueue with a delay
//	             │                            │
//	             ▼          due               ▼
//	         waiting ◄──────────────────── delayed
//	          │   ▲                           ▲
//	    fetch │   │ handed back, recovered    │ failed, snoozed
//	          ▼   │                           │
//	         active ──────────────────────────┘
//	          │   │ failed for good
//	succeeded │   └───────────────► dead ── Retry ──► waiting
//	          ▼
//	       finished: counted, and kept for [Options.Retain]
//
// # Order
//
// Workers take jobs of a higher [Priority] first. Each priority has three lines, which
// are read in this order: jobs that were handed back, delayed jobs that became due, new
// jobs. Within a line jobs are in the order of their arrival; jobs that became due are in
// the order of their times.
//
// # Pools
//
// [Client.ForPool] returns a queue with the operations that package workers and package
// delayed are built on. For each queue a pool opens one [Lease] with
// [PoolQueue.OpenLease]; its holder is called a worker here. The worker renews the lease
// ([Lease.Renew]) several times before it expires. It takes jobs with [Lease.Fetch], waits
// for more at the cursors that Fetch returns, and reports the end of each attempt with
// [Lease.Finish]. After a lost answer [Lease.Reread] returns the jobs that it holds. Some
// worker of each queue also calls [PoolQueue.Recover], [PoolQueue.MoveDue],
// [PoolQueue.Tidy] and, for schedules, [PoolQueue.DueSchedules] and
// [PoolQueue.FireSchedule]. [PoolQueue.Signals] are hints that make workers react at once;
// without them they react a little later.
//
// When a worker is silent for longer than its lease, another worker declares it dead: its
// member of the sorted set leases is moved to tombs (a tombstone), and then its jobs are
// handed back. From the tombstone on, all its calls are refused with [ErrLeaseLost]. Jobs
// are only recovered from workers with a tombstone, so a worker in leases still holds all
// its jobs.
//
// A job is quarantined if its worker died while holding it and no other job was marked
// solo ([Lease.MarkSolo]). It next runs solo, with no other job in the same pool, for a
// limited time. A job whose worker died [DefaultCrashes] times while it was marked is dead.
// An attempt that ends, in whatever way, ends the quarantine. Redis doesn't know which of the held jobs had started, so jobs that
// the pool had only prefetched, at most 5 ms of work and 400 jobs, run solo once as well.
//
// # From other languages
//
// One command adds a job; the fields of the entry are the format:
//
//	XADD skidway:{mail:0}:normal:fresh * kind email.send args '{"to":"a@example.com"}'
//
// where mail is the queue and normal the priority. Optional fields are max_attempts (a
// number), timeout and retain (ms), deadline (ms since 1970), headers (a JSON object) and
// then (a JSON list of jobs, see [NewJob.UnmarshalJSON]). Pools that serve queues by
// pattern find a queue when its name is in the set of all queues:
//
//	SADD skidway:{queues} mail
//
// # Keys
//
// All keys of a queue start with the prefix and {queue:partition}, so that they are in one
// slot of a Redis Cluster. Times are milliseconds of Redis's clock.
//
//	high:returned … low:fresh   streams: the lines, with the consumer group "workers";
//	                            an entry has the fields above or a record (record.go)
//	meta                        hash: format, paused, events, last_id; the retention
//	                            (dead_most, dead_most_bytes, dead_most_ms, results_most,
//	                            results_most_bytes, results_most_ms) and the sizes that it
//	                            bounds (dead_bytes, result_bytes); waker, waker_due and
//	                            waker_busy, see lua/move.lua
//	leases, tombs               sorted sets: worker → expiry; worker → time of death
//	workers                     hash: worker → description
//	alone                       hash: worker → line and entry of the job that it runs solo,
//	                            or none (closed cleanly)
//	delayed, delayed:jobs       sorted set: id → due; hash: id → record
//	dead, dead:jobs             sorted set: id → time of death; hash: id → record
//	results, results:jobs       sorted set: id → expiry; hash: id → record. Awaited jobs
//	                            are kept for at least 30 s.
//	moved                       hash: id → line and entry, for jobs not in the entry that
//	                            their id names
//	unique, unique:expiry       hash: key → id; sorted set: key → held until
//	counts                      hash: "day:name" and "total:name" → number
//	control                     stream: signals to workers, about the last 1,000
//	events                      stream: events of jobs, see [Queue.KeepEvents]
//	waited, done                sorted set: id → waited for until; stream: ids of ended
//	                            jobs for which a client waited
//	cancelled, logs, progress   hashes: id → value, of jobs that were active
//	schedules                   hash: name → record
//	schedules:due               sorted set: name → when it fires next
//	schedules:fired             hash: name → its last firings
//	schedules:watch             hash: which worker watches, since when and until when
//
// {queues} is the set of all queues, {queues}:new a stream of new ones. The scripts are in
// the folder lua; the doc comment of internal/rdb describes how they are put together.
package queue
