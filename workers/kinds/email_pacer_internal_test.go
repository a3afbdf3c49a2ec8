package kinds

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skidway/workers"
)

func TestMessagesAreSpacedEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, pace := time.Now(), newPacer(30)
		var senders sync.WaitGroup
		for range 31 {
			senders.Go(func() {
				if err := pace.wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		senders.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("30 a minute, and 31 took %s", took)
		}
	})
}

func TestWithoutARateNobodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, pace := time.Now(), newPacer(0)
		for range 1000 {
			if err := pace.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestTurnThatIsTooFarSnoozesTheJobAndIsLeftToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := newPacer(1)
		if err := pace.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		hasty, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		start := time.Now()
		if err := pace.wait(hasty); err != workers.Snooze(time.Minute) {
			t.Errorf("%v, want a snooze of a minute", err)
		}
		if err := pace.wait(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("the next turn came after %s (%v)", time.Since(start), err)
		}
	})
}

func TestSnoozedJobsComeBackOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := newPacer(30)
		back := map[time.Duration]bool{}
		for range 100 {
			if wait, granted := pace.take(5 * time.Second); !granted {
				back[wait] = true
			}
		}
		if len(back) < 97 {
			t.Errorf("those of 100 that are snoozed come back at %d times", len(back))
		}
		for range 10000 { // and not so late that a turn is left unused
			if wait, _ := pace.take(5 * time.Second); wait > maxSnooze {
				t.Fatalf("snoozed for %s", wait)
			}
		}
	})
}

func TestEndOfContextEndsTheWaitForATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := newPacer(1)
		if err := pace.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		reason := errors.New("enough of this")
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(reason) })
		if err := pace.wait(ctx); !errors.Is(err, reason) {
			t.Errorf("%v, want %v", err, reason)
		}
	})
}
