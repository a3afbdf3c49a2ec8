package workers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"

	"github.com/redis/go-redis/v9"
)

func TestJobsOfADeadWorkerAreRecovered(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		want := map[string]bool{}
		for range 5 {
			want[f.add("k", queue.Options{})] = true
		}
		_, _, die := f.abandoned("dying-worker", 5)
		p := f.pool(workers.Config{})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		f.run(p)
		die()
		for range 5 {
			job := await(f, seen, "recovered job")
			if !want[job.ID] || job.Attempts != 0 {
				f.Errorf("ran %+v", job)
			}
			delete(want, job.ID)
		}
	})
}

// Six jobs become two groups of three. A pool of four slots runs two of a group at a time,
// and other jobs beside them; it fetches from the second group when it holds none of the
// first.
func TestQuarantinedJobsTakeHalfOfTheSlotsAndOneGroupAtATime(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		for range 6 {
			f.add("quarantined", queue.Options{})
		}
		_, _, die := f.abandoned("dying-worker", 6)
		die()
		_, err := f.queue.Recover(f.ctx, 0, false)
		f.must(err)
		p := f.pool(workers.Config{Concurrency: 4})
		begun, gate := make(chan *queue.Job, 10), make(chan struct{})
		p.HandleRaw("quarantined", func(_ context.Context, job *queue.Job) error { begun <- job; <-gate; return nil }, workers.Kind{})
		others, seen := recorder()
		p.HandleRaw("other", others, workers.Kind{})
		f.run(p)
		var groups []string
		start := func() {
			job := await(f, begun, "quarantined job")
			if job.GroupSize != 3 {
				f.Errorf("a group of %d jobs", job.GroupSize)
			}
			groups = append(groups, job.Group)
		}
		start()
		start()
		for range 8 { // beside the quarantined ones, with the slots that are left
			f.add("other", queue.Options{})
			await(f, seen, "other job")
		}
		if len(begun) > 0 {
			f.Error("more than half of the slots have a quarantined job")
		}
		gate <- struct{}{}
		start() // the third one of the group
		gate <- struct{}{}
		f.awaitDepth(3, 1)
		gate <- struct{}{}
		start()
		start()
		gate <- struct{}{}
		start()
		close(gate)
		f.awaitDepth(0, 0)
		if first, second := groups[0], groups[3]; first == second || !slices.Equal(groups, []string{first, first, first, second, second, second}) {
			f.Errorf("the groups are %q", groups)
		}
	})
}

// Four jobs become two groups. One job of the first goes on, with half of the pool's slots for
// quarantined jobs left.
func TestLongJobOfAGroupKeepsNoOtherGroupWaiting(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		for range 4 {
			f.add("quarantined", queue.Options{})
		}
		_, _, die := f.abandoned("dying-worker", 4)
		die()
		_, err := f.queue.Recover(f.ctx, 0, false)
		f.must(err)
		p := f.pool(workers.Config{Concurrency: 8})
		p.SetGroupWait(20 * time.Millisecond)
		begun, gate := make(chan *queue.Job, 4), make(chan struct{})
		var first atomic.Bool
		p.HandleRaw("quarantined", func(_ context.Context, job *queue.Job) error {
			begun <- job
			if first.CompareAndSwap(false, true) {
				<-gate
			}
			return nil
		}, workers.Kind{})
		f.run(p)
		leases := map[string]string{} // by group
		for range 4 {
			job := await(f, begun, "quarantined job")
			if lease, known := leases[job.Group]; known && lease != job.Worker {
				f.Errorf("a group is held under %s and %s", lease, job.Worker)
			}
			leases[job.Group] = job.Worker
		}
		held := slices.Compact(slices.Sorted(maps.Values(leases)))
		if len(leases) != 2 || len(held) != 2 {
			f.Errorf("the groups are held under %v", leases)
		}
		f.awaitDepth(0, 1)
		close(gate)
		f.awaitDepth(0, 0)
	})
}

