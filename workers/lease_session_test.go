package workers

import (
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
)

func newTestSession(q *servedQueue) *leaseSession {
	s := newLeaseSession(q, nil, time.Minute, slog.New(slog.DiscardHandler))
	s.serverChanged = func() (int64, bool) { return 0, false }
	return s
}

// The server changes after the session has looked whether it has.
func TestServerThatChangesBeforeAComparisonIsNotedForTheNextOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	client, err := queue.NewClient(handle.New(db), nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	q, err := client.ForPool("q")
	must(err)
	_, err = client.Enqueue(t.Context(), queue.Raw("k", nil), &queue.Options{Queue: "q"})
	must(err)
	lease, err := q.NewLease("w", time.Minute)
	must(err)
	fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1})
	must(err)
	must(db.Save(t.Context()).Err())
	s := newLeaseSession(&servedQueue{}, lease, time.Minute, slog.New(slog.DiscardHandler))
	s.hold(fetched.Jobs)
	end := queue.Completion{Job: fetched.Jobs[0]}
	_, err = lease.Finish(t.Context(), []queue.Completion{end})
	must(err)
	s.forget([]queue.Completion{end})
	s.recent.add(s, []queue.Completion{end}, time.Now())
	s.serverChanged = func() (int64, bool) {
		restarts, changed := lease.ServerChanged()
		if !changed {
			server.Kill()
			must(server.Restart())
			must(db.Retry(t.Context(), func() error { return db.Ping(t.Context()).Err() })) // notices it
		}
		return restarts, changed
	}
	if _, err := s.reread(t.Context(), 1<<20); !errors.Is(err, queue.ErrServerChanged) {
		t.Errorf("reread: %v", err)
	}
	if answer, err := s.reread(t.Context(), 1<<20); err != nil || len(answer.Jobs) != 1 || len(s.hold(answer.Jobs)) != 0 {
		t.Errorf("%+v, %v: want the job, whose end Redis has lost and which does not run again", answer, err)
	}
}

// The job is fetched again after the pool has compared its jobs once more, as it does each minute and after
// a fetch whose answer was lost.
func TestEndsThatRedisHasLostAreKnownAfterTheNextComparison(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	client, err := queue.NewClient(handle.New(db), nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	q, err := client.ForPool("q")
	must(err)
	lease, err := q.NewLease("w", time.Hour)
	must(err)
	add := func() {
		_, err := client.Enqueue(t.Context(), queue.Raw("k", nil), &queue.Options{Queue: "q"})
		must(err)
	}
	fetch := func() []*queue.Job {
		fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 10, Bytes: 1000})
		must(err)
		return fetched.Jobs
	}
	add()
	s := newLeaseSession(&servedQueue{}, lease, time.Minute, slog.New(slog.DiscardHandler))
	finish := func(jobs []*queue.Job) {
		if len(jobs) != 1 || len(s.hold(jobs)) != 1 {
			t.Fatalf("%d jobs are fetched, or they do not run", len(jobs))
		}
		ends := []queue.Completion{{Job: jobs[0]}}
		_, err := lease.Finish(t.Context(), ends)
		must(err)
		s.forget(ends)
		s.recent.add(s, ends, time.Now())
	}
	finish(fetch()) // opens the lease
	add()
	must(db.Save(t.Context()).Err())
	finish(fetch())
	server.Kill()
	must(server.Restart())
	must(db.Retry(t.Context(), func() error { return db.Ping(t.Context()).Err() })) // notices it
	for range 3 {
		answer, err := s.reread(t.Context(), 1<<20)
		if err != nil || len(answer.Jobs) > 0 {
			t.Fatalf("%+v, %v: want no job, it waits", answer, err)
		}
	}
	if again := fetch(); len(again) != 1 || len(s.hold(again)) > 0 {
		t.Errorf("%d jobs are fetched again, or they run again; want the one whose end Redis has lost, which does not", len(again))
	}
}

func jobs(ids ...string) (jobs []*queue.Job) {
	for _, id := range ids {
		jobs = append(jobs, &queue.Job{ID: id})
	}
	return jobs
}

func TestSessionHoldsADeliveryOnce(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	if held := s.hold(jobs("1", "2")); len(held) != 2 || held[0].job.ID != "1" || held[1].job.ID != "2" {
		t.Fatalf("holds %v", held)
	}
	if held := s.hold(jobs("2", "3")); len(held) != 1 || held[0].job.ID != "3" {
		t.Errorf("of what was read again it holds %v", held)
	}
	if held := s.unclaimed(); len(held) != 3 {
		t.Errorf("unclaimed: %d", len(held))
	}
}

