// Package delayed is about time: it moves jobs into their lines when they are
// due, and says how long a job that failed waits.
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
// # Keys
//
// None of its own: the scripts and keys are in package queue.
package delayed