// With one crash allowed, each job of a group of one must run solo.
func TestJobWhoseLastCrashWouldCountRunsSolo(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		for range 2 {
			f.add("quarantined", queue.Options{})
		}
		_, _, die := f.abandoned("dying-worker", 2)
		for range 50 {
			f.add("other", queue.Options{})
		}
		p := f.pool(workers.Config{Concurrency: 4, Crashes: 1})
		var all, solos atomic.Int64
		done := make(chan struct{}, 100)
		p.HandleRaw("quarantined", func(ctx context.Context, job *queue.Job) error {
			solos.Add(1)
			defer solos.Add(-1)
			for range 100 {
				if n := all.Load(); n > 0 {
					f.Errorf("a solo job runs beside %d others", n)
				}
				runtime.Gosched()
			}
			all, err := f.queue.Workers(ctx)
			if err != nil || len(all) != 1 || all[0].Solo != job.ID {
				f.Errorf("the workers are %+v, %v", all, err)
			}
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		p.HandleRaw("other", func(context.Context, *queue.Job) error {
			all.Add(1)
			defer all.Add(-1)
			if solos.Load() > 0 {
				f.Error("another job runs beside a solo job")
			}
			runtime.Gosched()
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		die()
		stop := f.run(p)
		for range 52 {
			await(f, done, "end of a job")
		}
		for { // the mark is removed a little later
			all, err := f.queue.Workers(f.ctx)
			f.must(err)
			if len(all) == 0 || all[0].Solo == "" {
				break
			}
		}
		stop()
	})
}

func TestSoloJobDoesNotWaitForLongJobsForEver(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		quarantined := f.add("quarantined", queue.Options{})
		_, _, die := f.abandoned("dying-worker", 1)
		for name, concurrency := range map[string]int{"a free slot": 2, "no free slot": 1} {
			f.add("long", queue.Options{})
			p := f.pool(workers.Config{Concurrency: concurrency, Crashes: 1})
			p.SetSoloTimes(50*time.Millisecond, time.Minute)
			begun, gate := make(chan struct{}), make(chan struct{})
			p.HandleRaw("long", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
			seen := make(chan string)
			p.HandleRaw("quarantined", func(ctx context.Context, job *queue.Job) error {
				all, err := f.queue.Workers(ctx)
				f.must(err)
				seen <- all[0].Solo
				return nil
			}, workers.Kind{})
			stop := f.run(p)
			await(f, begun, "long job")
			die()
			if concurrency == 1 {
				close(gate) // it is fetched only now
				if alone := await(f, seen, "quarantined"); alone != quarantined {
					f.Errorf("%s: %q runs solo", name, alone)
				}
			} else {
				if alone := await(f, seen, "quarantined"); alone != "" {
					f.Errorf("%s: a job beside a long one is marked as solo", name)
				}
				close(gate)
			}
			stop()
			quarantined = f.add("quarantined", queue.Options{})
			_, _, die = f.abandoned("second-worker", 1)
		}
	})
}

func TestOthersRunBesideASoloJobAfterItsWindow(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.add("quarantined", queue.Options{})
		_, _, die := f.abandoned("dying-worker", 1)
		die()
		f.add("other", queue.Options{})
		p := f.pool(workers.Config{Concurrency: 2, Crashes: 1})
		p.SetSoloTimes(time.Minute, 100*time.Millisecond)
		gate := make(chan struct{})
		p.HandleRaw("quarantined", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.HandleRaw("other", handler, workers.Kind{})
		_, err := f.queue.Recover(f.ctx, 0, false)
		f.must(err)
		f.run(p)
		await(f, seen, "other job")
		close(gate)
	})
}

func TestWindowDoublesWithEachQuarantine(t *testing.T) {
	t.Parallel()
	for quarantines, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 100: 40960 * time.Second} {
		if got := workers.Window(10*time.Second, quarantines); got != want {
			t.Errorf("quarantined %d times: %s, want %s", quarantines, got, want)
		}
	}
}

func TestJobThatCrashesItsWorkerTooOftenIsDead(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		id := f.add("poison", queue.Options{})
		for _, worker := range []string{"first", "second", "third"} {
			jobs, lease, die := f.abandoned(worker, 1)
			if worker == "third" { // the last one: it must have run alone
				f.must(lease.MarkSolo(f.ctx, jobs[0]))
			}
			die()
			if worker != "third" {
				_, err := f.queue.Recover(f.ctx, 2, false)
				f.must(err)
			}
		}
		p := f.pool(workers.Config{Crashes: 2})
		p.HandleRaw("poison", func(context.Context, *queue.Job) error { f.Error("it was run again"); return nil }, workers.Kind{})
		f.run(p)
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.State != queue.Dead || !strings.Contains(job.Reason, "died 2 times") {
			f.Errorf("it ended as %+v", job)
		}
	})
}

