package workers_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// addRetries adds jobs whose first attempt has failed, and which wait for the next one.
func (f *fixture) addRetries(kind string, n int, o queue.Options) {
	f.Helper()
	for range n {
		f.add(kind, o)
	}
	jobs, lease, _ := f.abandoned("fails", n)
	failed := make([]queue.Completion, n)
	for i, job := range jobs {
		failed[i] = queue.Completion{Job: job, Disposition: queue.AttemptRetry, Reason: "the server is away"}
	}
	_, err := lease.Finish(f.ctx, failed)
	f.must(err)
	_, err = lease.Close(f.ctx)
	f.must(err)
}

// The number of jobs that fail in the tests below, and the time within which another job
// must start beside them. It is less than what it waits if they hold all slots, and enough for a fetch
// that fails on a busy machine, after which the queue rests.
const (
	failingJobs = 100
	startWithin = 3 * workers.RestFor
)

// wantStart adds a job and checks that it starts in time. started receives it.
func (f *fixture) wantStart(kind string, started <-chan *queue.Job) {
	f.Helper()
	added := time.Now()
	f.add(kind, queue.Options{})
	await(f, started, "fresh job")
	if took := time.Since(added); took > startWithin {
		f.Errorf("a fresh job started after %s, want at most %s", took, startWithin)
	}
}

func TestFreshJobStartsBesideRetriesThatTimeOut(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.addRetries("slow", failingJobs, queue.Options{Timeout: patience})
		p := f.pool(workers.Config{Concurrency: 2, Drain: time.Millisecond})
		running := make(chan struct{}, failingJobs)
		p.HandleRaw("slow", func(ctx context.Context, _ *queue.Job) error {
			running <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}, workers.Kind{})
		handler, started := recorder()
		p.HandleRaw("fresh", handler, workers.Kind{})
		f.run(p)
		await(f, running, "retry")
		f.wantStart("fresh", started)
	})
}

func TestFreshJobStartsBesideRetriesThatFailAgain(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.addRetries("failing", failingJobs, queue.Options{})
		p := f.pool(workers.Config{Concurrency: 2})
		ran := make(chan struct{}, 10*failingJobs)
		p.HandleRaw("failing", func(ctx context.Context, _ *queue.Job) error {
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
			ran <- struct{}{}
			return errors.New("the server is away")
		}, workers.Kind{MaxAttempts: 1000, Backoff: func(*queue.Job, error) time.Duration { return 0 }})
		handler, started := recorder()
		p.HandleRaw("fresh", handler, workers.Kind{})
		f.run(p)
		await(f, ran, "retry")
		f.wantStart("fresh", started)
		await(f, ran, "retry")
	})
}

// A pool with one slot fetches one job at a time.
func TestRetriesProgressBesideABacklogOfFreshJobs(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		const retries, fresh = 3, 20
		f.addRetries("retry", retries, queue.Options{})
		for range fresh {
			f.add("fresh", queue.Options{})
		}
		handler, seen := recorder()
		p := f.pool(workers.Config{Concurrency: 1, Lease: patience}) // a late renewal would cost a fetch
		p.HandleRaw("retry", handler, workers.Kind{})
		p.HandleRaw("fresh", handler, workers.Kind{})
		f.run(p)
		var order []string
		for range retries + fresh {
			order = append(order, await(f, seen, "job").Kind)
		}
		// Each fourth fetch takes a retry first. A fetch that fails, on a busy machine, is one of the four.
		last := -1
		for n := range retries {
			next := last + 1 + slices.Index(order[last+1:], "retry")
			if next == last+1 || next >= 8*(n+1) {
				f.Errorf("the order is %v, want retry %d behind other jobs and before place %d", order, n+1, 8*(n+1))
			}
			last = next
		}
	})
}

func TestPoolOfRetriesAloneUsesAllSlotsButOne(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		f.addRetries("slow", 20, queue.Options{})
		p := f.pool(workers.Config{Concurrency: 4, Drain: time.Millisecond})
		handler, gate := make(chan *queue.Job, 20), make(chan struct{})
		p.HandleRaw("slow", func(ctx context.Context, job *queue.Job) error {
			handler <- job
			select {
			case <-ctx.Done():
			case <-gate:
			}
			return ctx.Err()
		}, workers.Kind{})
		fresh, started := recorder()
		p.HandleRaw("fresh", fresh, workers.Kind{})
		f.run(p)
		for range 3 {
			await(f, handler, "retry")
		}
		f.wantStart("fresh", started) // in the last slot
		f.awaitDepth(17, 3)
		for range 17 { // the others start when slots become free
			gate <- struct{}{}
			await(f, handler, "retry")
		}
	})
}
