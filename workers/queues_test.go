package workers_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestQueuesOfAPatternAreServedWhenTheyAppear(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.add("k", queue.Options{Queue: "tenant-1"})
		f.add("k", queue.Options{Queue: "other"})
		p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "tenant-*"}}})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		f.run(p)
		for _, name := range []string{"tenant-1", "tenant-2", "tenant-3"} {
			if name != "tenant-1" {
				f.add("k", queue.Options{Queue: name})
			}
			if got := await(f, seen, "job of "+name).Queue; got != name {
				f.Errorf("served %s, want %s", got, name)
			}
		}
	})
}

// The queue is forgotten for the time when it is idle, which the test does not wait for.
func TestPoolOfAPatternLeavesAForgottenQueueUntilItIsUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "tenant-*"}, {Name: "q"}}})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.run(p)
	for _, name := range []string{"tenant-1", "q"} {
		f.add("k", queue.Options{Queue: name})
		await(f, seen, "job")
	}
	var forgotten []string
	for len(forgotten) == 0 { // the pool closes its lease
		f.must(f.db.ZAdd(f.ctx, f.db.Prefix()+":{queues}:used", redis.Z{Score: 1, Member: "tenant-1"}).Err())
		names, err := f.client.ForgetQueues(f.ctx, time.Millisecond, 10)
		f.must(err)
		forgotten = slices.DeleteFunc(names, func(name string) bool { return name != "tenant-1" })
	}
	f.add("k", queue.Options{Queue: "tenant-2"}) // makes the pool look at the list
	await(f, seen, "job of another queue")
	for p.Serves("tenant-1") {
		f.must(f.ctx.Err())
	}
	if !p.Serves("q") || !p.Serves("tenant-2") {
		t.Error("the pool has left a queue that it serves by name, or one that is listed")
	}
	if n, err := f.db.Exists(f.ctx, f.db.Prefix()+":{tenant-1:0}:meta").Result(); err != nil || n > 0 {
		t.Errorf("the forgotten queue has keys again: %d, %v", n, err)
	}
	var err error
	f.client, err = queue.NewClient(handle.New(f.db), nil) // the first one need not list the queue again so soon
	f.must(err)
	f.add("k", queue.Options{Queue: "tenant-1"})
	if got := await(f, seen, "job of the queue that is used again").Queue; got != "tenant-1" {
		t.Errorf("served %s", got)
	}
}

func TestQueueOfAPatternWhoseNameIsLostIsListedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "tenant-*"}}})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.run(p)
	f.add("k", queue.Options{Queue: "tenant-1"})
	await(f, seen, "job")
	f.must(f.db.Del(f.ctx, f.db.Prefix()+":{queues}").Err())
	f.add("k", queue.Options{Queue: "tenant-2"})
	for names := []string(nil); !slices.Contains(names, "tenant-1"); {
		var err error
		names, err = f.client.Queues(f.ctx)
		f.must(err)
	}
	if !p.Serves("tenant-1") {
		t.Error("the pool has left the queue")
	}
}

// A failingCommand makes a command fail once, with an error that is not retried.
type failingCommand struct {
	name  string
	armed atomic.Bool
}

func (f *failingCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *failingCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *failingCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == f.name && f.armed.CompareAndSwap(true, false) {
			err := errors.New("ERR refused by the test")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func TestQueueThatAppearsWhileQueuesCannotBeListedIsServedSoon(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("k", queue.Options{Queue: "tenant-1"})
	p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "tenant-*"}}})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	listing := &failingCommand{name: "smembers"}
	f.poolDB.AddHook(listing)
	f.run(p)
	await(f, seen, "job of the first queue")
	listing.armed.Store(true)
	f.add("k", queue.Options{Queue: "tenant-2"})
	began := time.Now()
	await(f, seen, "job of the second queue")
	if took := time.Since(began); listing.armed.Load() || took > 10*time.Second {
		t.Errorf("it was served after %s", took)
	}
}

func TestQueuesChangeWhileThePoolRuns(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 1})
		running, gate := make(chan *queue.Job), make(chan struct{})
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { running <- job; <-gate; return nil }, workers.Kind{})
		first, left := f.add("k", queue.Options{}), f.add("k", queue.Options{})
		f.run(p)
		await(f, running, "job")
		f.must(p.SetQueues([]workers.Queue{{Name: "r"}, {Name: "tenant-*"}}))
		f.add("k", queue.Options{Queue: "r"})
		gate <- struct{}{}
		if job := await(f, running, "job of the new queue"); job.Queue != "r" {
			f.Errorf("a job of %s runs", job.Queue)
		}
		gate <- struct{}{}
		f.add("k", queue.Options{Queue: "tenant-1"})
		if job := await(f, running, "job of the new pattern"); job.Queue != "tenant-1" {
			f.Errorf("a job of %s runs", job.Queue)
		}
		gate <- struct{}{}
		if _, err := f.client.Get(f.ctx, first); !errors.Is(err, queue.ErrNoJob) {
			f.Errorf("the job that ran: %v", err)
		}
		if job := f.get(left); job.State != queue.Waiting {
			f.Errorf("the job that is served no more is %s", job.State)
		}
		f.must(p.SetQueues([]workers.Queue{{Name: "q"}}))
		if job := await(f, running, "job of the queue that is back"); job.ID != left {
			f.Errorf("%s runs", job.ID)
		}
		close(gate)
		if err := p.SetQueues([]workers.Queue{{Name: "no name"}}); !errors.Is(err, queue.ErrInvalid) {
			f.Errorf("a wrong name: %v", err)
		}
	})
}

