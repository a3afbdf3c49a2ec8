package workerstest

import (
	"context"
	"time"
)

// Now is the time by the worker's clock. It stands still until the next call of
// Drain or Advance, which bring it forward to the real time plus all that
// Advance was given so far. So a job that was enqueued to run in an hour is due
// after Advance(time.Hour), be its time given as a delay or as time.Now() plus
// an hour.
//
// The clock is Redis's: delays, retries, what is retained and unique keys go by
// it, and deadlines of jobs. How long a handler takes is real.
func (w *Worker) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Advance moves the clock forward. Jobs that are due then wait to be run by the
// next Drain.
func (w *Worker) Advance(d time.Duration) {
	w.t.Helper()
	if d < 0 {
		w.t.Fatalf("advance by %s: the clock only goes forward", d)
	}
	w.mu.Lock()
	w.ahead += d
	w.mu.Unlock()
	w.tick()
	w.moveDue()
}

// tick brings the clock forward.
func (w *Worker) tick() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = time.Now().Add(w.ahead)
	if err := w.DB.SetEmbeddedTime(w.now); err != nil {
		w.t.Fatal(err)
	}
}

// moveDue moves jobs that are due into their lines.
func (w *Worker) moveDue() {
	w.t.Helper()
	for _, q := range w.queues() {
		for more := true; more; {
			moved, err := q.MoveDue(context.Background(), w.Pool.Name())
			if err != nil {
				w.t.Fatal(err)
			}
			more = moved.More
		}
	}
}
