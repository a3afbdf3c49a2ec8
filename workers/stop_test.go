package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestPauseHandsBackWhatWasFetchedAheadAndResumeWakesAtOnce(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 2})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.Handle("long", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{})
		for range 50 {
			s.add("k", queue.Options{})
		}
		for range 2 {
			s.add("long", queue.Options{})
		}
		for range 50 {
			s.add("k", queue.Options{})
		}
		s.run(p)
		for range 2 {
			await(s, begun, "long job")
		}
		s.must(s.queue.Pause(s.ctx))
		s.awaitDepth(50, 2)
		close(gate)
		s.awaitDepth(50, 0)
		if len(seen) != 50 {
			s.Errorf("%d jobs ran before the pause", len(seen))
		}
		began := time.Now()
		s.must(s.queue.Resume(s.ctx))
		for range 100 {
			await(s, seen, "job")
		}
		if took := time.Since(began); took > 5*time.Second {
			s.Errorf("it took %s", took)
		}
	})
}

func TestQuietAndStopComeFromAnotherProcess(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Drain: patience})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.Handle("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
		s.add("k", queue.Options{})
		ended := make(chan error, 1)
		go func() { ended <- p.Run(s.ctx) }()
		await(s, begun, "job")
		state := func(want string) {
			s.Helper()
			for {
				all, err := s.queue.Workers(s.ctx)
				s.must(err)
				var about workers.About
				s.must(json.Unmarshal(all[0].About, &about))
				if about.State == want {
					return
				}
			}
		}
		state("running")
		s.must(s.queue.Signal(s.ctx, queue.Signal{Do: queue.SignalStop, Worker: "another"}))
		s.must(s.queue.Signal(s.ctx, queue.Signal{Do: queue.SignalQuiet, Worker: p.Name()}))
		state("quiet")
		left := s.add("k", queue.Options{})
		s.must(s.queue.Signal(s.ctx, queue.Signal{Do: queue.SignalStop}))
		state("stopping")
		close(gate)
		s.must(await(s, ended, "end of Run"))
		if job := s.get(left); job.State != queue.Waiting {
			s.Errorf("a job that came when it was quiet is %s", job.State)
		}
		if all, err := s.queue.Workers(s.ctx); len(all) > 0 || err != nil {
			s.Errorf("left behind: %+v, %v", all, err)
		}
	})
}

func TestStopBeforeRunAndTwiceAndASecondRun(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Open(t, "embedded:"))
	id := s.add("k", queue.Options{})
	p := s.pool(workers.Config{})
	p.Handle("k", func(context.Context, *queue.Job) error { t.Error("it was run"); return nil }, workers.Kind{})
	for range 2 {
		s.must(p.Stop(s.ctx))
	}
	s.must(p.Run(s.ctx))
	if err := p.Run(s.ctx); !errors.Is(err, workers.ErrStarted) {
		t.Errorf("a second run: %v", err)
	}
	s.must(p.Stop(s.ctx))
	if job := s.get(id); job.State != queue.Waiting {
		t.Errorf("the job is %s", job.State)
	}

	again := s.pool(workers.Config{})
	again.Handle("k", func(ctx context.Context, _ *queue.Job) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := again.Stop(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("stop from a handler: %v", err)
		}
		return nil
	}, workers.Kind{})
	s.must(again.Run(s.ctx))
}

func TestDrainLetsRunningJobsEnd(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Drain: patience})
		begun, gate := make(chan struct{}), make(chan struct{})
		p.Handle("k", func(ctx context.Context, _ *queue.Job) error { begun <- struct{}{}; <-gate; return ctx.Err() }, workers.Kind{})
		id := s.add("k", queue.Options{Retain: time.Hour})
		ctx, cancel := context.WithCancel(s.ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		await(s, begun, "job")
		cancel()
		left := s.add("k", queue.Options{})
		close(gate)
		s.must(await(s, ended, "end of Run"))
		if job := s.get(id); job.Outcome != queue.Succeeded {
			s.Errorf("it ended as %+v", job)
		}
		if job := s.get(left); job.State != queue.Waiting {
			s.Errorf("a job that came later is %s", job.State)
		}
	})
}

func TestAfterTheDrainJobsGoToTheFrontWithNoAttemptUsed(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{Concurrency: 2, Drain: 50 * time.Millisecond, Grace: 50 * time.Millisecond})
		handler, begun, causes := waiter()
		gate, deaf := make(chan struct{}), make(chan struct{})
		p.Handle("k", handler, workers.Kind{})
		p.Handle("deaf", func(context.Context, *queue.Job) error { deaf <- struct{}{}; <-gate; return nil }, workers.Kind{})
		first, second, third := s.add("k", queue.Options{}), s.add("deaf", queue.Options{}), s.add("k", queue.Options{})
		ctx, cancel := context.WithCancel(s.ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		await(s, begun, "first job")
		await(s, deaf, "second job")
		cancel()
		if cause := await(s, causes, "end"); !errors.Is(cause, workers.ErrShutdown) {
			s.Errorf("the cause is %v", cause)
		}
		s.must(await(s, ended, "end of Run"))
		close(gate)

		next := s.pool(workers.Config{Concurrency: 1})
		record, seen := recorder()
		next.Handle("k", record, workers.Kind{})
		next.Handle("deaf", record, workers.Kind{})
		s.run(next)
		for _, want := range []string{first, second, third} {
			if job := await(s, seen, "job"); job.ID != want || job.Attempts != 0 || job.Suspected != 0 {
				s.Errorf("got %+v, want %s", job, want)
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
		s := open(t, db)
		p := s.pool(workers.Config{Queues: []workers.Queue{{Name: "q"}, {Name: "t-*"}}})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{})
		stop := s.run(p)
		for range 20 {
			s.add("k", queue.Options{})
			s.add("k", queue.Options{Queue: "t-1"})
		}
		for range 40 {
			await(s, seen, "job")
		}
		stop()
		s.must(db.Close())
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
