package workers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// The reply to a fetch arrives while the pool handles the loss of the
// lease: the jobs in it belong to others.
func TestJobsFetchedUnderALostLeaseAreNotStartedUnderIt(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	losing, lost := make(chan string), make(chan struct{})
	p := f.pool(workers.Config{
		Concurrency: 1, Lease: 2 * time.Second, Queues: []workers.Queue{{Name: "q"}, {Name: "other"}},
		Hooks: workers.Hooks{LeaseLost: func(queue string) { losing <- queue; <-lost }},
	})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	gate := make(chan struct{})
	p.HandleRaw("opener", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{})
	f.add("opener", queue.Options{})
	held := proxy.HoldReply("eval", "held-back")
	f.run(p)
	first := f.leaseOf(p)
	close(gate)
	id := f.addArgs("k", "held-back", queue.Options{})
	await(f, held.Held(), "reply to the fetch")
	f.declareDead(first)
	await(f, losing, "loss of the lease")
	other := f.add("k", queue.Options{Queue: "other"})
	held.Release()
	// Either may be first: the job that was recovered may be fetched again before the other one.
	started := map[string]string{}
	job := await(f, seen, "first job")
	started[job.ID] = job.Worker
	close(lost)
	job = await(f, seen, "second job")
	started[job.ID] = job.Worker
	if worker := started[id]; worker == "" || worker == first || started[other] == "" {
		t.Errorf("started, by job: %v; %s was fetched under %s, which was lost", started, id, first)
	}
}

func TestLostLeaseInterruptsHandlersBeforeTheNextOneIsOpened(t *testing.T) {
	t.Parallel()
	f, _ := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 1})
	contexts := make(chan context.Context, 2)
	gate := make(chan struct{})
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error { contexts <- ctx; <-gate; return nil }, workers.Kind{})
	f.add("k", queue.Options{})
	f.run(p)
	defer close(gate)
	ctx := await(f, contexts, "start")
	first := f.leaseOf(p)
	f.declareDead(first)
	f.leaseOf(p, first)
	if cause := context.Cause(ctx); !errors.Is(cause, queue.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
}

// A pool that begins has not read where the signals of a queue are. It must fetch nothing before
// it has: a signal about what it would hold could come before that place.
func TestPoolFetchesNothingBeforeItHearsSignals(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 1, Queues: []workers.Queue{{Name: "q"}, {Name: "other"}}})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.add("k", queue.Options{})
	other := f.add("k", queue.Options{Queue: "other"})
	place := proxy.HoldReply("xrevrange "+f.key("control"), "")
	f.run(p)
	await(f, place.Held(), "reply with the place")
	f.must(f.queue.Pause(f.ctx, "", ""))
	place.Release()
	if job := await(f, seen, "job of the other queue"); job.ID != other {
		t.Errorf("%s was started", job.ID)
	}
	f.must(f.queue.Resume(f.ctx))
	await(f, seen, "job")
}

// The cancellation of a job comes before the reply to the fetch that brings it.
func TestJobCancelledBeforeItsDeliveryIsNotStarted(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 2})
	handler, begun, causes := waiter()
	p.HandleRaw("running", handler, workers.Kind{})
	p.HandleRaw("cancelled", func(context.Context, *queue.Job) error { t.Error("it was started"); return nil }, workers.Kind{})
	running := f.add("running", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	held := proxy.HoldReply("eval", "held-back")
	id := f.addArgs("cancelled", "held-back", queue.Options{Retain: time.Hour})
	await(f, held.Held(), "reply to the fetch")
	for _, id := range []string{id, running} { // signals are obeyed in order
		_, err := f.client.Cancel(f.ctx, id)
		f.must(err)
	}
	if cause := await(f, causes, "end of the other job"); !errors.Is(cause, workers.ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
	held.Release()
	job, err := f.client.Wait(f.ctx, id)
	f.must(err)
	if job.Outcome != queue.Cancelled {
		t.Errorf("it ended as %+v", job)
	}
}

// now returns the time of Redis, in milliseconds.
func (f *fixture) now() time.Time {
	f.Helper()
	now, err := f.db.Time(f.ctx).Result()
	f.must(err)
	return now.Truncate(time.Millisecond)
}

// The cancellation of a job comes when it has just failed for good, and it is retried at once.
func TestCancellationOfAnEarlierRunDoesNotCancelTheRetry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	p := f.pool(workers.Config{Concurrency: 2})
	handler, begun, causes := waiter()
	p.HandleRaw("running", handler, workers.Kind{})
	run := make(chan struct{}, 10)
	p.HandleRaw("fails", func(context.Context, *queue.Job) error {
		run <- struct{}{}
		return errors.New("no")
	}, workers.Kind{MaxAttempts: 1})
	running, id := f.add("running", queue.Options{}), f.add("fails", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	await(f, run, "run")
	f.awaitDepth(0, 1) // it is dead
	f.must(f.queue.Signal(f.ctx, queue.Signal{Kind: queue.SignalCancel, Job: id}))
	_, err := f.client.Cancel(f.ctx, running) // signals are obeyed in order
	f.must(err)
	await(f, causes, "end of the other job")
	for heard := f.now(); f.now().Equal(heard); { // the retry is not added in the millisecond of the signal
	}
	f.must(f.client.Retry(f.ctx, id))
	await(f, run, "second run")
}

func TestOutcomeIsWrittenHoweverOftenThatFails(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{Patience: -1}) // each try of the pool is one command
	p := f.pool(workers.Config{Lease: time.Minute})
	begun := make(chan struct{}, 100)
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		begun <- struct{}{}
		return workers.SetResult(ctx, []byte("written-at-last"))
	}, workers.Kind{})
	lost := proxy.LoseCommands("written-at-last")
	id := f.add("k", queue.Options{Retain: time.Hour})
	f.run(p)
	await(f, begun, "start")
	for range 4 {
		select {
		case <-begun:
			t.Fatal("the job was started again")
		case <-lost:
		case <-time.After(patience):
			t.Fatal("its outcome is no longer written")
		}
	}
	proxy.LoseCommands("")
	job, err := f.client.Wait(f.ctx, id)
	f.must(err)
	if job.Outcome != queue.Succeeded || string(job.Result) != "written-at-last" || len(begun) > 0 {
		t.Errorf("it was started %d times more and ended as %+v", len(begun), job)
	}
}

