package workers

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
)

// An executorFixture is an executor with a scheduler whose only queue has a lease
// without Redis: outcomes stay in its completer.
type executorFixture struct {
	*executor
	*testing.T
	session *leaseSession
}

func newExecutorFixture(t *testing.T, config Config) *executorFixture {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	config = config.withDefaults()
	sched := newSchedulerFixture(t, config).scheduler
	x := &executor{config: config, sched: sched, firstWindow: firstWindow, runCtx: t.Context(), unknown: unknownKind()}
	return &executorFixture{x, t, sched.sessions()[0]}
}

// handle sets the handler of the jobs.
func (f *executorFixture) handle(timeout time.Duration, handler Handler) {
	f.kinds.Store("", &registration{Kind: Kind{Timeout: timeout, MaxAttempts: 2, Backoff: f.config.Backoff}, handler: handler})
}

// bring takes jobs in, as if they were fetched, and starts them.
func (f *executorFixture) bring(jobs ...*queue.Job) []*attempt {
	attempts := f.session.hold(jobs)
	next, _ := f.sched.fetched(fetchOrder{queue: f.session.queue, session: f.session}, attempts, queue.FetchResult{}, time.Now())
	f.startRunners(next.runners)
	return attempts
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// outcomes returns what was handed to the completer since the last call.
func (f *executorFixture) outcomes() []queue.Completion {
	outcomes, _ := f.session.completer.take()
	return outcomes
}

func TestAbandonedHandlerLosesItsSlotAndItsOutcomeIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newExecutorFixture(t, Config{Concurrency: 1, Grace: time.Second})
		gate := make(chan struct{})
		f.handle(time.Minute, func(_ context.Context, job *queue.Job) error {
			if job.ID == "stuck" {
				<-gate
			}
			return nil
		})
		f.bring(jobs("stuck", "next")...)
		pass(time.Minute + time.Second - 1)
		if got := f.outcomes(); len(got) != 0 || f.sched.slots.abandoned.Load() != 0 {
			t.Fatalf("before the grace is over: %v", got)
		}
		pass(1)
		got := f.outcomes()
		if len(got) != 2 || got[0].Disposition != queue.AttemptRetry || got[1].Job.ID != "next" || got[1].Disposition != queue.AttemptSucceeded {
			t.Errorf("after the grace: %+v", got)
		}
		if f.sched.slots.abandoned.Load() != 1 || f.sched.slots.taken != 0 || f.session.queue.running != 0 {
			t.Errorf("%d are abandoned, %d slots are taken, %d jobs run", f.sched.slots.abandoned.Load(), f.sched.slots.taken, f.session.queue.running)
		}
		close(gate)
		synctest.Wait()
		if got := f.outcomes(); len(got) != 0 || f.sched.slots.abandoned.Load() != 0 || f.sched.slots.taken != 0 {
			t.Errorf("when it returns at last: %+v, %d are abandoned", got, f.sched.slots.abandoned.Load())
		}
	})
}

func TestHandlerThatEndsItsGoroutineEndsNoRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newExecutorFixture(t, Config{Concurrency: 1})
		f.handle(time.Minute, func(_ context.Context, job *queue.Job) error {
			if job.ID == "exit" {
				runtime.Goexit()
			}
			return nil
		})
		f.bring(jobs("exit", "next")...)
		synctest.Wait()
		if got := f.outcomes(); len(got) != 2 || got[0].Reason != errExit.Error() || got[1].Disposition != queue.AttemptSucceeded {
			t.Errorf("got %+v", got)
		}
		if f.sched.slots.taken != 0 {
			t.Errorf("%d slots are taken", f.sched.slots.taken)
		}
	})
}

func TestJobInterruptedBeforeItsStartIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newExecutorFixture(t, Config{Concurrency: 1})
		gate := make(chan struct{})
		f.handle(time.Minute, func(_ context.Context, job *queue.Job) error {
			if job.ID == "cancelled" {
				t.Error("it was called")
			}
			<-gate
			return nil
		})
		f.bring(jobs("first", "cancelled")...)
		synctest.Wait()
		f.session.cancel(queue.Signal{Job: "cancelled"})
		close(gate)
		synctest.Wait()
		if got := f.outcomes(); len(got) != 2 || got[1].Disposition != queue.AttemptCancelled {
			t.Errorf("got %+v", got)
		}
	})
}

func TestLostLeaseInterruptsItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newExecutorFixture(t, Config{Concurrency: 2})
		lost := ""
		f.session.sched, f.session.lease, f.session.onLost = f.sched, &queue.Lease{}, func(queue string) { lost += queue }
		causes := make(chan error, 2)
		f.handle(time.Hour, func(ctx context.Context, _ *queue.Job) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil
		})
		attempts := f.bring(jobs("1", "2", "buffered")...)
		synctest.Wait()
		f.session.lost()
		f.session.lost() // the fetcher and the heartbeat find out, too
		for range 2 {
			if cause := <-causes; !errors.Is(cause, queue.ErrLeaseLost) {
				t.Errorf("the cause is %v", cause)
			}
		}
		synctest.Wait()
		if got := f.outcomes(); len(got) != 0 || !attempts[2].endClaimed.Load() || f.sched.buffers.jobs != 0 {
			t.Errorf("written: %v, and %d jobs are buffered", got, f.sched.buffers.jobs)
		}
		if lost != queue.DefaultQueue || f.session.queue.session != nil {
			t.Errorf("the hook was called for %q", lost)
		}
	})
}

func TestOthersStartBesideASoloJobAfterItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newExecutorFixture(t, Config{Concurrency: 2})
		gate := make(chan struct{})
		f.handle(time.Hour, func(_ context.Context, job *queue.Job) error {
			if job.Quarantines > 0 {
				<-gate
			}
			return nil
		})
		slow := soloJob("slow")
		slow.Quarantines = 2
		f.bring(slow)
		solo, _ := f.sched.takeSolo(time.Now())
		solo.markSolo = false // Redis does not know of it
		f.runSolo(solo)
		f.bring(jobs("other")...)
		pass(2*firstWindow - 1)
		if got := f.outcomes(); len(got) != 0 {
			t.Errorf("within the window ended %+v", got)
		}
		pass(1)
		if got := f.outcomes(); len(got) != 1 || got[0].Job.ID != "other" {
			t.Errorf("after the window ended %+v", got)
		}
		close(gate)
		synctest.Wait()
		if got := f.outcomes(); len(got) != 1 || f.sched.slots.taken != 0 || f.sched.solo.current != nil {
			t.Errorf("at the end: %+v, %d slots are taken", got, f.sched.slots.taken)
		}
	})
}

// The test takes solo jobs as a fetcher does, as soon as it can, when they have waited for
// so long that they may run beside other jobs.
func TestSlotOfASoloJobIsFreeBeforeTheNextSoloJobIsTaken(t *testing.T) {
	t.Parallel()
	f := newExecutorFixture(t, Config{Concurrency: 2})
	f.sched.solo.firstWait = 0
	f.handle(time.Hour, func(context.Context, *queue.Job) error { return nil })
	solos := make([]*queue.Job, 5000)
	for n := range solos {
		solos[n] = soloJob(strconv.Itoa(n))
	}
	f.bring(solos...)
	for started := 0; started < len(solos); {
		a, _ := f.sched.takeSolo(time.Now())
		if a == nil {
			continue
		}
		if !a.markSolo {
			t.Fatalf("job %s runs unmarked: the slot of the one before is still taken", a.job.ID)
		}
		a.markSolo = false // there is no Redis to write it to
		f.runSolo(a)
		started++
	}
}

func TestJobThatCannotBeMarkedLeavesNoSlotTaken(t *testing.T) {
	t.Parallel()
	client, err := queue.NewClient(handle.New(redistest.DB(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("q")
	if err != nil {
		t.Fatal(err)
	}
	f := newExecutorFixture(t, Config{Concurrency: 2})
	if f.session.lease, err = q.NewLease("worker", time.Minute); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	f.runCtx = ended
	f.bring(soloJob("suspected"))
	a, _ := f.sched.takeSolo(time.Now())
	if a == nil || !a.markSolo {
		t.Fatalf("%v is taken to run solo", a)
	}
	f.runSolo(a)
	f.sched.mu.Lock() // at once: the next solo job may be taken now
	defer f.sched.mu.Unlock()
	if f.sched.slots.taken != 0 || f.sched.solo.current != nil || f.session.queue.running != 0 {
		t.Errorf("%d slots are taken, %d jobs run, %v is the current solo job", f.sched.slots.taken, f.session.queue.running, f.sched.solo.current)
	}
	if got := f.outcomes(); len(got) != 1 || got[0].Disposition != queue.AttemptReturned {
		t.Errorf("its outcome is %+v", got)
	}
}
