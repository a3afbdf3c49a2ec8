package ops

import (
	"fmt"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers/stats"
)

// series returns the statistics of the last n minutes before now, of which set fills each.
func seriesOf(now time.Time, n int, set func(minute int, b *stats.Bucket)) *stats.Series {
	s := &stats.Series{Queue: "q", Range: stats.Hour, Width: time.Minute, Now: now, Buckets: make([]stats.Bucket, n)}
	for i := range s.Buckets {
		b := &s.Buckets[i]
		b.Start, b.Kinds = now.Truncate(time.Minute).Add(time.Duration(i+1-n)*time.Minute), map[string]*stats.Counts{}
		set(i, b)
	}
	return s
}

func TestStatisticsShowSinceWhenAQueueGrowsOrFails(t *testing.T) {
	t.Parallel()
	c := &Client{rules: DefaultRules()}
	now := time.Date(2026, 11, 20, 14, 0, 30, 0, time.UTC)
	status := QueueStatus{Name: "q", Time: now, Workers: 1, Slots: 4, Total: queue.Counts{Succeeded: 1000, Failed: 100}}
	status.Depth.Waiting, status.Depth.Oldest = 50, 31*time.Minute
	growing := seriesOf(now, 60, func(minute int, b *stats.Bucket) {
		b.Sampled, b.Waiting, b.Oldest = true, minute, time.Duration(max(0, minute-30))*time.Minute
	})
	failing := seriesOf(now, 60, func(minute int, b *stats.Bucket) {
		b.Sampled = true
		b.Kinds["k"] = &stats.Counts{Done: 10, Failed: 4}
	})
	quiet := seriesOf(now, 60, func(_ int, b *stats.Bucket) { b.Sampled = true })
	for name, one := range map[string]struct {
		series *stats.Series
		want   string
	}{
		"growing": {growing, "[warning: grows: the oldest waiting job gets older and older since 2026-11-20T13:32:00Z]"},
		"failing": {failing, "[problem: failing: many attempts fail since 2026-11-20T13:02:00Z]"},
		"failing for some minutes": {seriesOf(now, 60, func(minute int, b *stats.Bucket) {
			b.Sampled = true
			if minute >= 40 {
				b.Kinds["k"] = &stats.Counts{Done: 10, Failed: 4}
			}
		}), "[problem: failing: many attempts fail since 2026-11-20T13:41:00Z]"},
		"quiet":   {quiet, "[]"},
		"unknown": {seriesOf(now, 60, func(int, *stats.Bucket) {}), "[]"},
	} {
		if got := fmt.Sprint(c.Diagnose(history(one.series, status))); got != one.want {
			t.Errorf("%s: %s, want %s", name, got, one.want)
		}
	}
}
