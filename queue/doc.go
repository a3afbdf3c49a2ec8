// Package queue knows what a job is, every key of a queue in Redis, and every
// change of a job's state. Each change is one atomic script.
//
//	client, err := queue.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	id, err := client.Enqueue(ctx, SendEmail{To: "a@example.com"}, &queue.Options{Queue: "mail"})
//
// Jobs are run by package workers; package delayed moves them when their time
// has come.
//
// # Promise
//
// A job that Enqueue has accepted is in exactly one state at every moment that
// another client can see, and a crash anywhere loses none. It is run at least
// once: where losing and repeating are the choices, it is repeated.
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
//	       finished: counted, and kept where [Options.Retain] says so
//
// # Order
//
// Each priority has three lines, read in this order: what was handed back, what
// was delayed and is due, what is fresh. Priorities are strict. Within a line
// the order is that of arrival; due jobs come in the order of their times.
//
// # Leases
//
// A worker takes jobs under a [Lease], which its heartbeat prolongs. When the
// worker has been silent for too long it is declared dead: first its row gives
// way to a tombstone, then its jobs are handed back. From the first step on
// nothing it says is heard. A job leaves its worker only behind a tombstone, so
// a worker with a row still has all its jobs.
//
// A job that a worker held when it died is a suspect: it runs next with no other
// job in its pool. Only a crash while alone counts, and after some of them the
// job is dead. A suspect that ends an attempt, whatever its outcome, is none any
// more. Redis doesn't know which of the held jobs were started: those that a
// pool had fetched ahead, at most 5 ms of work and 400 jobs, are suspects too and
// run alone once, with no other harm. A lease that is closed leaves none.
//
// # From other languages
//
// A job is added by one command; the entry's fields are the format:
//
//	XADD skidway:{mail:0}:normal:fresh * kind email.send args '{"to":"a@example.com"}'
//
// where mail is the queue and normal the priority. Further fields may follow:
// max_attempts, timeout, deadline, retain (numbers, in ms; deadline since 1970),
// headers (a JSON object) and then (a JSON list of jobs, see
// [NewJob.UnmarshalJSON]). Pools that serve queues by pattern find the
// queue once its name is in the set of all:
//
//	SADD skidway:{queues} mail
//
// # Keys
//
// All start with the prefix and {queue:partition}, so that they lie on one
// slot.
//
//	high:returned … low:fresh   streams, the nine lines; group "workers"; an
//	                            entry is a job, see above, or carries its
//	                            record, see record.go
//	meta                        hash: format, paused, events, last_id, sizes,
//	                            retention
//	leases, tombs               sorted sets: worker → expiry, → time of death
//	workers, alone              hashes: worker → its description; → the job it runs alone
//	delayed, delayed:jobs       sorted set id → due, hash id → record
//	dead, dead:jobs             sorted set id → time of death, hash id → record
//	results, results:jobs       sorted set id → kept until, hash id → record
//	                            also, for half a minute, of jobs whose end
//	                            somebody waited for
//	moved                       hash: id → line and entry, of jobs in another
//	                            place than their id says
//	unique, unique:expiry       hash key → id, sorted set key → held until
//	counts                      hash: "day:name" and "total:name" → number
//	control                     stream: signals to workers, at most about 1,000
//	events                      stream: what happens to jobs, where asked for
//	waited, done                sorted set id → until; stream of the ids of
//	                            ended jobs that somebody waited for
//	cancelled, logs, progress   hashes by id, of jobs that have been active
//
// And for schedules, see package delayed:
//
//	schedules                   hash: name → record
//	schedules:due               sorted set: name → when it fires next
//	schedules:fired             hash: name → its last firings
//	schedules:watch             hash: who watches, and since and until when
//
// Beside them {queues} is the set of all queues, {queues}:new a stream of new
// ones. All times are milliseconds of Redis's clock.
package queue
