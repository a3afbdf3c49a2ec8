package workers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// newRestored returns a fixture with a server of its own. restore takes it back to the state in
// which save has found it.
func newRestored(t *testing.T) (f *fixture, save, restore func()) {
	t.Helper()
	server := redistest.Start(t)
	f = newFixture(t, redistest.Open(t, server.URL(0)))
	save = func() { f.must(f.db.Save(f.ctx).Err()) }
	restore = func() {
		server.Kill()
		f.must(server.Restart())
	}
	return f, save, restore
}

func TestEndsThatRedisHasLostAreWrittenAgain(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	const jobs = 20
	p := f.pool(workers.Config{Concurrency: jobs, Lease: 5 * time.Second})
	begun, gate := make(chan struct{}, 2*jobs), make(chan struct{})
	var runs atomic.Int64
	p.HandleRaw("k", func(_ context.Context, job *queue.Job) error {
		runs.Add(1)
		begun <- struct{}{}
		<-gate
		if job.Priority == queue.Low && job.Attempts == 0 {
			return workers.RetryAfter(time.Millisecond, errBroken)
		}
		return nil
	}, workers.Kind{})
	args := `"` + strings.Repeat("a", 40<<10) + `"` // so that they are read again in several steps
	for range jobs / 2 {
		f.addArgs("k", args, queue.Options{})
		f.addArgs("k", args, queue.Options{Priority: queue.Low})
	}
	f.run(p)
	for range jobs {
		await(f, begun, "start")
	}
	save()
	close(gate)
	f.awaitDepth(0, 0)
	for range jobs / 2 {
		await(f, begun, "start of a retry")
	}
	restore()
	for range jobs / 2 {
		await(f, begun, "start of a retry whose job Redis has restored")
	}
	f.awaitDepth(0, 0)
	if n := runs.Load(); n != 2*jobs {
		t.Errorf("%d runs, want %d: each job, and the retries of half of them twice", n, 2*jobs)
	}
	total, _, err := f.queue.Counters(f.ctx, 0)
	f.must(err)
	if total.Succeeded != jobs || total.Failed != jobs/2 {
		t.Errorf("the counters are %+v", total)
	}
}

// The pool fetches under another lease since the quarantined job is long-running.
func TestOutcomeOfALongRunningQuarantinedJobIsWrittenAfterARestart(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	f.add("k", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	const slots = 1000
	p := f.pool(workers.Config{Concurrency: slots, Lease: 20 * time.Second})
	p.SetGroupWait(time.Millisecond)
	begun, gate := make(chan *queue.Job, 2*slots), make(chan struct{})
	p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { begun <- job; <-gate; return nil }, workers.Kind{})
	f.run(p)
	long := await(f, begun, "quarantined job")
	for other := long; other.Worker == long.Worker; other = await(f, begun, "other job") {
		f.add("k", queue.Options{}) // it may still be fetched before the first one is long-running
	}
	save()
	restore()
	close(gate)
	f.awaitDepth(0, 0)
	if len(begun) > 0 {
		t.Errorf("job %s ran again", (<-begun).ID)
	}
}

// The handler returns while Redis is away, and the pool no longer serves the queue. The outcome is held
// back until the job is compared with that of the restarted Redis.
func TestOutcomeOfARemovedQueueIsWrittenAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	hooks, reports := ended()
	p := f.pool(workers.Config{Concurrency: 2, Lease: 20 * time.Second, Hooks: hooks})
	begun, gate := make(chan struct{}, 2), make(chan struct{})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
	f.add("k", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	f.must(p.SetQueues([]workers.Queue{{Name: "other"}}))
	f.must(f.db.Save(f.ctx).Err())
	server.Kill()
	close(gate)
	await(f, reports, "end")
	f.must(server.Restart())
	restarted := time.Now()
	f.awaitDepth(0, 0)
	if took := time.Since(restarted); took > 10*time.Second || len(begun) > 0 {
		t.Errorf("the outcome was written after %s, and the job ran %d times more", took, len(begun))
	}
	for p.Serves("q") {
		f.must(f.ctx.Err())
	}
	f.must(p.SetQueues([]workers.Queue{{Name: "q"}}))
	f.add("k", queue.Options{})
	await(f, begun, "start of a job of the queue that is served again")
}

