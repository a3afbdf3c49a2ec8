package workerstest_test

import (
	"testing"

	"skidway/queue"
	"skidway/workers/workerstest"
)

// One operation is one job: enqueued, recorded and drained.
func BenchmarkDrain(b *testing.B) {
	w := workerstest.New(b, nil)
	succeed(w, "email.send")
	b.ReportAllocs()
	for b.Loop() {
		enqueue(b, w, sendEmail{}, queue.Options{})
		w.Drain()
	}
}
