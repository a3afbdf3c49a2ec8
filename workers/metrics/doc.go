// Package metrics has a Prometheus collector for workers and queues.
//
//	m := metrics.New(client)
//	pool := workers.NewPool(client, &workers.Config{Hooks: m.Hooks()})
//	m.AddPool(pool)
//	registry.MustRegister(m)
//	registry.MustRegister(metrics.NewQueues(client)) // in one process
//
// # Workers
//
// Counters of this process, by queue and kind:
//
//	skidway_jobs_started_total     attempts
//	skidway_jobs_done_total        jobs that succeeded
//	skidway_jobs_discarded_total   jobs that had nothing to do
//	skidway_jobs_cancelled_total
//	skidway_jobs_failed_total      attempts that failed
//	skidway_jobs_retried_total     failed attempts that are repeated
//	skidway_jobs_dead_total        jobs that failed for good
//	skidway_jobs_snoozed_total
//	skidway_jobs_returned_total    handed back unfinished
//	skidway_jobs_crashed_total     attempts at jobs whose last worker had died
//	skidway_job_wait_seconds       histogram: time in line until the fetch
//	skidway_job_duration_seconds   histogram: time of an attempt
//	skidway_leases_lost_total      by queue
//
// Of the pools that [Metrics.AddPool] was called with, all together:
//
//	skidway_jobs_unrecorded        jobs that ran and whose end Redis has not confirmed
//	skidway_jobs_unrecorded_max    at this number a process starts no more jobs
//
// Of this process:
//
//	skidway_redis_up               0 if Redis did not answer
//
// With [Metrics.Enqueue] as middleware of the client:
//
//	skidway_jobs_enqueued_total    jobs that were added, not those that an earlier call has added
//
// # Queues
//
// [Queues] reads them from Redis at each scrape, for all queues, which costs Redis about 0.2 ms a
// queue. So one process should export them, or a few: the values are the same, so use the maximum
// over processes, not the sum. It must be scraped under the same job as the workers.
//
//	skidway_queue_jobs{queue,state,priority}   number of jobs
//	skidway_queue_oldest_seconds{queue}        age of the first waiting job
//	skidway_queue_overdue_seconds{queue}       time since the first delayed job was due
//	skidway_queue_paused{queue}                0 or 1
//	skidway_queue_workers{queue}               living workers that serve it
//	skidway_queue_slots{queue}                 of those that are neither quiet nor stopping
//	skidway_queue_free_slots{queue}            of those slots, those that hold no job of any queue, within the queue's limit
//	skidway_queue_events_total{queue,event}    of all processes since the first use
//	skidway_queues_up                          0 if the queues could not be read
//
// A metric whose source could not be read is omitted.
//
// # Log channels
//
// The command skidway worker also exports the metrics of the log channels that its configuration
// names, read from Redis at each scrape:
//
//	skidway_log_lines_total{channel,subscriber,result}  counted, unknown_country, filtered, expired, unparsable
//	skidway_log_bytes_total{channel,subscriber}         of uncompressed content
//	skidway_log_files_total{channel,subscriber}         counted in whole or in part
//	skidway_log_files_pending{channel,subscriber}       announced, and not counted yet
//	skidway_log_window_bytes{channel}                   that files may take up in Redis
//	skidway_log_window_used_bytes{channel}              that they do
//	skidway_log_channel_up{channel}                     0 if it could not be read
//
// # Names
//
// Kinds and queues beyond the first thousand have the name "other".
package metrics
