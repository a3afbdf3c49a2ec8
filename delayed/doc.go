// Package delayed is about time: it moves jobs into their lines when they are
// due, adds those of schedules, and says how long a job that failed waits.
//
//	mover := delayed.NewMover(db, delayed.MoverConfig{}, mail)
//	err := mover.Run(ctx)
//
// Worker pools have a [Mover] of their own; a lone one is for queues whose
// workers are written in another way.
//
// # Promise
//
// A delayed job is never early by Redis's clock, and while a mover serves its
// queue it is at most some milliseconds late. If the mover that was to come
// dies, another one of the queue comes within 250 ms after the time. However
// many jobs are due, a mover moves at most some hundred in one step, and leaves
// Redis to others in between.
//
// # Schedules
//
// A schedule adds a job each time that a cron expression says:
//
//	report := queue.CronSchedule{Name: "report", Expr: "30 6 * * 1-5", Zone: "Europe/Berlin", Kind: "report"}
//	changed, err := delayed.AddSchedule(ctx, client, report)
//	err = delayed.NewCron(db, delayed.CronConfig{}, q).Run(ctx)
//
// Any number of [Cron] may watch a queue, with no leader. One script compares the
// time with the one that was fired last, adds the job and sets the next time: so
// each time fires exactly once, whatever is repeated, late or killed. Jobs carry
// the headers "schedule" and "due". They pass no [queue.Middleware].
//
// An expression has the fields of crontab(5), minute, hour, day of month, month
// and day of week, and may have one for seconds before them. Where both days are
// restricted either will do. @hourly, @daily, @weekly, @monthly and @yearly are
// short for what they say. "@every 90s" counts its steps from 1970, so that all
// who watch agree.
//
// A schedule goes by the clock on the wall of its zone. It fires when that shows
// a time for the first moment, or has just jumped over it: in the night in which
// 02:00 becomes 03:00, one of 02:30 fires at 03:00, and when 03:00 becomes 02:00
// it fires once, the first time. Many times in one gap are one. A schedule that
// fires in every hour of the day ("30 * * * *", "@hourly") is different: it goes
// on as time does, with nothing made up for a gap and in both of two equal hours.
//
// What fell due while nobody watched was missed, and [queue.CatchUp] says what
// becomes of it; with "all" the newest 1,000 times fire. A time is not missed but
// late, and fires, if a watch ran within the 20 seconds before it. A clock that
// jumps forward by more looks like a time without a watch; one that goes back
// fires nothing twice.
//
// # Keys
//
// None of its own: the scripts and keys are in package queue. Those of schedules
// lie on the slot of their queue:
//
//	schedules        hash: name → record of the job, with expression and zone
//	schedules:due    sorted set: name → when it fires next
//	schedules:fired  hash: name → its last ten firings
//	schedules:watch  hash: since and until when somebody watches; who comes next
package delayed
