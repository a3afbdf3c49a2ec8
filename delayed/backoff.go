package delayed

import (
	"cmp"
	"math/rand/v2"
	"time"

	"skidway/queue"
)

// Defaults of a [Backoff].
const (
	DefaultFirst  = time.Second
	DefaultMost   = 24 * time.Hour
	DefaultFactor = 2.0
	DefaultJitter = 0.2
)

// A Policy says how long a job waits after a failed attempt; zero or less is
// not at all. job.Attempts and job.Errors are without the attempt that has just
// failed, with err. It is called by many goroutines at once.
type Policy func(job *queue.Job, err error) time.Duration

// A Backoff is exponential: each wait is Factor times the one before, up to
// Most. The zero value waits 1 s, 2 s, 4 s … and in the end 24 h: a restart of
// something that the job needs is bridged within seconds, the 25 attempts that
// a job has by default take more than eight days, and once the trouble is over
// no job waits for longer than a day. (The fourth power of the attempt, which
// other queues wait, is slower at first, when most failures end, and reaches
// four days.)
//
// A Backoff is safe for concurrent use if its Random is.
type Backoff struct {
	First  time.Duration // after the first failure; zero or less: [DefaultFirst]
	Most   time.Duration // zero or less: [DefaultMost]
	Factor float64       // below 1: [DefaultFactor]

	// Jitter is the share of each wait, up to 1, by which it may be shorter,
	// so that what failed together does not come back together. It makes no
	// wait longer than Most. Zero means [DefaultJitter], below zero none.
	Jitter float64

	// Random gives numbers from 0 up to, but without, 1; nil means
	// [rand.Float64].
	Random func() float64
}

// maxGrowth bounds the work for a factor of about 1.
const maxGrowth = 1000

// Wait is the wait after a number of failed attempts, the one just made
// included: 1 gives First. It is never below zero or above Most, and without
// jitter never shorter than for fewer attempts. Beyond 1,000 attempts it no
// longer grows.
func (b Backoff) Wait(attempts int) time.Duration {
	b = b.withDefaults()
	wait, most := float64(b.First), float64(b.Most)
	// Multiplying rounds, but never the wrong way round, as a power might.
	for n := min(attempts, maxGrowth); n > 1 && wait < most; n-- {
		wait *= b.Factor
	}
	wait = min(wait, most)
	if b.Jitter > 0 {
		wait -= wait * b.Jitter * b.Random()
	}
	// As a float the longest duration rounds up to one that there is not.
	if wait >= most {
		return b.Most
	}
	return max(time.Duration(wait), 0)
}

// Policy makes every job wait so, whatever its error.
func (b Backoff) Policy() Policy {
	return func(job *queue.Job, _ error) time.Duration { return b.Wait(job.Attempts + 1) }
}

func (b Backoff) withDefaults() Backoff {
	b.First = cmp.Or(max(b.First, 0), DefaultFirst)
	b.Most = cmp.Or(max(b.Most, 0), DefaultMost)
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
