package workers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/stats"

	"syscall"
)

// totals returns the statistics of a queue, and its counters.
func totals(ctx context.Context, t testing.TB, client *queue.Client, name string) (stats.Counts, queue.Counts) {
	t.Helper()
	series, err := stats.Read(ctx, client, name, stats.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var all stats.Counts
	for _, counts := range series.Kinds() {
		all.Add(counts)
	}
	q, err := client.Queue(name)
	if err != nil {
		t.Fatal(err)
	}
	counters, _, err := q.Counters(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all, counters
}

func TestStatisticsOfAPoolThatStoppedAreThoseOfTheCounters(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		hooks, reports := ended()
		p := f.pool(workers.Config{Hooks: hooks})
		p.HandleRaw("good", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		p.HandleRaw("bad", func(context.Context, *queue.Job) error { return errBroken }, workers.Kind{
			MaxAttempts: 2, Backoff: func(*queue.Job, error) time.Duration { return time.Millisecond },
		})
		p.HandleRaw("none", func(context.Context, *queue.Job) error { return workers.Discard("nothing to do") }, workers.Kind{})
		for range 5 {
			f.add("good", queue.Options{})
			f.add("bad", queue.Options{})
			f.add("none", queue.Options{})
		}
		stop := f.run(p)
		for range 20 {
			await(f, reports, "report")
		}
		stop()
		got, want := totals(f.ctx, f, f.client, "q")
		if got.Done != 5 || got.Done != want.Succeeded || got.Failed != 10 || got.Failed != want.Failed || got.Dead != 5 || got.Dead != want.Dead || got.Discarded != 5 {
			f.Errorf("statistics %+v, counters %+v", got, want)
		}
		if got.Wait.Count() != 20 || got.Run.Count() != 20 {
			f.Errorf("%d times in line and %d of attempts, want 20 of each", got.Wait.Count(), got.Run.Count())
		}
		groups, err := stats.Errors(f.ctx, f.client, "q", 10)
		f.must(err)
		if len(groups) != 1 || groups[0].Kind != "bad" || groups[0].Failed != 10 || groups[0].Dead != 5 || groups[0].Error != errBroken.Error() {
			f.Errorf("groups of errors: %+v", groups)
		}
		if job := f.get(groups[0].Job); job.State != queue.Dead {
			f.Errorf("the sample is %s", job.State)
		}
	})
}

func TestStatisticsAreNotCountedTwiceWhenWorkersAreKilledDuringFlushes(t *testing.T) {
	t.Parallel()
	backends := map[string]func(t *testing.T) (*rdb.DB, string){
		"redis":   func(t *testing.T) (*rdb.DB, string) { url := redistest.URL(t); return redistest.Open(t, url), url },
		"cluster": func(t *testing.T) (*rdb.DB, string) { return redistest.ClusterDB(t), redistest.Cluster(t) },
	}
	for name, backend := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, url := backend(t)
			f := newProcesses(t, db, workerPlan{
				URL: url, Concurrency: 4, Lease: 500 * time.Millisecond, FlushEvery: 3 * time.Millisecond, Queues: []string{"a", "b", "c"},
			})
			f.mixed(60)
			for range 3 {
				at := 30 + f.random.IntN(150)
				victim := f.start(func(plan *workerPlan) {
					plan.Signal = processtest.CommandSignal{At: at, After: at%2 == 0, Signal: syscall.SIGKILL}
				})
				if f.strikes(victim) {
					<-victim.Ended()
				}
			}
			f.start()
			f.untilSettled()
			f.stop()
			var got stats.Counts
			var want queue.Counts
			for _, q := range f.queues {
				counted, counters := totals(f.ctx, t, f.client, q.Name())
				if counted.Done > counters.Succeeded || counted.Failed > counters.Failed || counted.Dead > counters.Dead {
					t.Errorf("queue %s: statistics %+v, counters %+v", q.Name(), counted, counters)
				}
				got.Add(&counted)
				want.Succeeded += counters.Succeeded
			}
			if got.Done < want.Succeeded/2 {
				t.Errorf("statistics have %d of %d jobs", got.Done, want.Succeeded)
			}
			t.Logf("statistics have %d of %d jobs", got.Done, want.Succeeded)
		})
	}
}