// A reply to a fetch is lost while other jobs run. The pool reads again what it
// holds: the running jobs are in that answer too.
func TestRunningJobsAreNotStartedAgainByARereadOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 3, Lease: time.Minute})
	running, gate, starts := make(chan struct{}), make(chan struct{}), atomic.Int64{}
	p.HandleRaw("running", func(context.Context, *queue.Job) error {
		if starts.Add(1) == 1 {
			running <- struct{}{}
			<-gate
		}
		return nil
	}, workers.Kind{})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.add("running", queue.Options{})
	stop := f.run(p)
	await(f, running, "start")
	dropped := proxy.HoldReply("eval", "dropped")
	id := f.addArgs("k", "dropped", queue.Options{})
	await(f, dropped.Held(), "reply to the fetch")
	dropped.Drop()
	if job := await(f, seen, "job of the lost reply"); job.ID != id { // the line that was read first starts first
		t.Errorf("got %+v", job)
	}
	close(gate)
	stop()
	if n := starts.Load(); n != 1 {
		t.Errorf("a job was started %d times", n)
	}
}

// As before, but one of the running jobs ends, and its outcome is written,
// before the answer is there.
func TestJobsThatEndDuringARereadAreNotStartedAgain(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 4, Lease: time.Minute})
	running, starts := make(chan struct{}), atomic.Int64{}
	gates := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
	p.HandleRaw("running", func(_ context.Context, job *queue.Job) error {
		if starts.Add(1) <= 2 {
			running <- struct{}{}
			<-gates[string(job.Args)]
		}
		return nil
	}, workers.Kind{})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	first, second := f.addArgs("running", "first", queue.Options{}), f.addArgs("running", "second", queue.Options{})
	stop := f.run(p)
	await(f, running, "start")
	await(f, running, "second start")
	dropped, reread := proxy.HoldReply("eval", "dropped"), proxy.HoldReply("eval", "dropped")
	f.addArgs("k", "dropped", queue.Options{})
	await(f, dropped.Held(), "reply to the fetch")
	dropped.Drop()
	await(f, reread.Held(), "answer")
	close(gates["first"])
	f.awaitGone(first)
	close(gates["second"]) // outcomes are written one after the other
	f.awaitGone(second)
	reread.Release()
	await(f, seen, "job of the lost reply")
	stop()
	if n := starts.Load(); n != 2 {
		t.Errorf("two jobs were started %d times", n)
	}
}

// The reply to the last fetch before a pool becomes quiet is lost.
func TestQuietPoolHandsBackTheJobsOfALostReply(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Lease: time.Minute})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { t.Error("it was started"); return nil }, workers.Kind{})
	dropped := proxy.HoldReply("eval", "dropped")
	id := f.addArgs("k", "dropped", queue.Options{})
	stop := f.run(p)
	await(f, dropped.Held(), "reply to the fetch")
	p.Quiet()
	dropped.Drop()
	stop()
	if job := f.get(id); job.State != queue.Waiting || job.Quarantines != 0 {
		t.Errorf("it is %s under %q, suspected %d times", job.State, job.Worker, job.Quarantines)
	}
}