// Both jobs have a group of their own. The death counts for the one that was fetched last.
func TestDeathDoesNotCountForALongJobBesideAnotherGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	first, second := f.besideEachOther(500*time.Millisecond, make(chan struct{}))
	f.expire(first.Worker, second.Worker)
	for _, job := range []*queue.Job{first, second} {
		for after := job; after.Quarantines == job.Quarantines; after = f.get(job.ID) {
			_, err := f.queue.Recover(f.ctx, 0, false)
			f.must(err)
		}
	}
	if job := f.get(first.ID); job.Crashes != 0 {
		t.Errorf("the job that ran for long beside another one has %d crashes", job.Crashes)
	}
	if job := f.get(second.ID); job.Crashes != 1 {
		t.Errorf("the job that was fetched last has %d crashes", job.Crashes)
	}
}

// When both are long-running, the death counts for neither of them, and when one has ended for the
// other: so it is found if it kills its worker late.
func TestDeathCountsForALongJobWithoutOtherGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	gate := make(chan struct{})
	first, second := f.besideEachOther(10*time.Millisecond, gate)
	f.awaitMark(first, true)
	f.awaitMark(second, true)
	gate <- struct{}{}
	f.awaitDepth(0, 1)
	left := first
	if _, err := f.client.Get(f.ctx, first.ID); errors.Is(err, queue.ErrNoJob) {
		left = second
	}
	f.awaitMark(left, false)
	f.declareDead(left.Worker)
	if job := f.get(left.ID); job.Crashes != 1 {
		t.Errorf("the job has %d crashes", job.Crashes)
	}
}

// The mark can't be set. It was tried all the same before the other job started.
func TestNoJobStartsBesideALongJobBeforeItsMarkIsTried(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{Patience: -1})
	lost := proxy.LoseCommands("shared")
	f.startBoth(500*time.Millisecond, make(chan struct{}), func() {
		if len(lost) == 0 {
			t.Error("the second job starts before the lease of the first one was to be marked")
		}
	})
}

// besideEachOther starts two jobs in one pool, each of which has a quarantined group of its own. They
// end when a value comes from the gate.
func (f *fixture) besideEachOther(groupWait time.Duration, gate chan struct{}) (first, second *queue.Job) {
	f.Helper()
	return f.startBoth(groupWait, gate, func() {
		if f.db.HLen(f.ctx, f.key("alone")).Val() == 0 {
			f.Error("the second job starts before the lease of the first one is marked")
		}
	})
}

// startBoth is besideEachOther, and calls check when the second job starts.
func (f *fixture) startBoth(groupWait time.Duration, gate chan struct{}, check func()) (first, second *queue.Job) {
	f.Helper()
	f.add("k", queue.Options{})
	f.add("k", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 2)
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	p := f.pool(workers.Config{Concurrency: 4, Lease: time.Hour})
	p.SetGroupWait(groupWait)
	begun, starts := make(chan *queue.Job, 10), atomic.Int64{}
	p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
		if starts.Add(1) == 2 {
			check()
		}
		begun <- job
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return nil
	}, workers.Kind{})
	f.run(p)
	f.Cleanup(func() { close(gate) })
	first, second = await(f, begun, "first job"), await(f, begun, "second job")
	if first.GroupSize != 1 || second.GroupSize != 1 || first.Worker == second.Worker {
		f.Fatalf("they run as %+v and %+v", first, second)
	}
	return first, second
}

// awaitMark blocks until the lease of a job of the queue "q" is marked as shared, or is not.
func (f *fixture) awaitMark(job *queue.Job, marked bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); f.db.HGet(f.ctx, f.key("alone"), job.Worker).Val() == "shared" != marked; {
		if time.Now().After(deadline) {
			f.Fatalf("the lease of job %s is marked: %t", job.ID, !marked)
		}
	}
}

func TestAbandonedSoloJobDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("stuck", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	p := f.pool(workers.Config{Concurrency: 2, Crashes: 1, Grace: 20 * time.Millisecond})
	gate := make(chan struct{})
	p.HandleRaw("stuck", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{Timeout: 20 * time.Millisecond})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	f.add("k", queue.Options{})
	f.run(p)
	began := time.Now()
	await(f, seen, "other job")
	if took := time.Since(began); took > workers.SoloWait*9/10 {
		t.Errorf("it waited for %s", took)
	}
	close(gate)
}

