package delayed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skidway/internal/rdb"
)

// A fakeQueue is a queue whose steps return what a test states, in a time that
// only the test's clock counts.
type fakeQueue struct {
	name   string
	answer step

	mu    sync.Mutex
	asked []time.Duration // since the test began
	begin time.Time
}

func newFake(name string, answer step) *fakeQueue {
	return &fakeQueue{name: name, answer: answer, begin: time.Now()}
}

func (f *fakeQueue) step(ctx context.Context) (time.Duration, error) {
	f.mu.Lock()
	f.asked = append(f.asked, time.Since(f.begin))
	f.mu.Unlock()
	return f.answer(ctx)
}

// times returns when each step began.
func (f *fakeQueue) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// nextIn is a step after which the queue's next time is some time away.
func nextIn(d time.Duration, first bool) step {
	return func(context.Context) (time.Duration, error) { return waitUntil(d, first), nil }
}

// runFor runs a mover on a test's clock.
func runFor(t *testing.T, d time.Duration, fakes ...*fakeQueue) {
	t.Helper()
	m := newTestMover(fakes...)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := m.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run ended with %v, want the cause of its context's end", err)
	}
}

func newTestMover(fakes ...*fakeQueue) *Mover {
	m := NewMover(nil, &Config{Logger: slog.New(slog.DiscardHandler), NoSignals: true})
	for _, f := range fakes {
		m.loops.add(f.name, nil, f.step)
	}
	return m
}

func TestMoverWhoseTimeItIsComesExactlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("q", nextIn(700*time.Millisecond, true))
		runFor(t, 3*time.Second, f)
		want := []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond, 2100 * time.Millisecond, 2800 * time.Millisecond}
		if got := f.times(); !slices.Equal(got, want) {
			t.Errorf("asked at %v, want %v", got, want)
		}
	})
}

func TestOtherMoversComeWithinAQuarterSecondAfterTheTime(t *testing.T) {
	for _, next := range []time.Duration{time.Second, 0} {
		t.Run(fmt.Sprintf("next=%s", next), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", nextIn(next, false))
				runFor(t, time.Minute, f)
				asked := f.times()
				for i := 1; i < len(asked); i++ {
					after := asked[i] - asked[i-1] - next
					if after < 50*time.Millisecond || after >= 250*time.Millisecond {
						t.Fatalf("came %s after the time, want 50 to 250 ms", after)
					}
				}
				slices.Sort(asked)
				if len(slices.Compact(asked)) < 10 {
					t.Errorf("asked only at %v", asked)
				}
			})
		})
	}
}

func TestMoverLooksAgainEachMinute(t *testing.T) {
	for name, step := range map[string]step{
		"far away, mine":    nextIn(24*time.Hour, true),
		"far away, another": nextIn(24*time.Hour, false),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", step)
				runFor(t, 150*time.Second, f)
				if got, want := f.times(), []time.Duration{0, time.Minute, 2 * time.Minute}; !slices.Equal(got, want) {
					t.Errorf("asked at %v, want %v", got, want)
				}
			})
		})
	}
}

func TestMoverLooksSeldomAtIdleQueues(t *testing.T) {
	for n, least := range map[int]time.Duration{1: 5 * time.Minute, 3000: 10 * time.Minute} {
		t.Run(fmt.Sprint(n, " queues"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fakes []*fakeQueue
				for i := range n {
					fakes = append(fakes, newFake(fmt.Sprint(i), nextIn(-time.Millisecond, false)))
				}
				runFor(t, 20*least, fakes...)
				looks := 0
				for _, f := range fakes {
					got := f.times()
					if looks += len(got) - 1; len(got) < 2 || got[1] < least/2 || got[1] > 3*least/2 {
						t.Fatalf("asked at %v, want at once and after about %s", got, least)
					}
				}
				if average := float64(looks) / float64(n); average < 13 || average > 27 {
					t.Errorf("each queue was looked at %.1f times in %s", average, 20*least)
				}
			})
		})
	}
}

func TestWokenMoverLooksAtOnceAndOnlyAtThatQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake("a", nextIn(-1, false)), newFake("b", nextIn(-1, false))
		m := newTestMover(a, b)
		time.AfterFunc(5*time.Second, func() { m.Wake("a"); m.Wake("a"); m.Wake("unknown") })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_ = m.Run(ctx)
		if got, want := a.times(), []time.Duration{0, 5 * time.Second}; !slices.Equal(got[:2], want) {
			t.Errorf("a: asked at %v, want %v", got, want)
		}
		if got := b.times(); len(got) != 1 {
			t.Errorf("b: asked at %v, want only at the start", got)
		}
	})
}

