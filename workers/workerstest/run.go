package workerstest

import (
	"context"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// A Job is made up for [Run].
type Job struct {
	// Args are of the job's kind. Bytes go in by [queue.Raw].
	Args queue.Args

	// Options are those of an enqueue. A delay is passed over.
	Options queue.Options

	// Attempt is which one it is; zero means 1, the first. Those before it
	// have failed: the handler sees one less in [queue.Job.Attempts].
	Attempt int

	// Interrupted is why the handler's context has ended when the handler is
	// called, see [Interrupt]; nil: it has not.
	Interrupted error
}

// Run calls a handler with a made-up job, which is an active job of an embedded
// Redis, and says what becomes of the job in a pool that is set up as by
// default. A typed handler goes in by [workers.Typed]. Use a [Worker] for other
// settings, middleware, or jobs that lead to others.
func Run(t testing.TB, handler workers.Handler, job Job) Outcome {
	t.Helper()
	if job.Attempt < 0 {
		t.Fatalf("attempt %d: they count from 1", job.Attempt)
	}
	job.Options.Delay, job.Options.At = 0, time.Time{}
	w := New(t, Config{})
	if _, err := w.Client.Enqueue(context.Background(), job.Args, job.Options); err != nil {
		t.Fatal(err)
	}
	w.Pool.Handle(job.Args.Kind(), handler, workers.Kind{})
	lease, made := w.next()
	made.Attempts = max(0, job.Attempt-1)
	return w.run(lease, &attempt{job: made, interrupted: job.Interrupted})
}