func TestStatisticsOfEndsThatRedisHasLostAreNotCountedAgain(t *testing.T) {
	t.Parallel()
	f, save, restore := newRestored(t)
	p := f.pool(workers.Config{Concurrency: 4, Lease: 5 * time.Second})
	begun, gate := make(chan struct{}, 10), make(chan struct{})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; return nil }, workers.Kind{})
	for range 4 {
		f.add("k", queue.Options{})
	}
	stop := f.run(p)
	for range 4 {
		await(f, begun, "start")
	}
	save()
	close(gate)
	f.awaitDepth(0, 0)
	restore()
	f.awaitDepth(0, 0)
	stop()
	got, want := totals(f.ctx, f, f.client, "q")
	if got.Done != 4 || want.Succeeded != 4 {
		t.Errorf("statistics have %d, the counters %d", got.Done, want.Succeeded)
	}
}

func TestStatisticsOfAWrongModeAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	if err := f.pool(workers.Config{Stats: "all"}).Run(f.ctx); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("run: %v", err)
	}
}

func TestPoolReportsWhatRunsOnlyWhileItIsWatched(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 2})
		started, gate := make(chan string, 10), make(chan struct{})
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { started <- job.ID; <-gate; return nil }, workers.Kind{})
		for range 3 {
			f.add("k", queue.Options{})
		}
		stop, release := f.run(p), sync.OnceFunc(func() { close(gate) })
		f.Cleanup(release) // before the pool is stopped
		running := map[string]bool{await(f, started, "start"): true, await(f, started, "start"): true}
		if reports, err := stats.Reports(f.ctx, f.client, "q"); err != nil || len(reports) > 0 {
			f.Errorf("nothing is watched, and there are %+v, %v", reports, err)
		}
		var reports []stats.PoolReport
		for len(reports) == 0 {
			f.must(f.db.Del(f.ctx, f.key("watched")).Err()) // the pool may miss signals before it reads them
			f.must(stats.Watch(f.ctx, f.client, "q"))
			var err error
			reports, err = stats.Reports(f.ctx, f.client, "q")
			f.must(err)
		}
		report := reports[0]
		if len(reports) != 1 || report.Pool != p.Name() || len(report.Jobs) != 2 || report.More != 0 {
			f.Fatalf("reported is %+v", reports)
		}
		for _, job := range report.Jobs {
			if !running[job.ID] || job.Kind != "k" || job.Attempt != 1 || job.For > patience {
				f.Errorf("%+v is reported, %v run", job, running)
			}
		}
		release()
		stop()
		if rows, err := f.db.HKeys(f.ctx, f.key("running")).Result(); err != nil || len(rows) > 0 {
			f.Errorf("the pool has ended, and there are reports of %v: %v", rows, err)
		}
	})
}

func TestQueueThatIsWatchedIsReportedWithoutTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	queues := manyQueues(10)
	f.run(f.pool(workers.Config{Queues: queues}))
	key := func(name, key string) string { return f.db.Prefix() + ":{" + name + ":0}:" + key }
	reported := func(name string) bool {
		reports, err := stats.Reports(f.ctx, f.client, name)
		f.must(err)
		return len(reports) > 0
	}
	began := time.Now()
	for i, q := range queues {
		for !reported(q.Name) {
			f.must(f.db.Del(f.ctx, key(q.Name, "watched")).Err()) // the pool may miss signals before it reads them
			f.must(stats.Watch(f.ctx, f.client, q.Name))
		}
		for _, before := range queues[:i] {
			if reported(before.Name) && time.Since(began) < stats.ReportEvery {
				f.Fatalf("%s is reported again because %s is watched", before.Name, q.Name)
			}
		}
		f.must(f.db.Del(f.ctx, key(q.Name, "running")).Err())
	}
}
