package workerstest

import (
	"context"
	"time"

	"skidway/internal/handle"
)

// Now returns the time of the worker's clock. The clock stands still until the next call
// of Drain or Advance, which set it to the real time plus the sum of all advances. A
// job that was enqueued for in an hour is due after Advance(time.Hour), whether by a
// delay or by time.Now() plus an hour.
//
// The clock is that of Redis: it applies to delays, retries, retention, unique keys and
// deadlines. The timeouts of handlers use real time.
func (w *Worker) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Advance moves the clock forward. Jobs that are due then are run by the next Drain.
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

// tick sets the clock.
func (w *Worker) tick() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = time.Now().Add(w.ahead)
	if err := handle.Conn(w.DB).SetEmbeddedTime(w.now); err != nil {
		w.t.Fatal(err)
	}
}

// moveDue moves the jobs that are due into their lines.
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