func TestConcurrencyIsBoundedForThePoolAndEachQueue(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 5, Queues: []workers.Queue{{Name: "q", Concurrency: 2}, {Name: "r"}}})
		var all, limited atomic.Int64
		done := make(chan struct{}, 1000)
		full := make(chan struct{}, 1000)
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error {
			if n := all.Add(1); n > 5 {
				f.Errorf("%d handlers run at once", n)
			} else if n == 5 {
				full <- struct{}{}
			}
			if job.Queue == "q" {
				if n := limited.Add(1); n > 2 {
					f.Errorf("%d handlers of the limited queue run at once", n)
				}
				defer limited.Add(-1)
			}
			defer all.Add(-1)
			done <- struct{}{}
			return nil
		}, workers.Kind{})
		for range 60 {
			f.add("k", queue.Options{})
			f.add("k", queue.Options{Queue: "r"})
		}
		f.run(p)
		for range 120 {
			await(f, done, "end of a job")
		}
		info := f.info(p)
		for ; info == nil; info = f.info(p) { // the first heartbeat may fail
			f.must(f.ctx.Err())
		}
		if !slices.Equal(info.Limits, []int{2, 0}) {
			f.Errorf("the pool is described as %+v", info)
		}
	})
}

func TestAllSlotsOfThePoolAndTheQueueAreUsed(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 5, Queues: []workers.Queue{{Name: "q", Concurrency: 2}, {Name: "r"}}})
		running, gate := make(chan string, 20), make(chan struct{})
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { running <- job.Queue; <-gate; return nil }, workers.Kind{})
		for range 10 {
			f.add("k", queue.Options{})
			f.add("k", queue.Options{Queue: "r"})
		}
		f.run(p)
		got := map[string]int{}
		for range 5 {
			got[await(f, running, "running job")]++
		}
		if got["q"] != 2 || got["r"] != 3 {
			f.Errorf("run beside each other: %v, want 2 of q and 3 of r", got)
		}
		for range 5 {
			gate <- struct{}{}
			await(f, running, "next job")
		}
		close(gate)
	})
}

// The first jobs are quick, so that others are fetched ahead; then some take all
// slots for as long as they like.
func TestPoolThatTurnsSlowLeavesJobsToAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	fillQueue := func(kind string, n int) {
		for range n {
			f.add(kind, queue.Options{})
		}
	}
	fillQueue("quick", 400)
	fillQueue("slow", 4)
	fillQueue("quick", 200)
	gate := make(chan struct{})
	quick, slow := make(chan struct{}, 1000), make(chan struct{}, 10)
	start := func() {
		p := f.pool(workers.Config{Concurrency: 4})
		p.HandleRaw("quick", func(context.Context, *queue.Job) error { quick <- struct{}{}; return nil }, workers.Kind{})
		p.HandleRaw("slow", func(context.Context, *queue.Job) error { slow <- struct{}{}; <-gate; return nil }, workers.Kind{})
		f.run(p)
	}
	start()
	for range 4 {
		await(f, slow, "slow job")
	}
	start()
	for range 600 {
		await(f, quick, "quick job")
	}
	close(gate)
}

func TestPoolFiresTheSchedulesOfItsQueues(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		ran := make(chan *queue.Job, 100)
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { ran <- job; return nil }, workers.Kind{})
		f.run(p)
		f.add("k", queue.Options{})
		await(f, ran, "first job") // the pool is up and finds out of a schedule that comes later
		_, err := delayed.AddSchedule(f.ctx, f.client, queue.CronSchedule{Name: "beat", Expr: "@every 1s", Queue: "q", Kind: "k", Args: []byte(`{}`)})
		f.must(err)
		seen := map[string]bool{}
		for range 2 {
			job := await(f, ran, "job of the schedule")
			if job.Headers[queue.HeaderSchedule] != "beat" || seen[job.Headers[queue.HeaderDue]] {
				f.Errorf("got %+v", job.Headers)
			}
			seen[job.Headers[queue.HeaderDue]] = true
		}
		f.must(f.queue.RemoveSchedule(f.ctx, "beat", ""))
	})
}
