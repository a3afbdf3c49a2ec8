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
	idle := func(edit func(minute int, b *stats.Bucket)) *stats.Series {
		return seriesOf(now, 60, func(minute int, b *stats.Bucket) {
			b.Sampled, b.Waiting, b.Time, b.Taken, b.Free = true, 50, b.Start.Add(10*time.Second), 1100, 3
			b.Oldest = max(0, b.Time.Sub(now.Add(-5*time.Minute)))
			edit(minute, b)
		})
	}
	stalledSince := func(at string) string {
		return "[problem: stalled: jobs wait, workers have free slots, and nothing is taken since 2026-11-20T" + at + "Z]"
	}
	for name, one := range map[string]struct {
		series *stats.Series
		want   string
	}{
		"stalled since the job that waits for the longest came": {idle(func(int, *stats.Bucket) {}), stalledSince("13:56:10")},
		"a job was taken in 13:57 or 13:58": {idle(func(minute int, b *stats.Bucket) {
			if minute < 57 {
				b.Taken = 1099
			}
		}), stalledSince("13:58:10")},
		"a job was taken in this minute":            {idle(func(minute int, b *stats.Bucket) { b.Taken-- }), "[]"},
		"jobs were taken and snoozed":               {idle(func(minute int, b *stats.Bucket) { b.Oldest += time.Minute }), "[]"},
		"no slot was free":                          {idle(func(_ int, b *stats.Bucket) { b.Free = 0 }), "[]"},
		"free slots are not known":                  {idle(func(_ int, b *stats.Bucket) { b.Time, b.Taken, b.Free = time.Time{}, 0, 0 }), "[]"},
		"the time of a sample is not of its minute": {idle(func(_ int, b *stats.Bucket) { b.Time = b.Time.Add(time.Hour) }), "[]"},
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
		status := status
		if one.series.Buckets[0].Taken > 0 {
			status.Depth.Oldest, status.Free = 5*time.Minute, 3
		}
		if got := fmt.Sprint(c.Diagnose(history(one.series, status))); got != one.want {
			t.Errorf("%s: %s, want %s", name, got, one.want)
		}
	}
}
