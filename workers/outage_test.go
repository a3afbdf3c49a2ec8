package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestOutcomesAreWrittenWhenRedisIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Survives...)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	p := f.pool(workers.Config{Concurrency: 4, Lease: 10 * time.Second})
	begun, gate, done := make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)
	p.HandleRaw("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; done <- struct{}{}; return nil }, workers.Kind{})
	var ids []string
	for range 10 {
		ids = append(ids, f.add("k", queue.Options{Retain: time.Hour}))
	}
	f.run(p)
	for range 4 {
		await(f, begun, "start")
	}
	server.Kill()
	for range 4 {
		gate <- struct{}{}
		await(f, done, "end")
	}
	f.must(server.Restart())
	close(gate)
	for _, id := range ids {
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.Outcome != queue.Succeeded || job.Attempts != 0 {
			t.Errorf("it ended as %+v", job)
		}
	}
	if n := len(begun); n != 6 {
		t.Errorf("%d jobs were started after the outage, want 6", n)
	}
}

func TestStopWhileRedisIsAwayEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	p := f.pool(workers.Config{Drain: 50 * time.Millisecond})
	handler, begun, causes := waiter()
	p.HandleRaw("k", handler, workers.Kind{})
	f.add("k", queue.Options{})
	stop := f.run(p)
	await(f, begun, "start")
	server.Kill()
	began := time.Now()
	stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if cause := await(f, causes, "end"); !errors.Is(cause, workers.ErrShutdown) && !errors.Is(cause, queue.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
}

func TestLostLeaseEndsRunningJobsAndThePoolOpensAnother(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		begun, causes := make(chan *queue.Job), make(chan error, 1)
		p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
			begun <- job
			if job.Quarantines > 0 {
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return workers.Dead(errBroken) // its lease is lost
		}, workers.Kind{})
		id := f.add("k", queue.Options{Retain: time.Hour})
		f.run(p)
		first := await(f, begun, "start")
		f.declareDead(first.Worker)
		if cause := await(f, causes, "end"); !errors.Is(cause, queue.ErrLeaseLost) {
			f.Errorf("the cause is %v", cause)
		}
		second := await(f, begun, "second start")
		if second.ID != id || second.Worker == first.Worker {
			f.Errorf("second: %+v", second)
		}
		job, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if job.Outcome != queue.Succeeded || job.Attempts != 0 {
			f.Errorf("it ended as %+v", job)
		}
		total, _, err := f.queue.Counters(f.ctx, 0)
		f.must(err)
		if c := total; c.Succeeded != 1 || c.Dead != 0 || c.LostLeases != 1 {
			f.Errorf("the counters are %+v", c)
		}
	})
}

// Each end of a job wakes the fetcher, which then waits anew.
func TestBlockedConnectionsStayFewWhileJobsEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t).URL(0)))
	p := f.pool(workers.Config{Concurrency: 50})
	begun, gate, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.HandleRaw("k", func(context.Context, *queue.Job) error { begun <- struct{}{}; <-gate; done <- struct{}{}; return nil }, workers.Kind{})
	for range 45 {
		f.add("k", queue.Options{})
	}
	f.run(p)
	for range 45 {
		await(f, begun, "start")
	}
	for range 45 {
		gate <- struct{}{}
		await(f, done, "end")
		info, err := f.db.Info(f.ctx, "clients").Result()
		f.must(err)
		var blocked int
		_, rest, _ := strings.Cut(info, "blocked_clients:")
		if _, err := fmt.Sscan(rest, &blocked); err != nil || blocked > 8 {
			t.Fatalf("%d blocked connections, %v", blocked, err)
		}
	}
}

func TestLostReplyToAnyCommandOfAProducerIsReportedByItsType(t *testing.T) {
	t.Parallel()
	for n, lost := 1, true; lost; n++ {
		t.Run(fmt.Sprintf("command %d", n), func(t *testing.T) {
			url := redistest.URL(t)
			proxy := redistest.StartProxy(t, url)
			client, err := queue.NewClient(handle.New(redistest.Open(t, proxy.URL)), nil)
			if err != nil {
				t.Fatal(err)
			}
			proxy.DropReply(n)
			accepted, unknown := produce(t, client)
			lost = proxy.Commands() >= n

			there := everything(t, redistest.Open(t, url))
			for args, count := range there {
				if count > 1 {
					t.Errorf("job %s was added %d times", args, count)
				}
				if !accepted[args] && !unknown[args] {
					t.Errorf("job %s exists, and its producer got an error", args)
				}
			}
			for args := range accepted {
				if there[args] == 0 {
					t.Errorf("job %s was accepted and is not there", args)
				}
			}
			if !lost && len(unknown) > 0 {
				t.Errorf("no reply was lost, and the outcome of %v is unknown", unknown)
			}
		})
		if t.Failed() {
			break
		}
	}
}