func TestLeaseIsRenewedTwiceInItsTime(t *testing.T) {
	t.Parallel()
	f, _ := newProxiedFixture(t, rdb.Options{})
	const lease = 500 * time.Millisecond
	p := f.pool(workers.Config{Lease: lease})
	f.holdJob(p)
	name := f.leaseOf(p)
	// The end of the lease, by the clock of Redis, moves by the time between two
	// renewals. This machine may be too busy for some of them.
	var last float64
	for began, early := time.Now(), 0; early < 3; {
		end, err := f.db.ZScore(f.ctx, f.key("leases"), name).Result()
		f.must(err)
		if last == 0 {
			last = end
		}
		if by := time.Duration(end-last) * time.Millisecond; by > 0 && by <= lease/2 {
			early++
		}
		last = end
		if time.Since(began) > patience/2 {
			t.Fatalf("no three renewals came within %s after the one before", lease/2)
		}
	}
}

// Redis answers, but no outcome can be written for a while.
func TestPoolStartsNoMoreJobsWhileTooManyOutcomesAreUnwritten(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{Patience: -1})
	const jobs, bound = 3000, 4*8 + 500
	p := f.pool(workers.Config{Concurrency: 8, Lease: time.Minute})
	starts := atomic.Int64{}
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		starts.Add(1)
		return workers.SetResult(ctx, []byte("not-written"))
	}, workers.Kind{})
	inserts := make([]queue.NewJob, jobs)
	for i := range inserts {
		inserts[i] = queue.NewJob{Args: queue.Raw("k", []byte(`{}`)), Options: queue.Options{Queue: "q", Retain: time.Hour}}
	}
	for _, result := range f.client.EnqueueMany(f.ctx, inserts) {
		f.must(result.Err)
	}
	lost := proxy.LoseCommands("not-written")
	stop := f.run(p)
	for now, _, _ := p.Unrecorded(); now < bound; now, _, _ = p.Unrecorded() {
		await(f, lost, "write of an outcome")
	}
	for range 3 { // the pool tries again
		await(f, lost, "write of an outcome")
	}
	if n := starts.Load(); n != bound {
		t.Errorf("%d jobs were started, want %d", n, bound)
	}
	proxy.LoseCommands("")
	f.awaitDepth(0, 0)
	stop() // the pool has the answers, too
	if now, highest, limit := p.Unrecorded(); now != 0 || highest != bound || limit != bound {
		t.Errorf("%d outcomes are unwritten, at most there were %d, want 0 and %d", now, highest, bound)
	}
	if n := starts.Load(); n != jobs {
		t.Errorf("%d jobs were started, want %d", n, jobs)
	}
}

// The other end of one connection is gone, and it was about to renew the lease.
func TestHalfOpenConnectionDoesNotCostTheLease(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Lease: 2 * time.Second})
	f.holdJob(p)
	name := f.leaseOf(p)
	held := proxy.HoldReply("eval", "*2\r\n$2\r\nok\r\n:0\r\n") // only renewals are answered so
	await(f, held.Held(), "renewal")
	until := func() float64 {
		score, err := f.db.ZScore(f.ctx, f.key("leases"), name).Result()
		if err != nil {
			t.Fatalf("the lease: %v", err)
		}
		return score
	}
	// The renewal whose answer is missing has set first, so the lease lasts until then
	// unless it is renewed on another connection.
	for first := until(); until() < first+1500; {
		if _, err := f.queue.Recover(f.ctx, 0, false); err != nil {
			t.Fatal(err)
		}
	}
}

