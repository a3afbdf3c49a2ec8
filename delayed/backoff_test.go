package delayed_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/delayed"
	"skidway/queue"
)

func TestBackoffWaits(t *testing.T) {
	t.Parallel()
	half := func() float64 { return 0.5 }
	for name, c := range map[string]struct {
		backoff  delayed.Backoff
		attempts int
		want     time.Duration
	}{
		"first":                          {delayed.Backoff{Jitter: -1}, 1, time.Second},
		"no failure is as one":           {delayed.Backoff{Jitter: -1}, 0, time.Second},
		"below zero too":                 {delayed.Backoff{Jitter: -1}, math.MinInt, time.Second},
		"doubles":                        {delayed.Backoff{Jitter: -1}, 5, 16 * time.Second},
		"has an end":                     {delayed.Backoff{Jitter: -1}, 25, 24 * time.Hour},
		"never overflows":                {delayed.Backoff{Jitter: -1, Max: math.MaxInt64}, math.MaxInt, math.MaxInt64},
		"constant":                       {delayed.Backoff{Jitter: -1, First: time.Minute, Factor: 1}, 25, time.Minute},
		"of one's own":                   {delayed.Backoff{Jitter: -1, First: time.Minute, Factor: 3}, 3, 9 * time.Minute},
		"most below first":               {delayed.Backoff{Jitter: -1, First: time.Hour, Max: time.Minute}, 1, time.Minute},
		"jitter shortens":                {delayed.Backoff{Random: half}, 1, 900 * time.Millisecond},
		"all of it at the most":          {delayed.Backoff{Random: half, Jitter: 7}, 1, 500 * time.Millisecond},
		"no number means the default":    {delayed.Backoff{Random: half, Jitter: math.NaN(), Factor: math.NaN()}, 2, 1800 * time.Millisecond},
		"factor that shrinks is refused": {delayed.Backoff{Jitter: -1, Factor: 0.5}, 2, 2 * time.Second},
		"infinite factor":                {delayed.Backoff{Jitter: -1, Factor: math.Inf(1)}, 2, 24 * time.Hour},
	} {
		if got := c.backoff.Wait(c.attempts); got != c.want {
			t.Errorf("%s: waits %s, want %s", name, got, c.want)
		}
	}
}

func TestBackoffStaysInItsBoundsAndGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := delayed.Backoff{
			First:  time.Duration(rapid.Int64().Draw(t, "first")),
			Max:    time.Duration(rapid.Int64().Draw(t, "most")),
			Factor: rapid.Float64().Draw(t, "factor"),
			Jitter: rapid.Float64().Draw(t, "jitter"),
			Random: func() float64 { return rapid.Float64Range(0, 1).Draw(t, "random") },
		}
		attempts := rapid.Int().Draw(t, "attempts")
		most := b.Max
		if most <= 0 {
			most = delayed.DefaultMax
		}
		if got := b.Wait(attempts); got < 0 || got > most {
			t.Fatalf("waits %s, want 0 to %s", got, most)
		}
		b.Jitter = -1
		if got, next := b.Wait(attempts), b.Wait(max(attempts, attempts+1)); next < got {
			t.Fatalf("waits %s after %d attempts and %s after one more", got, attempts, next)
		}
	})
}

func TestPolicyCountsTheAttemptThatHasJustFailed(t *testing.T) {
	t.Parallel()
	policy := delayed.Backoff{Jitter: -1}.Policy()
	for attempts, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := policy(&queue.Job{Attempts: attempts}, nil); got != want {
			t.Errorf("after %d earlier attempts it waits %s, want %s", attempts, got, want)
		}
	}
}

func BenchmarkBackoff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		delayed.Backoff{}.Wait(25)
	}
}
