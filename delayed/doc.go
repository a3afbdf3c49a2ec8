// Package delayed moves delayed jobs into their lines when they are due, adds the jobs
// of schedules, and computes how long failed jobs wait.
//
//	report := queue.CronSchedule{Name: "report", Expr: "30 6 * * 1-5", Zone: "Europe/Berlin", Kind: "report"}
//	changed, err := delayed.AddSchedule(ctx, client, report)
//
// A worker pool has a [Mover] and a [Cron] of its own. Programs need one only for
// queues whose workers are not a pool of package workers:
//
//	mover := delayed.NewMover(client, nil, mail)
//	err := mover.Run(ctx)
//
// # Guarantee
//
// A delayed job is never early by Redis's clock, and while a mover serves its queue it
// is at most some milliseconds late. If a mover dies, another one of the queue moves
// the job within 250 ms after its time. If many jobs are due, a mover moves at most
// some hundred in one step, and leaves Redis to other clients in between.
//
// # Schedules
//
// A schedule adds a job at each time of a cron expression; [Next] describes expressions.
// Several [Cron] may watch a queue; there is no leader. One script compares the time with
// the last one that has fired, adds the job and sets the next time, so that each time fires
// exactly once, whatever is repeated, late or killed. The jobs have the headers
// [queue.HeaderSchedule] and [queue.HeaderDue]. They do not pass through
// [queue.Middleware].
//
// A time that came while no Cron watched the queue was missed, and [queue.CatchUp]
// decides whether it fires; with "all" the newest 1,000 times fire. If a Cron watched
// within the 20 seconds before it, the time is late and fires. If Redis's clock jumps
// forward by more, that looks like a time without a Cron; if it jumps back, no time
// fires twice.
package delayed
