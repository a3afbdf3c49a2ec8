package workerstest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/workerstest"
)

// A testTB is a test whose failure is checked.
type testTB struct {
	testing.TB
	mu     sync.Mutex
	failed string
}

// try runs a function as a test and returns its failure, "" if it passed.
func try(t *testing.T, f func(t testing.TB)) string {
	inner := &testTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(inner)
	}()
	<-done
	return inner.failed
}

func (t *testTB) FailNow() {
	t.note("FailNow")
	runtime.Goexit()
}

func (t *testTB) Fatal(args ...any) {
	t.note(strings.TrimSpace(fmt.Sprintln(args...)))
	runtime.Goexit()
}

func (t *testTB) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (t *testTB) note(failed string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == "" {
		t.failed = failed
	}
}

func TestHandlerThatIgnoresItsContextFailsTheTest(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	failed := try(t, func(t testing.TB) {
		w := workerstest.New(t, &workerstest.Config{Pool: workers.Config{Grace: time.Millisecond}})
		w.Pool.HandleRaw("email.send", func(ctx context.Context, _ *queue.Job) error {
			workerstest.Interrupt(ctx, workers.ErrShutdown)
			<-release
			return nil
		}, workers.Kind{})
		enqueue(t, w, sendEmail{}, queue.Options{})
		w.Drain()
	})
	if !strings.Contains(failed, "ignores its context") {
		t.Errorf("the test failed with %q", failed)
	}
}

func TestHandlerMayEndTheTest(t *testing.T) {
	t.Parallel()
	failed := try(t, func(t testing.TB) {
		workerstest.Run(t, func(context.Context, *queue.Job) error {
			t.Fatal("wrong address")
			return nil
		}, workerstest.Job{Args: sendEmail{}})
		panic("the test goes on")
	})
	if failed != "wrong address" {
		t.Errorf("the test failed with %q", failed)
	}
}

func TestWrongArgumentsEndTheTest(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, want string
		f          func(t testing.TB)
	}{
		{"attempt below zero", "count from 1", func(t testing.TB) {
			workerstest.Run(t, returns(nil), workerstest.Job{Args: sendEmail{}, Attempt: -1})
		}},
		{"no args", "args are nil", func(t testing.TB) { workerstest.Run(t, returns(nil), workerstest.Job{}) }},
		{"clock backwards", "only goes forward", func(t testing.TB) { workerstest.New(t, nil).Advance(-1) }},
		{"pool", "Concurrency", func(t testing.TB) {
			workerstest.New(t, &workerstest.Config{Pool: workers.Config{Concurrency: -1}})
		}},
		{"client", "MaxPayload", func(t testing.TB) {
			workerstest.New(t, &workerstest.Config{Client: queue.Config{MaxPayload: -1}})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if failed := try(t, c.f); !strings.Contains(failed, c.want) {
				t.Errorf("the test failed with %q, want %q", failed, c.want)
			}
		})
	}
}

func TestDrainWithoutEndFailsTheTest(t *testing.T) {
	t.Parallel()
	failed := try(t, func(t testing.TB) {
		w := workerstest.New(t, nil)
		w.Pool.HandleRaw("email.send", returns(workers.Snooze(0)), workers.Kind{})
		enqueue(t, w, sendEmail{}, queue.Options{})
		w.Drain()
	})
	if !strings.Contains(failed, "email.send: snoozed for 0s") {
		t.Errorf("the test failed with %q", failed)
	}
}