func TestSessionDoesNotHoldJobsThatFinishedDuringAReread(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	first := s.hold(jobs("1"))[0]
	s.writtenSinceReread = map[string]*queue.Job{} // as reread begins
	s.forget([]queue.Completion{{Job: first.job}})
	if held := s.hold(jobs("1", "2")); len(held) != 1 || held[0].job.ID != "2" {
		t.Errorf("holds %v", held)
	}
	if held := s.hold(jobs("1")); len(held) != 1 {
		t.Error("after the reread a delivery is taken for the finished one")
	}
}

func TestSessionForgetsADeliveryThatIsWrittenAndNoLaterOne(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	earlier := s.hold(jobs("1"))[0]
	s.forget([]queue.Completion{{Job: earlier.job}})
	later := s.hold(jobs("1"))[0]
	s.forget([]queue.Completion{{Job: earlier.job}})
	if s.held["1"] != later {
		t.Error("the later delivery is forgotten")
	}
}

// A quarantined job that Redis has lost is counted as written when it is released, and not again
// when its outcome is dropped.
func TestReleasedJobIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	s.sched = &scheduler{quarantine: newQuarantine(8), wake: newNotification()}
	quarantined := jobs("1", "2")
	for _, job := range quarantined {
		job.Group = "g"
	}
	s.hold(quarantined)
	s.sched.quarantine.held[s] = heldGroup{jobs: 2}
	s.release(quarantined[:1])
	s.forget([]queue.Completion{{Job: quarantined[0]}})
	if n := s.sched.quarantine.held[s].jobs; n != 1 {
		t.Errorf("%d quarantined jobs, want 1", n)
	}
}

// The batch with the first outcome is sent, its answer is lost, and Redis too has lost it.
func TestReleasedJobThatHasEndedDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	held := s.hold(jobs("sent", "pending", "running"))
	s.completer.add(queue.Completion{Job: held[0].job})
	s.completer.take()
	s.completer.add(queue.Completion{Job: held[1].job})
	s.release([]*queue.Job{held[0].job, held[1].job, held[2].job})
	if pending, _ := s.completer.take(); len(pending) > 0 {
		t.Errorf("still pending: %v", pending)
	}
	if again := s.hold(jobs("sent", "pending", "running")); len(again) != 1 || again[0].job.ID != "running" {
		t.Errorf("run again: %v", again)
	}
	if ends, _ := s.completer.take(); len(ends) != 2 || ends[0].Job != held[0].job || ends[1].Job != held[1].job {
		t.Errorf("to be written again: %v", ends)
	}
}

func TestJobCancelledBeforeItsDeliveryIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	s.cancel(queue.Signal{Job: "1"})
	held := s.hold(jobs("1", "2"))
	if _, cause := held[0].release(); !errors.Is(cause, ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
	if _, cause := held[1].release(); cause != nil {
		t.Errorf("another job is interrupted: %v", cause)
	}
	s.cancelled["old"] = cancelSignal{received: time.Now().Add(-rememberCancels - time.Second)}
	s.cancel(queue.Signal{Job: "2"})
	for _, a := range held {
		a.endClaimed.Store(true) // so that Redis is not asked
	}
	if err := s.checkCancelled(t.Context()); err != nil {
		t.Error(err)
	}
	if _, old := s.cancelled["old"]; old || len(s.cancelled) != 2 {
		t.Errorf("remembered: %v", s.cancelled)
	}
}

func TestEndedSessionHoldsAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	if !s.end() || s.end() {
		t.Error("the first end, and no other, is the first")
	}
	if held := s.hold(jobs("1")); held != nil {
		t.Errorf("holds %v, which nothing would interrupt", held)
	}
	s.completer.add(outcomeOf("1"))
	if len(s.completer.pending) > 0 {
		t.Error("an outcome is kept")
	}
}

// A job that runs for long must not keep the args of those that came with it.
func TestHeldJobKeepsNoOtherOfItsBatchInMemory(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	attempts := s.hold(jobs("long", "short"))
	long, short := attempts[0], attempts[1]
	freed := make(chan struct{})
	runtime.AddCleanup(short, func(freed chan struct{}) { close(freed) }, freed)
	s.forget([]queue.Completion{{Job: short.job}})
	attempts, short = nil, nil
	wantFreed(t, freed)
	runtime.KeepAlive(long)
}

// wantFreed fails the test if freed is not closed after some collections of garbage.
func wantFreed(t *testing.T, freed <-chan struct{}) {
	t.Helper()
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the job is still in memory")
}