// A job that must run solo is fetched while another one runs, and the queue is paused
// before that one has ended.
func TestSoloJobWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	f.addArgs("quarantined", "is-quarantined", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	p := f.pool(workers.Config{Concurrency: 2, Crashes: 1, Lease: time.Minute})
	begun, gate, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
	p.HandleRaw("long", func(context.Context, *queue.Job) error {
		begun <- struct{}{}
		<-gate
		ended.Store(true)
		return nil
	}, workers.Kind{})
	ran := make(chan bool, 10)
	p.HandleRaw("quarantined", func(context.Context, *queue.Job) error { ran <- ended.Load(); return nil }, workers.Kind{})
	f.add("long", queue.Options{})
	f.run(p)
	end := sync.OnceFunc(func() { close(gate) })
	defer end()
	await(f, begun, "long job")
	delivery := proxy.HoldReply("eval", "is-quarantined")
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	await(f, delivery.Held(), "fetch of the quarantined job")
	delivery.Release()
	f.must(f.queue.Pause(f.ctx, "", ""))
	for depth := (queue.Depth{}); depth.Waiting == 0; { // until it is handed back
		if len(ran) > 0 {
			t.Fatal("it ran beside another job")
		}
		depth, err = f.queue.Depth(f.ctx)
		f.must(err)
	}
	end()
	f.awaitDepth(1, 0)
	f.must(f.queue.Resume(f.ctx))
	if alone := await(f, ran, "quarantined"); !alone {
		t.Error("it ran beside another job")
	}
}

func TestJobsFetchedWithASoloJobAreHandedBackBeforeItRuns(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	f.add("quarantined", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	f.addArgs("other", "beside-it", queue.Options{})
	p := f.pool(workers.Config{Concurrency: 4, Crashes: 1, Lease: time.Minute})
	quarantined, solos := recorder()
	p.HandleRaw("quarantined", quarantined, workers.Kind{})
	other, others := recorder()
	p.HandleRaw("other", other, workers.Kind{})
	first, second := proxy.HoldReply("eval", "beside-it"), proxy.HoldReply("eval", "beside-it")
	f.run(p)
	await(f, first.Held(), "first delivery")
	first.Release()
	await(f, solos, "quarantined")
	select {
	case <-second.Held():
		second.Release()
	case <-others:
		t.Fatal("the job beside the quarantined one stayed with this worker and was run from its buffer")
	case <-time.After(patience):
		t.Fatal("no second delivery")
	}
	await(f, others, "job beside the quarantined one")
}

func TestJobsBehindASoloJobGoToAnIdleWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("quarantined", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	if _, err := f.queue.Recover(f.ctx, 0, false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.add("other", queue.Options{})
	}
	p := f.pool(workers.Config{Concurrency: 4, Crashes: 1})
	gate, begun := make(chan bool), make(chan bool, 1)
	p.HandleRaw("quarantined", func(context.Context, *queue.Job) error { begun <- true; <-gate; return nil }, workers.Kind{})
	p.HandleRaw("other", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
	stop := f.run(p)
	await(f, begun, "quarantined")
	start := time.Now()
	idle := f.pool(workers.Config{Concurrency: 4})
	done := make(chan bool, 10)
	idle.HandleRaw("other", func(context.Context, *queue.Job) error { done <- true; return nil }, workers.Kind{})
	f.run(idle)
	for i := range 3 {
		select {
		case <-done:
		case <-time.After(workers.SoloWait): // the window of the solo job is twice as long
			d, _ := f.queue.Depth(f.ctx)
			t.Errorf("after %s job %d has not run though a worker is idle: %+v", time.Since(start), i, d)
			i = 3
		}
		if t.Failed() {
			break
		}
	}
	close(gate)
	stop()
}

func TestJobThatEndedAnAttemptIsNotQuarantinedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("k", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	p := f.pool(workers.Config{Concurrency: 4})
	seen := make(chan int, 10)
	n := 0
	p.HandleRaw("k", func(_ context.Context, j *queue.Job) error {
		seen <- j.Quarantines
		if n++; n < 3 {
			return workers.Snooze(time.Millisecond)
		}
		return nil
	}, workers.Kind{})
	f.run(p)
	a, b, c := await(f, seen, "1"), await(f, seen, "2"), await(f, seen, "3")
	if b != 0 || c != 0 {
		t.Errorf("suspected %d, and after attempts that ended well %d, %d", a, b, c)
	}
}

// A markHook learns the digest of the script that marks solo jobs: its last argument is the place
// of the job.
type markHook struct{ digest atomic.Value }

var placeText = regexp.MustCompile(`^\d+ \d+-\d+$`)

func (*markHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *markHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); cmd.Name() == "evalsha" && placeText.MatchString(fmt.Sprint(args[len(args)-1])) {
			h.digest.Store(fmt.Sprint(args[1]))
		}
		return next(ctx, cmd)
	}
}

