package workers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"skidway/queue"
)

// started returns an attempt whose handler runs, and that has an hour at most.
func started(t *testing.T, timer *deadlineTimer, timeout time.Duration) *attempt {
	t.Helper()
	a := &attempt{job: &queue.Job{Timeout: timeout}}
	x := &executor{config: Config{Grace: time.Hour}}
	if err := a.start(x, &registration{Kind: Kind{Timeout: time.Hour}}, timer, time.Now()); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestContextsEndWithTheHandlersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timer deadlineTimer
		defer timer.stop()
		a := started(t, &timer, 0)
		ctx := context.Context(&a.ctx)
		if ctx.Err() != nil || context.Cause(ctx) != nil {
			t.Errorf("it has ended at the start: %v, %v", ctx.Err(), context.Cause(ctx))
		}
		derived, cancel := context.WithTimeout(ctx, 2*time.Hour)
		defer cancel()
		if deadline, ok := derived.Deadline(); !ok || !deadline.Equal(a.ctx.deadline) {
			t.Errorf("the deadline of a derived context is %v, %v", deadline, ok)
		}
		called := false
		context.AfterFunc(ctx, func() { called = true })
		cause := errors.New("cause")
		a.ctx.end(cause)
		a.ctx.end(errors.New("a later one"))
		synctest.Wait()
		late, cancelLate := context.WithCancel(ctx)
		defer cancelLate()
		for name, c := range map[string]context.Context{"the context": ctx, "derived before": derived, "derived later": late} {
			select {
			case <-c.Done():
			default:
				t.Errorf("%s is not done", name)
			}
			if !errors.Is(c.Err(), context.Canceled) || context.Cause(c) != cause {
				t.Errorf("%s: %v, %v", name, c.Err(), context.Cause(c))
			}
		}
		if !called {
			t.Error("the function of AfterFunc was not called")
		}
	})
}

func TestContextThatEndedUnobservedHasItsCause(t *testing.T) {
	var timer deadlineTimer
	defer timer.stop()
	a := started(t, &timer, 0)
	a.interrupt(ErrCancelled)
	if a.ctx.inner != nil {
		t.Error("a context of the standard library was made though it was not needed")
	}
	<-a.ctx.Done()
	if a.ctx.Err() == nil || context.Cause(&a.ctx) != ErrCancelled {
		t.Errorf("%v, %v", a.ctx.Err(), context.Cause(&a.ctx))
	}
}

func TestTimerOfASlotInterruptsOnlyTheAttemptWhoseDeadlineHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timer deadlineTimer
		defer timer.stop()
		begun := time.Now()
		first := started(t, &timer, time.Minute)
		timer.end()
		<-time.After(30 * time.Second)
		second := started(t, &timer, time.Minute) // the timer is set to the deadline of the first
		<-second.ctx.Done()
		if took := time.Since(begun); took != 90*time.Second || context.Cause(&second.ctx) != ErrTimeout {
			t.Errorf("the second ended after %s by %v, want 1m30s by %v", took, context.Cause(&second.ctx), ErrTimeout)
		}
		if first.ctx.Err() != nil {
			t.Error("the first, which had ended, was interrupted")
		}
		timer.end()
		begun = time.Now()
		started(t, &timer, time.Hour)
		timer.end()
		third := started(t, &timer, time.Second) // sooner than the timer is set to
		<-third.ctx.Done()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the third ended after %s, want 1s", took)
		}
	})
}