// The pool is quiet when Redis restarts, and goes on waiting for another job.
func TestOutcomeOfAQuietPoolIsWrittenAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	hooks, reports := ended()
	p := f.pool(workers.Config{Concurrency: 2, Lease: 20 * time.Second, Hooks: hooks})
	begun, gates := make(chan *queue.Job, 3), map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
	for kind, gate := range gates {
		p.HandleRaw(kind, func(_ context.Context, job *queue.Job) error { begun <- job; <-gate; return nil }, workers.Kind{})
	}
	f.add("first", queue.Options{})
	f.add("second", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	await(f, begun, "start of the other job")
	p.Quiet()
	f.must(f.db.Save(f.ctx).Err())
	server.Kill()
	close(gates["first"])
	await(f, reports, "end")
	f.must(server.Restart())
	f.awaitDepth(0, 1)
	close(gates["second"])
	f.awaitDepth(0, 0)
	if len(begun) > 0 {
		t.Errorf("job %s ran again", (<-begun).ID)
	}
}

// Redis has lost the deliveries of the jobs and their ends, under a lease that it still has. No
// handler runs again, and the pool does not wait for news while other jobs wait behind them.
func TestJobsBehindThoseThatEndedAreFetchedAtOnce(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	const jobs = 1500 // more than one fetch
	p := f.pool(workers.Config{Concurrency: 2, Lease: 20 * time.Second})
	hold, begun := make(chan struct{}), make(chan struct{}, 2)
	p.HandleRaw("hold", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-hold; return nil }, workers.Kind{})
	var runs atomic.Int64
	p.HandleRaw("k", func(context.Context, *queue.Job) error { runs.Add(1); return nil }, workers.Kind{})
	f.add("hold", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	f.must(f.queue.Pause(f.ctx, "", ""))
	added := make([]queue.NewJob, jobs)
	for i := range added {
		added[i] = queue.NewJob{Args: queue.Raw("k", nil), Options: queue.Options{Queue: "q"}}
	}
	for _, result := range f.client.EnqueueMany(f.ctx, added) {
		f.must(result.Err)
	}
	save()
	resumed := time.Now()
	f.must(f.queue.Resume(f.ctx))
	f.awaitDepth(0, 1)
	ended := time.Since(resumed)
	restore()
	f.must(f.queue.Resume(f.ctx))
	restored := time.Now()
	f.awaitDepth(0, 1)
	if took := time.Since(restored); took > workers.MaxIdle*4/5 {
		t.Errorf("the jobs that had ended were cleared after %v", took)
	}
	close(hold)
	f.awaitDepth(0, 0)
	// The pool knows the ends of the last seconds.
	if n := runs.Load(); n != jobs && !(ended >= workers.KeepEnds && n > jobs) {
		t.Errorf("%d runs of %d jobs", n, jobs)
	}
}