func (*markHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A markedSolo is a pool with a job that runs solo and is marked. Other jobs are of queue "other".
type markedSolo struct {
	*fixture
	proxy *redistest.Proxy
	job   *queue.Job
	hook  *markHook
	end   func()            // ends the solo job
	seen  <-chan *queue.Job // the other jobs that have run
	stop  func()            // stops the pool
}

func newMarkedSolo(t *testing.T, lease, window time.Duration) *markedSolo {
	t.Helper()
	f, proxy := newProxiedFixture(t, rdb.Options{Patience: 20 * time.Millisecond})
	m := &markedSolo{fixture: f, proxy: proxy, hook: &markHook{}}
	f.poolDB.AddHook(m.hook)
	f.add("quarantined", queue.Options{})
	_, _, die := f.abandoned("dying-worker", 1)
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	p := f.pool(workers.Config{Concurrency: 2, Crashes: 1, Lease: lease, Drain: time.Hour, Queues: []workers.Queue{{Name: "q"}, {Name: "other"}}})
	p.SetSoloTimes(time.Minute, window)
	begun, gate := make(chan *queue.Job), make(chan struct{})
	p.HandleRaw("quarantined", func(_ context.Context, job *queue.Job) error { begun <- job; <-gate; return nil }, workers.Kind{})
	handler, seen := recorder()
	p.HandleRaw("other", handler, workers.Kind{})
	m.seen, m.stop = seen, f.run(p)
	m.end = sync.OnceFunc(func() { close(gate) })
	f.Cleanup(m.end)
	m.job = await(f, begun, "quarantined")
	return m
}

// loseMarks loses the commands that mark jobs or remove the mark.
func (m *markedSolo) loseMarks() <-chan struct{} {
	return m.proxy.LoseCommands(m.hook.digest.Load().(string))
}

func TestNoJobStartsBesideASoloJobUntilItsMarkIsRemoved(t *testing.T) {
	t.Parallel()
	m := newMarkedSolo(t, time.Minute, 100*time.Millisecond)
	lost := m.loseMarks()
	m.add("other", queue.Options{Queue: "other"})
	for range 3 {
		await(m.fixture, lost, "removal of the mark")
	}
	select {
	case <-m.seen:
		t.Error("another job ran while the job was marked as running alone")
	default:
	}
	m.proxy.LoseCommands("")
	await(m.fixture, m.seen, "other job beside it")
	all, err := m.queue.Workers(m.ctx)
	m.must(err)
	if len(all) != 1 || all[0].Solo != "" {
		t.Errorf("the mark is not removed: %+v", all)
	}
}

// Redis loses all commands that name the lease of the solo job.
func TestOtherQueuesGoOnWhenTheLeaseOfASoloJobHasExpired(t *testing.T) {
	t.Parallel()
	m := newMarkedSolo(t, shortLease, time.Millisecond)
	m.proxy.LoseCommands(m.job.Worker)
	m.add("other", queue.Options{Queue: "other"})
	await(m.fixture, m.seen, "job of another queue")
	m.proxy.LoseCommands("")
}

func TestOtherQueuesGoOnWhenRedisRefusesToRemoveAMark(t *testing.T) {
	t.Parallel()
	m := newMarkedSolo(t, time.Minute, 100*time.Millisecond)
	m.proxy.RefuseCommands(1000, m.hook.digest.Load().(string), "NOPERM this user has no permissions")
	m.add("other", queue.Options{Queue: "other"})
	await(m.fixture, m.seen, "job of another queue")
	m.proxy.RefuseCommands(0, "", "")
}

func TestStopDoesNotWaitForTheRemovalOfAMark(t *testing.T) {
	t.Parallel()
	m := newMarkedSolo(t, time.Minute, time.Minute)
	lost := m.loseMarks()
	m.end()
	await(m.fixture, lost, "removal of the mark")
	m.stop()
	m.proxy.LoseCommands("")
}
