package workers_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestJobsOfADeadWorkerAreRecovered(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		want := map[string]bool{}
		for range 5 {
			want[f.add("k", queue.Options{})] = true
		}
		_, _, die := f.abandoned("mortal", 5)
		p := f.pool(workers.Config{})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{})
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

func TestSuspectsRunWithNoOtherJobBesideThem(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		for range 3 {
			f.add("suspect", queue.Options{})
		}
		_, _, die := f.abandoned("mortal", 3)
		for range 50 {
			f.add("other", queue.Options{})
		}
		p := f.pool(workers.Config{Concurrency: 4})
		var all, suspects atomic.Int64
		done := make(chan struct{}, 100)
		p.Handle("suspect", func(ctx context.Context, job *queue.Job) error {
			suspects.Add(1)
			defer suspects.Add(-1)
			for range 100 {
				if n := all.Load(); n > 0 {
					f.Errorf("a suspect runs beside %d others", n)
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
		p.Handle("other", func(context.Context, *queue.Job) error {
			all.Add(1)
			defer all.Add(-1)
			if suspects.Load() > 0 {
				f.Error("another job runs beside a suspect")
			}
			runtime.Gosched()
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		die()
		stop := f.run(p)
		for range 53 {
			await(f, done, "end of a job")
		}
		for { // the mark is taken away a little later
			all, err := f.queue.Workers(f.ctx)
			f.must(err)
			if len(all) == 1 && all[0].Solo == "" {
				break
			}
		}
		stop()
	})
}

func TestSuspectDoesNotWaitForLongJobsForEver(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		suspect := f.add("suspect", queue.Options{})
		_, _, die := f.abandoned("mortal", 1)
		for name, concurrency := range map[string]int{"a free slot": 2, "no free slot": 1} {
			f.add("long", queue.Options{})
			p := f.pool(workers.Config{Concurrency: concurrency})
			p.HurrySuspects(50*time.Millisecond, time.Minute)
			begun, gate := make(chan struct{}), make(chan struct{})
			p.Handle("long", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
			seen := make(chan string)
			p.Handle("suspect", func(ctx context.Context, job *queue.Job) error {
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
				if alone := await(f, seen, "suspect"); alone != suspect {
					f.Errorf("%s: alone runs %q", name, alone)
				}
			} else {
				if alone := await(f, seen, "suspect"); alone != "" {
					f.Errorf("%s: a suspect beside a long job is said to run alone", name)
				}
				close(gate)
			}
			stop()
			suspect = f.add("suspect", queue.Options{})
			_, _, die = f.abandoned("mortal-too", 1)
		}
	})
}

func TestOthersRunBesideASuspectOnceItsWindowIsOver(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.add("suspect", queue.Options{})
		_, _, die := f.abandoned("mortal", 1)
		die()
		f.add("other", queue.Options{})
		p := f.pool(workers.Config{Concurrency: 2})
		p.HurrySuspects(time.Minute, 100*time.Millisecond)
		gate := make(chan struct{})
		p.Handle("suspect", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.Handle("other", handler, workers.Kind{})
		_, err := f.queue.Recover(f.ctx, 0, false)
		f.must(err)
		f.run(p)
		await(f, seen, "other job")
		close(gate)
	})
}

func TestWindowGrowsWithEveryCrash(t *testing.T) {
	t.Parallel()
	for suspected, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 100: 40960 * time.Second} {
		if got := workers.Window(10*time.Second, suspected); got != want {
			t.Errorf("suspected %d times: %s, want %s", suspected, got, want)
		}
	}
}

func TestJobThatCrashesItsWorkerWhileAloneTooOftenIsDead(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		id := f.add("poison", queue.Options{})
		for _, worker := range []string{"first", "second", "third"} {
			jobs, lease, die := f.abandoned(worker, 1)
			if worker != "first" { // then it is no suspect yet
				f.must(lease.MarkSolo(f.ctx, jobs[0]))
			}
			die()
			if worker != "third" {
				_, err := f.queue.Recover(f.ctx, 2, false)
				f.must(err)
			}
		}
		p := f.pool(workers.Config{Crashes: 2})
		p.Handle("poison", func(context.Context, *queue.Job) error { f.Error("it was run again"); return nil }, workers.Kind{})
		f.run(p)
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.State != queue.Dead || !strings.Contains(job.Reason, "died 2 times") {
			f.Errorf("it ended as %+v", job)
		}
	})
}

func TestSuspectLeftBehindDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("deaf", queue.Options{})
	_, _, die := f.abandoned("mortal", 1)
	die()
	p := f.pool(workers.Config{Concurrency: 2, Grace: 20 * time.Millisecond})
	gate := make(chan struct{})
	p.Handle("deaf", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{Timeout: 20 * time.Millisecond})
	handler, seen := recorder()
	p.Handle("k", handler, workers.Kind{})
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	f.add("k", queue.Options{})
	f.run(p)
	began := time.Now()
	await(f, seen, "other job")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it waited for %s", took)
	}
	close(gate)
}

// A suspect comes while another job runs, and the queue is paused before that
// has ended.
func TestSuspectWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	f.addArgs("suspect", "a-suspect", queue.Options{})
	_, _, die := f.abandoned("mortal", 1)
	p := f.pool(workers.Config{Concurrency: 2, Lease: time.Minute})
	begun, gate, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
	p.Handle("long", func(context.Context, *queue.Job) error {
		begun <- struct{}{}
		<-gate
		ended.Store(true)
		return nil
	}, workers.Kind{})
	ran := make(chan bool, 10)
	p.Handle("suspect", func(context.Context, *queue.Job) error { ran <- ended.Load(); return nil }, workers.Kind{})
	f.add("long", queue.Options{})
	f.run(p)
	end := sync.OnceFunc(func() { close(gate) })
	defer end()
	await(f, begun, "long job")
	delivery := proxy.HoldReply("eval", "a-suspect")
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	await(f, delivery.Held(), "fetch of the suspect")
	delivery.Release()
	f.must(f.queue.Pause(f.ctx))
	for depth := (queue.Depth{}); depth.Waiting.Total() == 0; { // until it is handed back
		if len(ran) > 0 {
			t.Fatal("it ran beside another job")
		}
		depth, err = f.queue.Depth(f.ctx)
		f.must(err)
	}
	end()
	f.awaitDepth(1, 0)
	f.must(f.queue.Resume(f.ctx))
	if alone := await(f, ran, "suspect"); !alone {
		t.Error("it ran beside another job")
	}
}

func TestJobsFetchedWithASuspectAreHandedBackBeforeItRuns(t *testing.T) {
	t.Parallel()
	f, proxy := newProxiedFixture(t, rdb.Options{})
	f.add("suspect", queue.Options{})
	_, _, die := f.abandoned("mortal", 1)
	die()
	_, err := f.queue.Recover(f.ctx, 0, false)
	f.must(err)
	f.addArgs("other", "beside-it", queue.Options{})
	p := f.pool(workers.Config{Concurrency: 4, Lease: time.Minute})
	suspect, suspects := recorder()
	p.Handle("suspect", suspect, workers.Kind{})
	other, others := recorder()
	p.Handle("other", other, workers.Kind{})
	first, second := proxy.HoldReply("eval", "beside-it"), proxy.HoldReply("eval", "beside-it")
	f.run(p)
	await(f, first.Held(), "first delivery")
	first.Release()
	await(f, suspects, "suspect")
	select {
	case <-second.Held():
		second.Release()
	case <-others:
		t.Fatal("the job beside the suspect stayed with this worker and was run from its buffer")
	case <-time.After(patience):
		t.Fatal("no second delivery")
	}
	await(f, others, "job beside the suspect")
}

func TestJobsBehindASuspectGoToAnIdleWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("suspect", queue.Options{})
	_, _, die := f.abandoned("mortal", 1)
	die()
	if _, err := f.queue.Recover(f.ctx, 0, false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.add("other", queue.Options{})
	}
	p := f.pool(workers.Config{Concurrency: 4})
	gate, begun := make(chan bool), make(chan bool, 1)
	p.Handle("suspect", func(context.Context, *queue.Job) error { begun <- true; <-gate; return nil }, workers.Kind{})
	p.Handle("other", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
	stop := f.run(p)
	await(f, begun, "suspect")
	start := time.Now()
	idle := f.pool(workers.Config{Concurrency: 4})
	done := make(chan bool, 10)
	idle.Handle("other", func(context.Context, *queue.Job) error { done <- true; return nil }, workers.Kind{})
	f.run(idle)
	for i := range 3 {
		select {
		case <-done:
		case <-time.After(4 * time.Second):
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

func TestJobThatEndedAnAttemptIsNoSuspectAnyMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("k", queue.Options{})
	_, _, die := f.abandoned("mortal", 1)
	die()
	p := f.pool(workers.Config{Concurrency: 4})
	seen := make(chan int, 10)
	n := 0
	p.Handle("k", func(_ context.Context, j *queue.Job) error {
		seen <- j.SharedCrashes
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