// The pool is busy with a job whose delivery Redis has lost. It waits again, so its handler is
// interrupted and its outcome is not written.
func TestJobsWhoseDeliveryRedisHasLostAreInterruptedAndRunAgain(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	p := f.pool(workers.Config{Concurrency: 1, Lease: 5 * time.Second})
	firstRuns, first := atomic.Int64{}, make(chan struct{})
	p.HandleRaw("first", func(context.Context, *queue.Job) error { firstRuns.Add(1); <-first; return nil }, workers.Kind{})
	begun, causes := make(chan struct{}, 1), make(chan error, 1)
	again := atomic.Bool{}
	p.HandleRaw("second", func(ctx context.Context, _ *queue.Job) error {
		begun <- struct{}{}
		if again.Swap(true) {
			return nil
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil // its outcome is not written
	}, workers.Kind{})
	f.add("first", queue.Options{})
	f.add("second", queue.Options{})
	f.run(p)
	f.awaitDepth(1, 1)
	save()
	close(first)
	await(f, begun, "start of the second job")
	restore()
	if cause := await(f, causes, "interruption"); !errors.Is(cause, queue.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
	await(f, begun, "second start of the second job")
	f.awaitDepth(0, 0)
	if n := firstRuns.Load(); n != 1 {
		t.Errorf("the first job, whose end Redis has lost, has run %d times", n)
	}
	total, _, err := f.queue.Counters(f.ctx, 0)
	f.must(err)
	if total.Succeeded != 2 || total.LostLeases != 0 {
		t.Errorf("the counters are %+v", total)
	}
}

// The replica has every write, and its connections are new: only the masters are other ones. Jobs
// that are added, and the one that runs, do not wait for the client to ask for them again.
func TestJobsOfAClusterRunAfterAFailover(t *testing.T) {
	t.Parallel()
	url, _, failover := redistest.ReplicatedCluster(t)
	f := newFixture(t, redistest.Open(t, url))
	p := f.pool(workers.Config{Concurrency: 2, Lease: 10 * time.Second})
	begun, gate := make(chan string, 10), make(chan struct{})
	p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { begun <- job.ID; <-gate; return nil }, workers.Kind{})
	first := f.add("k", queue.Options{})
	f.run(p)
	if id := await(f, begun, "start"); id != first {
		t.Errorf("job %s has started, want %s", id, first)
	}
	f.must(f.db.EachMaster(f.ctx, func(ctx context.Context, master *redis.Client, _ string) error {
		return awaitReplica(ctx, master)
	}))
	failover()
	failed := time.Now()
	second := f.add("k", queue.Options{})
	if id := await(f, begun, "start of a job that was added after the failover"); id != second {
		t.Errorf("job %s has started, want %s", id, second)
	}
	if took := time.Since(failed); took > workers.MaxIdle*4/5 { // a fetch may fail, and the queue rests
		t.Errorf("the job has started %v after the failover", took)
	}
	close(gate)
	f.awaitDepth(0, 0)
	total, _, err := f.queue.Counters(f.ctx, 0)
	f.must(err)
	if total.Succeeded != 2 || total.LostLeases != 0 {
		t.Errorf("the counters are %+v", total)
	}
}

// The replica has two jobs as running and one as waiting. It has not received that they ended, nor
// the job that was added last.
func TestFailoverOfAClusterThatLosesWritesLeavesNoJobActive(t *testing.T) {
	t.Parallel()
	url, detach, failover := redistest.ReplicatedCluster(t)
	f := newFixture(t, redistest.Open(t, url))
	p := f.pool(workers.Config{Concurrency: 2, Lease: 10 * time.Second})
	begun, gate := make(chan string, 10), make(chan struct{})
	p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { begun <- job.ID; <-gate; return nil }, workers.Kind{})
	added := []string{f.add("k", queue.Options{}), f.add("k", queue.Options{}), f.add("k", queue.Options{})}
	f.run(p)
	await(f, begun, "first job")
	await(f, begun, "second job")
	f.must(f.db.EachMaster(f.ctx, func(ctx context.Context, master *redis.Client, _ string) error {
		return awaitReplica(ctx, master)
	}))
	detach()
	close(gate)
	added = append(added, f.add("k", queue.Options{}))
	await(f, begun, "third job")
	await(f, begun, "job that Redis loses")
	f.awaitDepth(0, 0)
	failover()
	f.awaitDepth(0, 0)
	last := f.add("k", queue.Options{})
	for id := ""; id != last; id = await(f, begun, "job that was added after the failover") {
	}
	f.awaitDepth(0, 0)
	if slices.Contains(added, last) {
		t.Errorf("the id %s was issued twice", last)
	}
	total, _, err := f.queue.Counters(f.ctx, 0)
	f.must(err)
	if total.Enqueued != 4 || total.Succeeded != 4 || total.LostLeases != 0 {
		t.Errorf("the counters are %+v", total)
	}
}

func TestSignalsArriveFromARedisWhoseClockIsBehind(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	p := f.pool(workers.Config{Concurrency: 2, Lease: 2 * time.Second})
	begun, cancelled := make(chan struct{}, 10), make(chan struct{}, 10)
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		begun <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return nil
	}, workers.Kind{})
	id := f.add("k", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	save()
	local := id[strings.LastIndex(id, ":")+1:]
	ahead := fmt.Sprintf("%d-0", time.Now().Add(time.Hour).UnixMilli())
	f.must(f.db.XAdd(f.ctx, &redis.XAddArgs{Stream: f.key("control"), ID: ahead, Values: []string{"do", "cancel", "id", local}}).Err())
	await(f, cancelled, "signal with a time that is ahead")
	restore()
	resend, tooLate := time.Tick(50*time.Millisecond), time.After(20*time.Second)
	for !p.IsQuiet() { // a signal is lost if it comes before the pool has noticed the restart
		select {
		case <-resend:
			_ = f.queue.Signal(f.ctx, queue.Signal{Kind: queue.SignalQuiet})
		case <-tooLate:
			t.Fatal("no signal is received after the restart")
		}
	}
}