// Redis keeps about a thousand signals. A worker that was away misses the others.
// Redis keeps the last thousand signals or so of a queue, so most of these are missed. The race
// detector allows 8,128 goroutines.
func TestThousandsOfCancellationsAtOnceReachTheHandlers(t *testing.T) {
	t.Parallel()
	const jobs, lease = 7000, 4 * time.Second
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: jobs, Lease: lease})
	var begun, cancelled atomic.Int64
	allBegun, allEnded := make(chan struct{}), make(chan time.Time, 1)
	p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		if begun.Add(1) == jobs {
			close(allBegun)
		}
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), workers.ErrCancelled) && cancelled.Add(1) == jobs {
			allEnded <- time.Now()
		}
		return context.Cause(ctx)
	}, workers.Kind{})
	added := make([]queue.NewJob, jobs)
	for i := range added {
		added[i] = queue.NewJob{Args: queue.Raw("k", nil), Options: queue.Options{Queue: "q"}}
	}
	results := f.client.EnqueueMany(f.ctx, added)
	f.run(p)
	await(f, allBegun, "start of all jobs")
	op := queue.Operation{Do: "cancel", State: queue.Active, AsOf: time.Now().Add(time.Minute), AtLeast: true}
	call := queue.OperationCall{Do: "begin", Owner: "owner", Turn: time.Minute, MaxAge: time.Hour}
	op, err := f.queue.Operate(f.ctx, op, call)
	f.must(err)
	proxy.Hold()
	for some := range slices.Chunk(results, 100) {
		call.Do, call.Step, call.Jobs = "step", op.Step+1, nil
		for _, result := range some {
			f.must(result.Err)
			call.Jobs = append(call.Jobs, result.ID)
		}
		op, err = f.queue.Operate(f.ctx, op, call)
		f.must(err)
	}
	began := time.Now()
	proxy.Release()
	took := await(f, allEnded, "end of all jobs").Sub(began)
	t.Logf("%d cancellations: the last handler ended %s after them", op.Changed, took)
	if took > 2*lease { // a busy machine needs a part of it
		t.Errorf("the last handler ended %s after %d cancellations, want at most %s", took, op.Changed, 2*lease)
	}
	f.awaitDepth(0, 0)
	if total, _, err := f.queue.Counters(f.ctx, 0); err != nil || total.Cancelled != jobs {
		t.Errorf("the counters are %+v: %v", total, err)
	}
}

func TestCancellationWhoseSignalWasMissedReachesTheHandler(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	p := f.pool(workers.Config{Concurrency: 1})
	handler, begun, causes := waiter()
	p.HandleRaw("k", handler, workers.Kind{})
	id := f.add("k", queue.Options{})
	f.run(p)
	await(f, begun, "start")
	proxy.Hold()
	_, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	f.must(f.db.XTrimMaxLen(f.ctx, f.key("control"), 0).Err())
	proxy.Release()
	if cause := await(f, causes, "end of the job"); !errors.Is(cause, workers.ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
}

// A fetch of several jobs, and each job at the lower rate, takes longer than fetchWait.
func TestLargeJobsRunOverASlowConnection(t *testing.T) {
	t.Parallel()
	slow := 4 // 16 take half a minute
	if thorough {
		slow = 16
	}
	for name, c := range map[string]struct{ jobs, bytesPerSecond int }{
		"5 MB/s": {16, 5_000_000}, "500 kB/s": {slow, 500_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, proxy := newProxiedFixture(t, rdb.Options{})
			p := f.pool(workers.Config{Concurrency: 16, Lease: 10 * time.Second})
			handler, seen := recorder()
			p.HandleRaw("k", handler, workers.Kind{})
			ids := map[string]bool{}
			for range c.jobs {
				ids[f.addArgs("k", strings.Repeat("x", 700<<10), queue.Options{})] = true
			}
			proxy.Slow(c.bytesPerSecond)
			began := time.Now()
			f.run(p)
			for len(ids) > 0 {
				delete(ids, await(f, seen, "job").ID)
			}
			t.Logf("%d jobs have run in %s", c.jobs, time.Since(began))
			proxy.Slow(0)
		})
	}
}

// Redis has lost the end of a job: it is active again, and held by a worker that does not
// know it. Another job keeps the lease.
func TestJobWhoseEndRedisHasLostRunsAgain(t *testing.T) {
	t.Parallel()
	for name, afterOutage := range map[string]bool{"at the next scan": false, "after an outage": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, proxy := newProxiedFixture(t, rdb.Options{})
			p := f.pool(workers.Config{Lease: 2 * time.Second, Concurrency: 2})
			if !afterOutage {
				p.SetScanEvery(time.Millisecond)
			}
			starts, gate := make(chan string, 2), make(chan struct{})
			p.HandleRaw("k", func(_ context.Context, job *queue.Job) error {
				starts <- job.ID
				<-gate
				return nil
			}, workers.Kind{})
			f.holdJob(p)
			id := f.add("k", queue.Options{Unique: queue.Unique{Key: "nightly"}})
			await(f, starts, "start")
			f.awaitDepth(0, 2)
			line := f.key("2:normal:fresh")
			before, err := f.db.Dump(f.ctx, line).Result()
			f.must(err)
			close(gate)
			f.awaitDepth(0, 1)
			f.must(f.db.RestoreReplace(f.ctx, line, 0, before).Err())
			if afterOutage {
				proxy.Hold()
				for !strings.Contains(f.kept.String(), "lease cannot be renewed") {
					f.awaitDepth(0, 2)
				}
				proxy.Release()
			}
			if again := await(f, starts, "second start"); again != id {
				t.Errorf("%s was started, want %s", again, id)
			}
			f.awaitDepth(0, 1)
		})
	}
}
