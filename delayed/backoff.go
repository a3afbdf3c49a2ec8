package delayed

import (
	"cmp"
	"math/rand/v2"
	"time"

	"skidway/queue"
)

// Defaults of [Backoff].
const (
	DefaultFirst  = time.Second
	DefaultMax    = 24 * time.Hour
	DefaultFactor = 2.0
	DefaultJitter = 0.2
)

// A Policy returns how long a job waits after a failed attempt; zero or less means
// not at all. job.Attempts and job.Errors do not include the attempt that has just
// failed with err. A Policy must be safe for concurrent use.
type Policy func(job *queue.Job, err error) time.Duration

// A Backoff is exponential: each wait is Factor times the one before, up to Max. The
// zero value waits 1 s, 2 s, 4 s … and finally 24 h. Short outages are bridged within
// seconds, the 25 default attempts of a job take more than eight days, and after a
// long outage no job waits for more than a day. (The fourth power of the attempt, as
// other queues use it, is slower at first, when most failures end, and reaches four
// days.)
//
// A Backoff is safe for concurrent use if its Random is.
type Backoff struct {
	First  time.Duration // after the first failure; zero or less means [DefaultFirst]
	Max    time.Duration // zero or less means [DefaultMax]
	Factor float64       // below 1 means [DefaultFactor]

	// Jitter is the share of each wait, up to 1, by which it may be shorter, so
	// that jobs that failed together are not retried together. Zero means
	// [DefaultJitter], below zero none.
	Jitter float64

	// Random returns numbers from 0 up to, but without, 1; nil means
	// [rand.Float64].
	Random func() float64
}

// maxGrowth bounds the work for a factor of about 1.
const maxGrowth = 1000

// Wait returns the wait after a number of failed attempts: First after one. It is
// never below zero or above Max, and without jitter never shorter than for fewer
// attempts. Beyond 1,000 attempts it does not grow.
func (b Backoff) Wait(attempts int) time.Duration {
	b = b.withDefaults()
	wait, maxWait := float64(b.First), float64(b.Max)
	// Repeated multiplication is monotonic in spite of rounding; a power is not.
	for n := min(attempts, maxGrowth); n > 1 && wait < maxWait; n-- {
		wait *= b.Factor
	}
	wait = min(wait, maxWait)
	if b.Jitter > 0 {
		wait -= wait * b.Jitter * b.Random()
	}
	// The longest duration is rounded up, as a float, to one that overflows.
	if wait >= maxWait {
		return b.Max
	}
	return max(time.Duration(wait), 0)
}

// Policy returns a Policy that ignores the error.
func (b Backoff) Policy() Policy {
	return func(job *queue.Job, _ error) time.Duration { return b.Wait(job.Attempts + 1) }
}

func (b Backoff) withDefaults() Backoff {
	b.First = cmp.Or(max(b.First, 0), DefaultFirst)
	b.Max = cmp.Or(max(b.Max, 0), DefaultMax)
	if !(b.Factor >= 1) { // NaN too
		b.Factor = DefaultFactor
	}
	if b.Jitter == 0 || b.Jitter != b.Jitter {
		b.Jitter = DefaultJitter
	}
	b.Jitter = min(b.Jitter, 1)
	if b.Random == nil {
		b.Random = rand.Float64
	}
	return b
}
