// Package metrics tells Prometheus what workers do and how queues stand.
//
//	m := metrics.New(client)
//	pool := workers.NewPool(client, &workers.Config{Hooks: m.Hooks()})
//	registry.MustRegister(m)
//
// # What this process did
//
// By queue and kind, since it started:
//
//	skidway_jobs_started_total     attempts
//	skidway_jobs_done_total        jobs that succeeded
//	skidway_jobs_discarded_total   jobs with nothing to do
//	skidway_jobs_cancelled_total
//	skidway_jobs_failed_total      attempts that failed
//	skidway_jobs_retried_total     and are to be made again
//	skidway_jobs_dead_total        jobs that failed for good
//	skidway_jobs_snoozed_total
//	skidway_jobs_returned_total    given back unfinished
//	skidway_jobs_crashed_total     jobs taken whose last worker had died with them
//	skidway_job_wait_seconds       histogram: in line, until its worker took it
//	skidway_job_duration_seconds   histogram: of an attempt
//	skidway_leases_lost_total      by queue
//
// And by [Metrics.Enqueue], where it is given to the client:
//
//	skidway_jobs_enqueued_total
//
// # How the queues stand
//
// Read from Redis at each scrape, of all queues, so that every process tells the
// same: take the maximum over processes, not the sum.
//
//	skidway_queue_jobs{queue,state,priority}   how many there are now
//	skidway_queue_oldest_seconds{queue}        age of the first that waits
//	skidway_queue_paused{queue}                0 or 1
//	skidway_queue_events_total{queue,event}    of all processes and all time
//	skidway_redis_up                           0 when the last scrape could not ask
//
// Kinds and queues beyond the first thousand share the name "other".
package metrics
