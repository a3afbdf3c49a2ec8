package ops

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A manualClock is a clock that only a test moves.
type manualClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *manualClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newTestBudget() (*budget, *manualClock) {
	clock, b := &manualClock{at: began}, newBudget(searchShare)
	b.now, b.maxWait = clock.now, time.Millisecond
	return b, clock
}

func TestSearchesUseOnePartInTwentyOfTheTime(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	spent := time.Duration(0)
	const step, steps = 10 * time.Millisecond, 20_000 // 200 s
	for range steps {
		if b.wait() == 0 {
			b.spend(80*time.Millisecond, 1)
			spent += 80 * time.Millisecond
		}
		clock.advance(step)
	}
	share := float64(spent) / float64(step*steps)
	if share > 0.05+0.002 || share < 0.045 {
		t.Errorf("the searches used %.1f %% of the time", 100*share)
	}
	clock.advance(time.Hour)
	if b.wait(); b.left != 200*time.Millisecond {
		t.Errorf("%s are saved up in an hour", b.left)
	}
}

func TestTheTimeOfThePathIsNotCounted(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	ping := func(took time.Duration) {
		if err := b.ping(t.Context(), func(context.Context) error { clock.advance(took); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ping(2 * time.Millisecond)
	ping(time.Millisecond) // not sent: the other one is not old enough
	clock.advance(time.Second)
	ping(3 * time.Millisecond)
	b.spend(7*time.Millisecond, 3)
	if b.left != 199*time.Millisecond {
		t.Errorf("%s are left, want 199ms", b.left)
	}
	b.spend(time.Millisecond, 3)
	if b.left != 199*time.Millisecond {
		t.Errorf("%s are left after a read that was faster than a PING", b.left)
	}
	clock.advance(59*time.Second + 500*time.Millisecond)
	ping(3 * time.Millisecond)
	b.spend(9*time.Millisecond, 3)
	if b.left != maxBudget {
		t.Errorf("%s are left: the shortest PING of the last minute takes 3ms", b.left)
	}
}

func TestSearchThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	for range maxSearches {
		if err := b.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var busy *BusyError
	if err := b.enter(t.Context()); !errors.As(err, &busy) || busy.RetryAfter <= 0 {
		t.Errorf("a third search: %v", err)
	}
	b.spend(300*time.Millisecond, 0)
	b.leave()
	if err := b.enter(t.Context()); !errors.As(err, &busy) || busy.RetryAfter < 2*time.Second || busy.RetryAfter > 2100*time.Millisecond {
		t.Errorf("without budget: %v", err)
	}
	clock.advance(busy.RetryAfter)
	if err := b.enter(t.Context()); err != nil {
		t.Errorf("after that time: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the request ended")
	cancel(gone)
	b.maxWait = time.Hour
	if err := b.enter(ctx); !errors.Is(err, gone) {
		t.Errorf("a search whose request has ended: %v", err)
	}
}

func TestOutageDoesNotStallSearches(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	b.spend(30*time.Second, 1) // until Redis came back
	if wait := b.wait(); wait > searchShare*maxBudget+time.Millisecond {
		t.Errorf("the next search waits %s", wait)
	}
	clock.advance(searchShare*maxBudget + time.Millisecond)
	if wait := b.wait(); wait > 0 {
		t.Errorf("it waits %s more", wait)
	}
}

// Round trips take 5 ms, because other programs use the processors; Redis needs little of that.
func TestStepsOfAnOperationGrowOnABusyMachine(t *testing.T) {
	t.Parallel()
	const steps = 200
	for name, c := range map[string]struct {
		perJob    time.Duration // of Redis
		hidden    bool          // Redis does not report its time
		size      int           // in the end
		maxWeighs int
	}{
		"quick jobs":    {3 * time.Microsecond, false, maxStep, 10},
		"slow jobs":     {28 * time.Microsecond, false, 25, 10},
		"hidden":        {3 * time.Microsecond, true, minStep, steps},
		"one at a time": {time.Millisecond, false, minStep, steps},
	} {
		r, weighs := &OperationRun{size: minStep, max: maxStep}, 0
		for range steps {
			took, weighed := 5*time.Millisecond, r.weigh && !c.hidden
			if weighed {
				took = c.perJob * time.Duration(r.size)
				weighs++
			}
			r.resize(r.size, took, weighed)
		}
		if r.size != c.size || weighs > c.maxWeighs {
			t.Errorf("%s: steps have %d jobs in the end, %d of %d were weighed; want %d jobs, at most %d weighed", name, r.size, weighs, steps, c.size, c.maxWeighs)
		}
	}
}
