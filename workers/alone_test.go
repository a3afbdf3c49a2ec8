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
	everywhere(t, func(s *shop) {
		want := map[string]bool{}
		for range 5 {
			want[s.add("k", queue.Options{})] = true
		}
		_, _, die := s.abandoned("mortal", 5)
		p := s.pool(workers.Config{})
		handler, seen := recorder()
		p.Handle("k", handler, workers.Kind{})
		s.run(p)
		die()
		for range 5 {
			job := await(s, seen, "recovered job")
			if !want[job.ID] || job.Attempts != 0 {
				s.Errorf("ran %+v", job)
			}
			delete(want, job.ID)
		}
	})
}

func TestSuspectsRunWithNoOtherJobBesideThem(t *testing.T) {
	everywhere(t, func(s *shop) {
		for range 3 {
			s.add("suspect", queue.Options{})
		}
		_, _, die := s.abandoned("mortal", 3)
		for range 50 {
			s.add("other", queue.Options{})
		}
		p := s.pool(workers.Config{Concurrency: 4})
		var all, suspects atomic.Int64
		done := make(chan struct{}, 100)
		p.Handle("suspect", func(ctx context.Context, job *queue.Job) error {
			suspects.Add(1)
			defer suspects.Add(-1)
			for range 100 {
				if n := all.Load(); n > 0 {
					s.Errorf("a suspect runs beside %d others", n)
				}
				runtime.Gosched()
			}
			all, err := s.queue.Workers(ctx)
			if err != nil || len(all) != 1 || all[0].Alone != job.ID {
				s.Errorf("the workers are %+v, %v", all, err)
			}
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		p.Handle("other", func(context.Context, *queue.Job) error {
			all.Add(1)
			defer all.Add(-1)
			if suspects.Load() > 0 {
				s.Error("another job runs beside a suspect")
			}
			runtime.Gosched()
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		die()
		stop := s.run(p)
		for range 53 {
			await(s, done, "end of a job")
		}
		for { // the mark is taken away a little later
			all, err := s.queue.Workers(s.ctx)
			s.must(err)
			if len(all) == 1 && all[0].Alone == "" {
				break
			}
		}
		stop()
	})
}

func TestSuspectDoesNotWaitForLongJobsForEver(t *testing.T) {
	everywhere(t, func(s *shop) {
		suspect := s.add("suspect", queue.Options{})
		_, _, die := s.abandoned("mortal", 1)
		for name, concurrency := range map[string]int{"a free slot": 2, "no free slot": 1} {
			s.add("long", queue.Options{})
			p := s.pool(workers.Config{Concurrency: concurrency})
			p.HurrySuspects(50*time.Millisecond, time.Minute)
			begun, gate := make(chan struct{}), make(chan struct{})
			p.Handle("long", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
			seen := make(chan string)
			p.Handle("suspect", func(ctx context.Context, job *queue.Job) error {
				all, err := s.queue.Workers(ctx)
				s.must(err)
				seen <- all[0].Alone
				return nil
			}, workers.Kind{})
			stop := s.run(p)
			await(s, begun, "long job")
			die()
			if concurrency == 1 {
				close(gate) // it is fetched only now
				if alone := await(s, seen, "suspect"); alone != suspect {
					s.Errorf("%s: alone runs %q", name, alone)
				}
			} else {
				if alone := await(s, seen, "suspect"); alone != "" {
					s.Errorf("%s: a suspect beside a long job is said to run alone", name)
				}
				close(gate)
			}
			stop()
			suspect = s.add("suspect", queue.Options{})
			_, _, die = s.abandoned("mortal-too", 1)
		}
	})
}

func TestOthersRunBesideASuspectOnceItsWindowIsOver(t *testing.T) {
	everywhere(t, func(s *shop) {
		s.add("suspect", queue.Options{})
		_, _, die := s.abandoned("mortal", 1)
		die()
		s.add("other", queue.Options{})
		p := s.pool(workers.Config{Concurrency: 2})
		p.HurrySuspects(time.Minute, 100*time.Millisecond)
		gate := make(chan struct{})
		p.Handle("suspect", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{})
		handler, seen := recorder()
		p.Handle("other", handler, workers.Kind{})
		_, err := s.queue.Recover(s.ctx, 0, false)
		s.must(err)
		s.run(p)
		await(s, seen, "other job")
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
	everywhere(t, func(s *shop) {
		id := s.add("poison", queue.Options{})
		for _, worker := range []string{"first", "second", "third"} {
			jobs, lease, die := s.abandoned(worker, 1)
			if worker != "first" { // then it is no suspect yet
				s.must(lease.Alone(s.ctx, jobs[0]))
			}
			die()
			if worker != "third" {
				_, err := s.queue.Recover(s.ctx, 2, false)
				s.must(err)
			}
		}
		p := s.pool(workers.Config{Crashes: 2})
		p.Handle("poison", func(context.Context, *queue.Job) error { s.Error("it was run again"); return nil }, workers.Kind{})
		s.run(p)
		job, err := s.client.Wait(s.ctx, id)
		s.must(err)
		if job.State != queue.Dead || !strings.Contains(job.Reason, "died 2 times") {
			s.Errorf("it ended as %+v", job)
		}
	})
}

func TestSuspectLeftBehindDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.DB(t))
	s.add("deaf", queue.Options{})
	_, _, die := s.abandoned("mortal", 1)
	die()
	p := s.pool(workers.Config{Concurrency: 2, Grace: 20 * time.Millisecond})
	gate := make(chan struct{})
	p.Handle("deaf", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{Timeout: 20 * time.Millisecond})
	handler, seen := recorder()
	p.Handle("k", handler, workers.Kind{})
	_, err := s.queue.Recover(s.ctx, 0, false)
	s.must(err)
	s.add("k", queue.Options{})
	s.run(p)
	began := time.Now()
	await(s, seen, "other job")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it waited for %s", took)
	}
	close(gate)
}

// A suspect comes while another job runs, and the queue is paused before that
// has ended.
func TestSuspectWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	s, proxy := openProxied(t, rdb.Options{})
	s.addArgs("suspect", "a-suspect", queue.Options{})
	_, _, die := s.abandoned("mortal", 1)
	p := s.pool(workers.Config{Concurrency: 2, Lease: time.Minute})
	begun, gate, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
	p.Handle("long", func(context.Context, *queue.Job) error {
		begun <- struct{}{}
		<-gate
		ended.Store(true)
		return nil
	}, workers.Kind{})
	ran := make(chan bool, 10)
	p.Handle("suspect", func(context.Context, *queue.Job) error { ran <- ended.Load(); return nil }, workers.Kind{})
	s.add("long", queue.Options{})
	s.run(p)
	end := sync.OnceFunc(func() { close(gate) })
	defer end()
	await(s, begun, "long job")
	delivery := proxy.HoldReply("eval", "a-suspect")
	die()
	_, err := s.queue.Recover(s.ctx, 0, false)
	s.must(err)
	await(s, delivery.Held(), "fetch of the suspect")
	delivery.Release()
	s.must(s.queue.Pause(s.ctx))
	for depth := (queue.Depth{}); depth.Waiting.Total() == 0; { // until it is handed back
		if len(ran) > 0 {
			t.Fatal("it ran beside another job")
		}
		depth, err = s.queue.Depth(s.ctx)
		s.must(err)
	}
	end()
	s.awaitDepth(1, 0)
	s.must(s.queue.Resume(s.ctx))
	if alone := await(s, ran, "suspect"); !alone {
		t.Error("it ran beside another job")
	}
}

func TestJobsFetchedWithASuspectAreHandedBackBeforeItRuns(t *testing.T) {
	t.Parallel()
	s, proxy := openProxied(t, rdb.Options{})
	s.add("suspect", queue.Options{})
	_, _, die := s.abandoned("mortal", 1)
	die()
	_, err := s.queue.Recover(s.ctx, 0, false)
	s.must(err)
	s.addArgs("other", "beside-it", queue.Options{})
	p := s.pool(workers.Config{Concurrency: 4, Lease: time.Minute})
	suspect, suspects := recorder()
	p.Handle("suspect", suspect, workers.Kind{})
	other, others := recorder()
	p.Handle("other", other, workers.Kind{})
	first, second := proxy.HoldReply("eval", "beside-it"), proxy.HoldReply("eval", "beside-it")
	s.run(p)
	await(s, first.Held(), "first delivery")
	first.Release()
	await(s, suspects, "suspect")
	select {
	case <-second.Held():
		second.Release()
	case <-others:
		t.Fatal("the job beside the suspect stayed with this worker and was run from its buffer")
	case <-time.After(patience):
		t.Fatal("no second delivery")
	}
	await(s, others, "job beside the suspect")
}
