package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestLostReplyToAnyCommandOfAProducerIsToldByItsType(t *testing.T) {
	t.Parallel()
	for n, lost := 1, true; lost; n++ {
		t.Run(fmt.Sprintf("command %d", n), func(t *testing.T) {
			url := redistest.URL(t)
			proxy := redistest.StartProxy(t, url)
			client, err := queue.New(redistest.Open(t, proxy.URL), queue.Config{})
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
					t.Errorf("job %s is there, and its producer was told that it is not", args)
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

// produce adds jobs in all ways and gives the args of those that were accepted
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
		_, err := client.Enqueue(t.Context(), queue.Raw("plain", []byte(args)), options)
		note(args, err)
	}
	inserts := make([]queue.Insert, 600) // two chunks
	for i := range inserts {
		inserts[i].Args = queue.Raw("plain", fmt.Appendf(nil, "many-%d", i))
	}
	for i, result := range client.EnqueueMany(t.Context(), inserts) {
		note(fmt.Sprintf("many-%d", i), result.Err)
	}
	return accepted, unknown
}

// everything counts the jobs of the default queue by their args.
func everything(t *testing.T, db *rdb.DB) map[string]int {
	t.Helper()
	client, err := queue.New(db, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.Queue("")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, state := range []queue.State{queue.Waiting, queue.Delayed} {
		page, err := q.List(t.Context(), state, queue.ListOptions{Limit: queue.MaxListLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			there[string(job.Args)]++
		}
	}
	return there
}

func TestLostReplyToAnyCommandOfAPoolSticksAndDoublesNoJob(t *testing.T) {
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
// a pool to which the reply to its nth command gets lost, and gives how many
// commands it has sent.
func runThroughProxy(t *testing.T, n int) int {
	t.Helper()
	f := newServerFleet(t, workerPlan{})
	f.abandon(3)
	f.mixed(3)
	proxy := redistest.StartProxy(t, f.plan.URL)
	db := redistest.Open(t, proxy.URL)
	client, err := queue.New(db, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := workers.New(db, client, workers.Config{Concurrency: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
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
	f.log.rest(t)
	f.check(outcome{})
	return proxy.Commands()
}

// abandon leaves n jobs in the hands of a worker that is dead.
func (f *fleet) abandon(n int) {
	f.t.Helper()
	f.enqueue(n, "plain", queue.Options{})
	lease, err := f.queues[0].Lease(f.ctx, "abandoned", time.Hour, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if fetched, err := lease.Fetch(f.ctx, n, 1<<20); err != nil || len(fetched.Jobs) != n {
		f.t.Fatalf("fetched %d jobs: %v", len(fetched.Jobs), err)
	}
	f.expire(f.queues[0], "abandoned")
}
