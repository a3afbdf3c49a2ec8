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
	"skidway/queue"
)

// A fake is a queue that answers as a test says, in a time that only the test's
// clock counts.
type fake struct {
	name   string
	answer func(ctx context.Context) (queue.Moved, error)

	mu    sync.Mutex
	asked []time.Duration // since the test began
	begin time.Time
}

func newFake(name string, answer func(context.Context) (queue.Moved, error)) *fake {
	return &fake{name: name, answer: answer, begin: time.Now()}
}

func (f *fake) Name() string { return f.name }

func (f *fake) MoveDue(ctx context.Context, _ string) (queue.Moved, error) {
	f.mu.Lock()
	f.asked = append(f.asked, time.Since(f.begin))
	f.mu.Unlock()
	return f.answer(ctx)
}

func (f *fake) Signals(context.Context, rdb.Mark) ([]queue.Signal, rdb.Mark, error) {
	return nil, rdb.Mark{}, errors.New("a deaf mover reads no signals")
}

// times gives when the mover has asked.
func (f *fake) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func always(moved queue.Moved) func(context.Context) (queue.Moved, error) {
	return func(context.Context) (queue.Moved, error) { return moved, nil }
}

// runFor runs a mover on a test's clock.
func runFor(t *testing.T, d time.Duration, fakes ...*fake) {
	t.Helper()
	m := deaf(fakes...)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := m.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run ended with %v, want the cause of its context's end", err)
	}
}

func deaf(fakes ...*fake) *Mover {
	m := NewMover(nil, MoverConfig{Logger: slog.New(slog.DiscardHandler)})
	for _, f := range fakes {
		m.add(f)
	}
	return m
}

func TestMoverWhoseTimeItIsComesExactlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("q", always(queue.Moved{Next: 700 * time.Millisecond, Mine: true}))
		runFor(t, 3*time.Second, f)
		want := []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond, 2100 * time.Millisecond, 2800 * time.Millisecond}
		if got := f.times(); !slices.Equal(got, want) {
			t.Errorf("asked at %v, want %v", got, want)
		}
	})
}

func TestOtherMoversComeWithinAQuarterSecondAfterTheTime(t *testing.T) {
	for _, moved := range []queue.Moved{{Next: time.Second}, {Next: 0, More: true}} {
		t.Run(fmt.Sprintf("next=%s", moved.Next), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", always(moved))
				runFor(t, time.Minute, f)
				asked := f.times()
				for i := 1; i < len(asked); i++ {
					after := asked[i] - asked[i-1] - moved.Next
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
	for name, moved := range map[string]queue.Moved{
		"nothing is delayed": {Next: -time.Millisecond},
		"far away, mine":     {Next: 24 * time.Hour, Mine: true},
		"far away, another":  {Next: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", always(moved))
				runFor(t, 150*time.Second, f)
				if got, want := f.times(), []time.Duration{0, time.Minute, 2 * time.Minute}; !slices.Equal(got, want) {
					t.Errorf("asked at %v, want %v", got, want)
				}
			})
		})
	}
}

func TestWokenMoverLooksAtOnceAndOnlyAtThatQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake("a", always(queue.Moved{Next: -1})), newFake("b", always(queue.Moved{Next: -1}))
		m := deaf(a, b)
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
		"quick steps":         {2 * time.Millisecond, 4 * time.Millisecond},
		"a breath has an end": {12 * time.Millisecond, 22 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("q", func(ctx context.Context) (queue.Moved, error) {
					sleep(ctx, c.step)
					return queue.Moved{Jobs: 200, More: true, Mine: true}, nil
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
		backlog := func(name string) *fake {
			return newFake(name, func(ctx context.Context) (queue.Moved, error) {
				if ctx.Err() != nil {
					return queue.Moved{}, ctx.Err()
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				sleep(ctx, time.Millisecond)
				return queue.Moved{More: true, Mine: true}, nil
			})
		}
		runFor(t, 100*time.Millisecond, backlog("a"), backlog("b"), backlog("c"))
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
		hangs := newFake("hangs", func(ctx context.Context) (queue.Moved, error) {
			<-ctx.Done()
			return queue.Moved{}, ctx.Err()
		})
		busy := newFake("busy", always(queue.Moved{Next: time.Millisecond, Mine: true}))
		runFor(t, time.Second, hangs, busy)
		if got := len(busy.times()); got < 900 {
			t.Errorf("the other queue had %d steps in a second, want about 1,000", got)
		}
	})
}

func TestMoverGoesOnAfterErrorsWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failures = 12
		var f *fake
		f = newFake("q", func(context.Context) (queue.Moved, error) {
			if len(f.times()) <= failures {
				return queue.Moved{}, errors.New("Redis is away")
			}
			return queue.Moved{Next: time.Second, Mine: true}, nil
		})
		m := deaf(f)
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

func TestQueuesComeAndGoWhileTheMoverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newFake("first", always(queue.Moved{Next: time.Second, Mine: true})), newFake("second", always(queue.Moved{Next: time.Second, Mine: true}))
		m := deaf(first)
		time.AfterFunc(2500*time.Millisecond, func() {
			m.Remove("first")
			m.Remove("unknown")
			m.add(second)
			m.add(second)
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
		f := newFake("q", always(queue.Moved{Next: -1}))
		m := deaf(f)
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
