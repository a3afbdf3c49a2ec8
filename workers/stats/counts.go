package stats

import (
	"math/bits"
	"time"
)

// Counts are the attempts of a kind, or of several, in some time.
type Counts struct {
	Done      int64 // attempts that succeeded
	Failed    int64 // attempts that failed, the last ones of dead jobs included
	Dead      int64 // jobs that failed for good
	Discarded int64 // jobs that had nothing to do
	Cancelled int64

	Run  Histogram // times of the attempts; those that were abandoned are not known
	Wait Histogram // times in line before the attempts
}

// Add adds other counts.
func (c *Counts) Add(other *Counts) {
	for _, metric := range metrics {
		*metric.of(c) += *metric.of(other)
	}
	c.Run.add(&other.Run)
	c.Wait.add(&other.Wait)
}

// Attempts returns the number of attempts that succeeded or failed.
func (c *Counts) Attempts() int64 { return c.Done + c.Failed }

// metrics are the names of the counts in Redis.
var metrics = []struct {
	name string
	of   func(*Counts) *int64
}{
	{"done", func(c *Counts) *int64 { return &c.Done }},
	{"failed", func(c *Counts) *int64 { return &c.Failed }},
	{"dead", func(c *Counts) *int64 { return &c.Dead }},
	{"discarded", func(c *Counts) *int64 { return &c.Discarded }},
	{"cancelled", func(c *Counts) *int64 { return &c.Cancelled }},
}

// histogramSize is the number of classes of a histogram; the last one has all longer times, from
// 12 days on.
const histogramSize = 32

// A Histogram counts times by powers of two.
type Histogram struct {
	Sum float64 // of all times, in seconds

	// Classes has the number of times below 2^i ms that are not in the class before: below 1 ms,
	// below 2 ms, below 4 ms, and so on.
	Classes [histogramSize]int64
}

// observe adds a time.
func (h *Histogram) observe(d time.Duration) {
	h.Sum += d.Seconds()
	h.Classes[min(bits.Len64(uint64(max(0, d)/time.Millisecond)), histogramSize-1)]++
}

func (h *Histogram) add(other *Histogram) {
	h.Sum += other.Sum
	for i, n := range other.Classes {
		h.Classes[i] += n
	}
}

// Count returns the number of times.
func (h *Histogram) Count() (n int64) {
	for _, class := range h.Classes {
		n += class
	}
	return n
}

// Mean returns the mean of the times, zero if there are none.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return time.Duration(h.Sum / float64(n) * float64(time.Second))
}

// Quantile returns a time that about a part q of the times are below, from 0 to 1, zero if there
// are none. Within a class it is interpolated, so it is wrong by a factor of less than two.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := q * float64(h.Count())
	if rank == 0 {
		return 0
	}
	low := 0.0 // of the class, in ms
	for i, n := range h.Classes {
		high := float64(uint64(1) << i)
		if n > 0 && float64(n) >= rank {
			return time.Duration((low + (high-low)*rank/float64(n)) * float64(time.Millisecond))
		}
		rank, low = rank-float64(n), high
	}
	return time.Duration(low * float64(time.Millisecond))
}
