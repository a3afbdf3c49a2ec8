package redistest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// LongForm is how long each test that goes on with other random numbers does so, and asks all tests
// that have a long form for it: SKIDWAY_CHAOS, which `make chaos` sets. It is 0 in the short form.
var LongForm = longForm(os.Getenv("SKIDWAY_CHAOS"))

func longForm(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		panic(fmt.Sprintf("SKIDWAY_CHAOS is %q: must be a duration above 0, as in 5m", text))
	}
	return d
}

// shortSeed is the seed of random numbers in the short form.
const shortSeed = 3

// Random returns random numbers, whose seed it prints: SKIDWAY_CHAOS_SEED, else shortSeed, or another
// one each time in the long form.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(shortSeed)
	if LongForm > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("SKIDWAY_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SKIDWAY_CHAOS_SEED: %v", err)
		}
	}
	t.Logf("SKIDWAY_CHAOS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Rounds yields the numbers of a test's rounds, from 0, until it has failed: so many in the short
// form, and those that begin within LongForm in the long one.
func Rounds(t testing.TB, short int) iter.Seq[int] {
	return func(yield func(int) bool) {
		began, n := time.Now(), 0
		for ; !t.Failed() && (n < short || time.Since(began) < LongForm) && yield(n); n++ {
		}
		if LongForm > 0 {
			t.Logf("%d rounds in %s", n, time.Since(began).Round(time.Second))
		}
	}
}
