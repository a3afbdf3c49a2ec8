package delayed_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/internal/redistest"
	"skidway/queue"
)

// percentile returns the duration that a share of all durations does not exceed.
func percentile(of []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func TestTenThousandJobsDueWithinASecondAreOnTime(t *testing.T) {
	s := newFixture(t, redistest.DB(t))
	lateness := moveOverASecond(t, s, 10_000)
	p50, p99 := percentile(lateness, 0.5), percentile(lateness, 0.99)
	t.Logf("late by %s at the median, %s at the 99th percentile, %s at most", p50, p99, slices.Max(lateness))
	// Far above what is aimed at, for machines with other things to do.
	if p50 > time.Second || p99 > 5*time.Second {
		t.Errorf("late by %s at the median and %s at the 99th percentile", p50, p99)
	}
}

// moveOverASecond returns how late jobs were that were due over one second.
func moveOverASecond(t testing.TB, s *fixture, jobs int) []time.Duration {
	t.Helper()
	stop := s.run(t, delayed.NewMover(s.client, nil, s.queue))
	defer stop()
	begin := time.Now().Add(time.Second)
	at := make([]time.Time, jobs)
	for i := range at {
		at[i] = begin.Add(time.Duration(i) * time.Second / time.Duration(jobs))
	}
	s.delay(t, at...)
	s.added = time.Now().UnixMilli() // on a slow machine some jobs are due before
	return s.moved(t, jobs)
}

// BenchmarkLateness counts how late jobs enter their line, by Redis's clock, of
// 10,000 that are due over one second.
func BenchmarkLateness(b *testing.B) {
	b.ReportAllocs()
	var lateness []time.Duration
	for b.Loop() {
		lateness = append(lateness, moveOverASecond(b, newFixture(b, redistest.DB(b)), 10_000)...)
	}
	b.ReportMetric(float64(percentile(lateness, 0.5).Milliseconds()), "p50-ms")
	b.ReportMetric(float64(percentile(lateness, 0.99).Milliseconds()), "p99-ms")
	b.ReportMetric(float64(slices.Max(lateness).Milliseconds()), "max-ms")
}

func TestHundredThousandJobsDueAtOnceLeaveOthersTheirTurn(t *testing.T) {
	backlog := moveBacklog(t, 100_000, 1)
	t.Logf("%+v", backlog)
	// The bounds are far above what is measured, for machines with other
	// things to do. What holds on any: a client that waits for an answer
	// before it asks again has its turn between any two of the steps.
	if steps := 100_000 / 250; backlog.commands < steps {
		t.Errorf("another client had %d answers, want one for each of %d steps at least", backlog.commands, steps)
	}
	if backlog.p99 > 5*time.Second || backlog.slowest > 10*time.Second {
		t.Errorf("another client's commands took %s at the 99th percentile and %s at most", backlog.p99, backlog.slowest)
	}
}

// BenchmarkBacklog counts what another client's commands, enqueue and PING in
// turn, take while 100,000 jobs that are due at once are moved. The figures are
// those of the last round: use -benchtime=1x.
func BenchmarkBacklog(b *testing.B) {
	for _, movers := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("movers=%d", movers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				backlog := moveBacklog(b, 100_000, movers)
				b.ReportMetric(float64(backlog.median.Microseconds()), "p50-µs")
				b.ReportMetric(float64(backlog.p99.Microseconds()), "p99-µs")
				b.ReportMetric(float64(backlog.slowest.Microseconds()), "max-µs")
				b.ReportMetric(100_000/backlog.took.Seconds(), "jobs/s")
			}
		})
	}
}

type backlog struct {
	commands             int           // of another client
	took                 time.Duration // until all jobs were moved
	median, p99, slowest time.Duration // of the other client's commands
}

// moveBacklog moves jobs that are all due, and uses Redis meanwhile. Without
// movers it does the latter alone, for comparison.
func moveBacklog(t testing.TB, jobs, movers int) backlog {
	t.Helper()
	s := newFixture(t, redistest.DB(t))
	ctx := t.Context()
	soon := time.Now().Add(time.Hour)
	at := make([]time.Time, jobs)
	for i := range at {
		at[i] = soon.Add(time.Duration(i) * time.Millisecond)
	}
	s.delay(t, at...)
	s.makeAllDue(t)

	begin := time.Now()
	for range movers {
		defer s.run(t, delayed.NewMover(s.client, nil, s.queue))()
	}
	var took []time.Duration
	for round := 0; movers == 0 && round < 5000 || movers > 0 && s.db.ZCard(ctx, s.key("delayed")).Val() > 0; round++ {
		command := time.Now()
		if round%2 == 0 {
			if err := s.db.Ping(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		} else if _, err := s.client.Enqueue(ctx, queue.Raw("k", nil), &queue.Options{Queue: "mail"}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(command))
	}
	result := backlog{len(took), time.Since(begin), percentile(took, 0.5), percentile(took, 0.99), slices.Max(took)}
	if movers > 0 {
		s.moved(t, jobs)
	}
	return result
}