func TestBacklogLeavesHalfOfTheTimeToOthers(t *testing.T) {
	for name, c := range map[string]struct{ step, period time.Duration }{
		"quick steps":          {2 * time.Millisecond, 4 * time.Millisecond},
		"the pause is bounded": {12 * time.Millisecond, 22 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", func(ctx context.Context) (time.Duration, error) {
					_ = rdb.Sleep(ctx, c.step)
					return 0, nil
				})
				runFor(t, 100*c.period-1, f)
				asked := f.times()
				for i := 1; i < len(asked); i++ {
					if got := asked[i] - asked[i-1]; got != c.period {
						t.Fatalf("step %d came %s after the one before, want %s", i, got, c.period)
					}
				}
				if len(asked) != 100 {
					t.Errorf("%d steps, want 100", len(asked))
				}
			})
		})
	}
}

func TestQueuesWithBacklogsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		end := time.Now().Add(100 * time.Millisecond)
		backlog := func(name string) *fakeQueue {
			return newFake(name, func(ctx context.Context) (time.Duration, error) {
				if !time.Now().Before(end) {
					return 0, nil // the loops end one after another, in any order
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				_ = rdb.Sleep(ctx, time.Millisecond)
				return 0, nil
			})
		}
		runFor(t, time.Until(end), backlog("a"), backlog("b"), backlog("c"))
		for i := 3; i < len(order); i++ {
			if order[i] != order[i-3] {
				t.Fatalf("order %v: turn %d was not the next one's", order, i)
			}
		}
		if len(order) < 40 {
			t.Errorf("only %d turns", len(order))
		}
	})
}

func TestQueueThatHangsHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := newFake("hangs", func(ctx context.Context) (time.Duration, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		busy := newFake("busy", nextIn(time.Millisecond, true))
		runFor(t, time.Second, hangs, busy)
		if got := len(busy.times()); got < 900 {
			t.Errorf("the other queue had %d steps in a second, want about 1,000", got)
		}
	})
}

func TestMoverGoesOnAfterErrorsWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failures = 12
		var f *fakeQueue
		f = newFake("q", func(context.Context) (time.Duration, error) {
			if len(f.times()) <= failures {
				return 0, errors.New("Redis is away")
			}
			return time.Second, nil
		})
		m := newTestMover(f)
		for i := range 100 {
			time.AfterFunc(time.Duration(i)*time.Millisecond, func() { m.Wake("q") })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_ = m.Run(ctx)
		asked := f.times()
		if len(asked) < failures+100 {
			t.Fatalf("asked %d times: it did not go on", len(asked))
		}
		for i := 1; i <= failures; i++ {
			if pause := asked[i] - asked[i-1]; pause < 80*time.Millisecond || pause > 30*time.Second {
				t.Errorf("pause %d took %s, want 80 ms to 30 s whatever wakes it", i, pause)
			}
		}
		if pause := asked[failures] - asked[failures-1]; pause < 20*time.Second {
			t.Errorf("the last pause took %s: it did not grow", pause)
		}
	})
}

// A full Redis refuses to fire for as long as it is full. Times that come meanwhile
// must be late, not missed.
func TestCronChecksWithinItsGraceAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("q", func(context.Context) (time.Duration, error) { return 0, errors.New("OOM") })
		c := NewCron(nil, &Config{Logger: slog.New(slog.DiscardHandler), NoSignals: true})
		c.loops.add(f.name, nil, f.step)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_ = c.Run(ctx)
		asked := f.times()
		if len(asked) < 100 {
			t.Fatalf("asked %d times in an hour", len(asked))
		}
		for i := 1; i < len(asked); i++ {
			if pause := asked[i] - asked[i-1]; pause > lateGrace-renewGrace {
				t.Fatalf("pause %d took %s, want at most %s", i, pause, lateGrace-renewGrace)
			}
		}
	})
}

func TestQueuesComeAndGoWhileTheMoverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newFake("first", nextIn(time.Second, true)), newFake("second", nextIn(time.Second, true))
		m := newTestMover(first)
		time.AfterFunc(2500*time.Millisecond, func() {
			m.Remove("first")
			m.Remove("unknown")
			m.loops.add(second.name, nil, second.step)
			m.loops.add(second.name, nil, second.step)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_ = m.Run(ctx)
		if got := len(first.times()); got != 3 {
			t.Errorf("the removed queue was asked %d times, want 3", got)
		}
		if got, want := second.times(), []time.Duration{2500 * time.Millisecond, 3500 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("the added queue was asked at %v, want %v", got, want)
		}
	})
}

func TestMoverRunsOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("q", nextIn(-1, false))
		m := newTestMover(f)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		if err := m.Run(t.Context()); err == nil {
			t.Error("a second Run was let in")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
		again, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := m.Run(again); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run after Run ended with %v", err)
		}
		if got := len(f.times()); got != 2 {
			t.Errorf("asked %d times, want once a Run", got)
		}
	})
}
