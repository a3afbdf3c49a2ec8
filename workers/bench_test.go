package workers_test

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// fill puts n jobs of 100 bytes into a queue.
func fill(t testing.TB, c *queue.Client, n int) {
	t.Helper()
	args := queue.Raw("noop", make([]byte, 100))
	for n > 0 {
		inserts := make([]queue.NewJob, min(n, 500))
		for i := range inserts {
			inserts[i].Args = args
		}
		for _, result := range c.EnqueueMany(context.Background(), inserts) {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
		}
		n -= len(inserts)
	}
}

// One operation is one job: fetched, run by a handler that does nothing, and
// finished.
func BenchmarkDrain(b *testing.B) { benchmarkDrain(b, func(*rdb.DB) {}) }

// The queue has the log of a job that is dead.
func BenchmarkDrainBesideALog(b *testing.B) {
	benchmarkDrain(b, func(db *rdb.DB) {
		if err := db.HSet(b.Context(), db.Prefix()+":{default:0}:logs", "n1-1", "line").Err(); err != nil {
			b.Fatal(err)
		}
	})
}

// One operation is one job, from its enqueue to the end that its handler comes to when the job is
// cancelled.
func BenchmarkCancel(b *testing.B) {
	f := newFixture(b, redistest.DB(b))
	b.ReportAllocs()
	took := cancelRunning(f, b.N)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func benchmarkDrain(b *testing.B, prepare func(*rdb.DB)) {
	db, err := rdb.Open(b.Context(), redistest.URL(b), rdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	c, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		b.Fatal(err)
	}
	fill(b, c, b.N)
	prepare(db)
	p := workers.NewPool(c, &workers.Config{Concurrency: 64, Logger: slog.New(slog.DiscardHandler)})
	ctx, end := context.WithCancel(b.Context())
	var done atomic.Int64
	p.HandleRaw("noop", func(context.Context, *queue.Job) error {
		if done.Add(1) == int64(b.N) {
			end()
		}
		return nil
	}, workers.Kind{})
	b.ReportAllocs()
	b.ResetTimer()
	if err := p.Run(ctx); err != nil {
		b.Fatal(err)
	}
}
