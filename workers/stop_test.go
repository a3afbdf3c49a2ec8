package workers_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestPauseHandsBackPrefetchedJobsAndResumeWakesAtOnce(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 2})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.HandleRaw("long", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		for range 50 {
			f.add("k", queue.Options{})
		}
		for range 2 {
			f.add("long", queue.Options{})
		}
		for range 50 {
			f.add("k", queue.Options{})
		}
		f.run(p)
		for range 2 {
			await(f, begun, "long job")
		}
		f.must(f.queue.Pause(f.ctx, "", ""))
		f.awaitDepth(50, 2)
		close(gate)
		f.awaitDepth(50, 0)
		if len(seen) != 50 {
			f.Errorf("%d jobs ran before the pause", len(seen))
		}
		began := time.Now()
		f.must(f.queue.Resume(f.ctx))
		for range 100 {
			await(f, seen, "job")
		}
		// On a busy machine a fetch may fail, and the queue rests. A resumption that is not heard of is
		// found by the fetch after the longest wait.
		if took := time.Since(began); took > workers.MaxIdle*4/5 {
			f.Errorf("it took %s", took)
		}
	})
}

func TestQuietAndStopComeFromAnotherProcess(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Drain: patience})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
		f.add("k", queue.Options{})
		ended := make(chan error, 1)
		go func() { ended <- p.Run(f.ctx) }()
		await(f, begun, "job")
		state := func(want string) {
			f.Helper()
			for info := f.info(p); info == nil || info.State != want; info = f.info(p) {
				f.must(f.ctx.Err())
			}
		}
		state("running")
		f.must(f.queue.Signal(f.ctx, queue.Signal{Kind: queue.SignalStop, Worker: "another"}))
		f.must(f.queue.Signal(f.ctx, queue.Signal{Kind: queue.SignalQuiet, Worker: p.Name()}))
		state("quiet")
		left := f.add("k", queue.Options{})
		f.must(f.queue.Signal(f.ctx, queue.Signal{Kind: queue.SignalStop}))
		state("stopping")
		close(gate)
		f.must(await(f, ended, "end of Run"))
		if job := f.get(left); job.State != queue.Waiting {
			f.Errorf("a job that came when it was quiet is %s", job.State)
		}
		if all, err := f.queue.Workers(f.ctx); len(all) > 0 || err != nil {
			f.Errorf("left behind: %+v, %v", all, err)
		}
		if info := f.info(p); info != nil {
			f.Errorf("a pool that has stopped is listed: %+v", info)
		}
	})
}

func TestPoolWhoseContextHasEndedIsShownAsStopping(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"))
	p := f.pool(workers.Config{Drain: patience})
	begun, gate := make(chan struct{}), make(chan struct{})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { close(begun); <-gate; return nil }, workers.Kind{})
	f.add("k", queue.Options{})
	ctx, end := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	await(f, begun, "job")
	end()
	for info := f.info(p); info == nil || info.State != "stopping"; info = f.info(p) {
		f.must(f.ctx.Err())
	}
	close(gate)
	f.must(await(f, ended, "end of Run"))
}

func TestStopBeforeRunAndTwiceAndASecondRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"))
	id := f.add("k", queue.Options{})
	p := f.pool(workers.Config{})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { t.Error("it was run"); return nil }, workers.Kind{})
	for range 2 {
		f.must(p.Stop(f.ctx))
	}
	f.must(p.Run(f.ctx))
	if err := p.Run(f.ctx); !errors.Is(err, workers.ErrStarted) {
		t.Errorf("a second run: %v", err)
	}
	f.must(p.Stop(f.ctx))
	if job := f.get(id); job.State != queue.Waiting {
		t.Errorf("the job is %s", job.State)
	}

	again := f.pool(workers.Config{})
	again.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := again.Stop(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("stop from a handler: %v", err)
		}
		return nil
	}, workers.Kind{})
	f.must(again.Run(f.ctx))
}

func TestDrainLetsRunningJobsEnd(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Drain: patience})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.HandleRaw("k", func(ctx context.Context, _ *queue.Job) error { begun <- struct{}{}; <-gate; return ctx.Err() }, workers.Kind{})
		id := f.add("k", queue.Options{Retain: time.Hour})
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		await(f, begun, "job")
		cancel()
		for !p.IsQuiet() { // else it may still take the next job
			f.must(f.ctx.Err())
			runtime.Gosched()
		}
		left := f.add("k", queue.Options{})
		close(gate)
		f.must(await(f, ended, "end of Run"))
		if job := f.get(id); job.Outcome != queue.Succeeded {
			f.Errorf("it ended as %+v", job)
		}
		if job := f.get(left); job.State != queue.Waiting {
			f.Errorf("a job that came later is %s", job.State)
		}
	})
}

func TestAfterTheDrainJobsGoToTheFrontWithNoAttemptUsed(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 2, Drain: 50 * time.Millisecond, Grace: 50 * time.Millisecond})
		handler, begun, causes := waiter()
		gate, stuck := make(chan struct{}), make(chan struct{})
		p.HandleRaw("k", handler, workers.Kind{})
		p.HandleRaw("stuck", func(context.Context, *queue.Job) error { stuck <- struct{}{}; <-gate; return nil }, workers.Kind{})
		first, second, third := f.add("k", queue.Options{}), f.add("stuck", queue.Options{}), f.add("k", queue.Options{})
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		await(f, begun, "first job")
		await(f, stuck, "second job")
		cancel()
		if cause := await(f, causes, "end"); !errors.Is(cause, workers.ErrShutdown) {
			f.Errorf("the cause is %v", cause)
		}
		f.must(await(f, ended, "end of Run"))
		close(gate)

		next := f.pool(workers.Config{Concurrency: 1})
		record, seen := recorder()
		next.HandleRaw("k", record, workers.Kind{})
		next.HandleRaw("stuck", record, workers.Kind{})
		f.run(next)
		for _, want := range []string{first, second, third} {
			if job := await(f, seen, "job"); job.ID != want || job.Attempts != 0 || job.Quarantines != 0 {
				f.Errorf("got %+v, want %s", job, want)
			}
		}
	})
}

// It runs beside no other test: they have goroutines too.
func TestNoGoroutineOutlivesRun(t *testing.T) {
	url := redistest.URL(t)
	before := runtime.NumGoroutine()
	for range 3 {
		db, err := rdb.Open(t.Context(), url, rdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, db)
		p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "q"}, {Name: "t-*"}}})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		stop := f.run(p)
		for range 20 {
			f.add("k", queue.Options{})
			f.add("k", queue.Options{Queue: "t-1"})
		}
		for range 40 {
			await(f, seen, "job")
		}
		stop()
		f.must(db.Close())
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