// produce adds jobs in all ways and returns the args of those that were accepted
// and of those that may have been.
func produce(t *testing.T, client *queue.Client) (accepted, unknown map[string]bool) {
	t.Helper()
	accepted, unknown = map[string]bool{}, map[string]bool{}
	note := func(args string, err error) {
		var lost *rdb.OutcomeUnknownError
		switch {
		case err == nil:
			accepted[args] = true
		case errors.As(err, &lost):
			unknown[args] = true
		case errors.Is(err, queue.ErrNotSent): // and must not be there
		default:
			t.Errorf("job %s: %v", args, err)
		}
	}
	for i, options := range []queue.Options{{}, {Priority: queue.High, Unique: queue.Unique{Key: "k"}}, {Delay: time.Hour}} {
		args := fmt.Sprintf("one-%d", i)
		_, err := client.Enqueue(t.Context(), queue.Raw("plain", []byte(args)), &options)
		note(args, err)
	}
	for name, many := range map[string]queue.NewJob{"new": {}, "delayed": {Options: queue.Options{Delay: time.Hour}}} {
		inserts := slices.Repeat([]queue.NewJob{many}, 600) // several chunks
		for i := range inserts {
			inserts[i].Args = queue.Raw("plain", fmt.Appendf(nil, "%s-%d", name, i))
		}
		for i, result := range client.EnqueueMany(t.Context(), inserts) {
			note(fmt.Sprintf("%s-%d", name, i), result.Err)
		}
	}
	return accepted, unknown
}

// everything counts the jobs of the default queue by their args.
func everything(t *testing.T, db *rdb.DB) map[string]int {
	t.Helper()
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, state := range []queue.State{queue.Waiting, queue.Delayed} {
		page, err := q.List(t.Context(), state, &queue.ListOptions{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			there[string(job.Args)]++
		}
	}
	return there
}

func TestLostReplyToAnyCommandOfAPoolLosesAndRepeatsNoJob(t *testing.T) {
	t.Parallel()
	commands := runThroughProxy(t, 0)
	t.Logf("a pool sends %d commands", commands)
	for n := 1; n <= commands; n++ {
		t.Run(fmt.Sprintf("command %d", n), func(t *testing.T) {
			t.Parallel()
			runThroughProxy(t, n)
		})
	}
}

// runThroughProxy runs jobs of all sorts, some of them left by a dead worker, in
// a pool to which the reply to its nth command gets lost, and returns how many
// commands it has sent.
func runThroughProxy(t *testing.T, n int) int {
	t.Helper()
	f := newServerProcesses(t, workerPlan{})
	f.abandon(3)
	f.mixed(3)
	proxy := redistest.StartProxy(t, f.plan.URL)
	db := redistest.Open(t, proxy.URL)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := workers.NewPool(client, &workers.Config{Concurrency: 4, Logger: slog.New(slog.DiscardHandler)})
	addChaosKinds(pool, f.db, "pool")
	lost := proxy.DropReply(n)
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(context.Background()) }()
	err = f.settle(f.ctx)
	if err != nil {
		t.Errorf("%v\n%s", err, f.describe())
	}
	if err := pool.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case command := <-lost:
		t.Logf("lost the reply to %s", command)
	default:
	}
	f.ledger.rest(t)
	f.check(outcome{})
	return proxy.Commands()
}

// abandon leaves n jobs in the hands of a worker that is dead.
func (f *processes) abandon(n int) {
	f.t.Helper()
	f.enqueue(n, "plain", queue.Options{})
	lease, err := f.queues[0].NewLease("abandoned", time.Hour)
	if err != nil {
		f.t.Fatal(err)
	}
	if fetched, err := lease.Fetch(f.ctx, queue.FetchLimits{Jobs: n, Bytes: 1 << 20}); err != nil || len(fetched.Jobs) != n {
		f.t.Fatalf("fetched %d jobs: %v", len(fetched.Jobs), err)
	}
	f.expire(f.queues[0], "abandoned")
}

func TestRedisKilledTwiceInTheMiddleLosesAndRepeatsNoJob(t *testing.T) {
	t.Parallel()
	jobs := 2_000
	if thorough {
		jobs = 50_000
	}
	server := redistest.Start(t, redistest.Survives...)
	url := server.URL(0)
	// The lease outlasts the outage: no worker dies, so no job runs twice.
	f := newProcesses(t, redistest.Open(t, url), workerPlan{URL: url, Concurrency: 16, Lease: 10 * time.Second})
	f.enqueue(jobs, "plain", queue.Options{})
	f.enqueue(jobs/10, "fails-once", queue.Options{})
	for range 3 {
		f.start()
	}
	for part := range 2 {
		f.untilRun((part + 1) * jobs / 3)
		server.Kill()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	f.untilRun(len(f.jobs))
	f.untilSettled()
	f.stop()
	f.check(outcome{})
}
