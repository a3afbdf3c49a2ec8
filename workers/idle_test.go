package workers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/stats"
)

// commands is how many commands a server of the test's own has carried out, those
// inside scripts included.
func (f *fixture) commands() (n int) {
	info, err := f.db.Info(f.ctx, "stats").Result()
	f.must(err)
	_, rest, _ := strings.Cut(info, "total_commands_processed:")
	_, err = fmt.Sscan(rest, &n)
	f.must(err)
	return n
}

// The commands of a heartbeat's script are among them, those of statistics are not: some 80 a
// minute for each queue that the pool samples.
func TestIdlePoolCostsTwoCommandsASecond(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t).URL(0)))
	p := f.pool(workers.Config{Lease: queue.DefaultLease, Stats: stats.Off})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.add("k", queue.Options{})
	f.run(p)
	await(f, seen, "job")
	for holders := 1; holders > 0; { // the pool closes its lease
		infos, err := f.queue.Workers(f.ctx)
		f.must(err)
		holders = len(infos)
	}
	f.wantCommands(2)
}

func TestPoolThatHoldsAllTheRetriesThatItMayCostsFewCommands(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t).URL(0)))
	f.addRetries("slow", 20, queue.Options{})
	p := f.pool(workers.Config{Concurrency: 4, Lease: queue.DefaultLease, Drain: time.Millisecond, Stats: stats.Off})
	started := make(chan struct{}, 20)
	p.HandleRaw("slow", func(ctx context.Context, _ *queue.Job) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, workers.Kind{})
	f.run(p)
	for range 3 {
		await(f, started, "retry")
	}
	f.wantCommands(10)
}

// wantCommands checks that a pool with nothing to do sends at most so many commands a
// second. The measure is one of time: nothing happens that could be waited for.
func (f *fixture) wantCommands(atMost float64) {
	f.Helper()
	<-time.After(2 * time.Second)
	const span = 8 * time.Second
	before := f.commands()
	<-time.After(span)
	rate := float64(f.commands()-before-1) / span.Seconds()
	f.Logf("%.1f commands a second", rate)
	if rate > atMost {
		f.Errorf("the pool sends %.1f commands a second, want at most %.0f", rate, atMost)
	}
}

func TestOneJobWakesFiftyIdleWorkersAtABoundedCost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	const idle = 50
	ran := make(chan struct{}, 1)
	for range idle {
		other := newFixture(t, redistest.Open(t, server.URL(0)))
		p := other.pool(workers.Config{Lease: time.Minute})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { ran <- struct{}{}; return nil }, workers.Kind{})
		other.run(p)
	}
	blocked := func(n int) {
		for got := 0; got < n; {
			info, err := f.db.Info(f.ctx, "clients").Result()
			f.must(err)
			_, rest, _ := strings.Cut(info, "blocked_clients:")
			_, err = fmt.Sscan(rest, &got)
			f.must(err)
		}
	}
	blocked(idle)                 // each waits for jobs and signals
	<-time.After(3 * time.Second) // first waits are short
	before := f.commands()
	began := time.Now()
	f.add("k", queue.Options{})
	await(f, ran, "job")
	took := time.Since(began)
	<-time.After(200 * time.Millisecond)
	cost := f.commands() - before
	t.Logf("one job: %d commands, started after %s", cost, took)
	if cost > 40*idle {
		t.Errorf("one job cost %d commands with %d idle workers", cost, idle)
	}
}
