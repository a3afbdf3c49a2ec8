package workers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// recorder returns a handler and the channel to which it sends its jobs.
func recorder() (workers.Handler, <-chan *queue.Job) {
	seen := make(chan *queue.Job, 10000)
	return func(_ context.Context, job *queue.Job) error { seen <- job; return nil }, seen
}

func TestOneSlotRunsJobsInOrder(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		back := f.add("returned", queue.Options{})
		jobs, lease, _ := f.abandoned("gives-back", 1)
		_, err := lease.Finish(f.ctx, []queue.Completion{{Job: jobs[0], Disposition: queue.AttemptReturned}})
		f.must(err)
		due := f.add("due", queue.Options{Delay: time.Hour})
		f.must(f.client.Retry(f.ctx, due))
		want := []string{"", back, due}
		for i := range 20 {
			want = append(want, f.add(fmt.Sprint("fresh-", i), queue.Options{}))
		}
		want = append(want, f.add("low", queue.Options{Priority: queue.Low}))
		want[0] = f.add("high", queue.Options{Priority: queue.High})

		p := f.pool(workers.Config{Concurrency: 1})
		handler, seen := recorder()
		for _, id := range want {
			p.HandleRaw(f.get(id).Kind, handler, workers.Kind{})
		}
		f.run(p)
		var got []string
		for range want {
			got = append(got, await(f, seen, "job").ID)
		}
		if !slices.Equal(got, want) {
			f.Errorf("ran %v, want %v", got, want)
		}
	})
}

func TestStrictPoolPrefersTheFirstQueueThatHasJobs(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 1, Strict: true, Queues: []workers.Queue{{Name: "q"}, {Name: "z"}, {Name: "a"}}})
		gate, running := make(chan struct{}), make(chan string)
		p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { running <- job.Queue; <-gate; return nil }, workers.Kind{})
		for range 3 {
			f.add("k", queue.Options{Queue: "a"})
		}
		f.run(p)
		var got []string
		next := func() { got = append(got, await(f, running, "job")) }
		next()
		f.add("k", queue.Options{Queue: "z"})
		gate <- struct{}{}
		next()
		f.add("k", queue.Options{Queue: "q"})
		f.add("k", queue.Options{Queue: "z"})
		for range 4 {
			gate <- struct{}{}
			next()
		}
		close(gate)
		if want := []string{"a", "z", "q", "z", "a", "a"}; !slices.Equal(got, want) {
			f.Errorf("the queues were served as %v, want %v", got, want)
		}
	})
}

func TestWeightsAreTheSharesOfQueuesThatHaveJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ concurrency, jobs, within int }{
		"one slot":              {1, 100, 2},
		"many slots, ahead too": {16, 3000, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, redistest.DB(t))
			for _, name := range []string{"a", "b", "c"} {
				inserts := make([]queue.NewJob, c.jobs)
				for i := range inserts {
					inserts[i] = queue.NewJob{Args: queue.Raw("k", nil), Options: queue.Options{Queue: name}}
				}
				for inserts := range slices.Chunk(inserts, 500) {
					for _, result := range f.client.EnqueueMany(f.ctx, inserts) {
						f.must(result.Err)
					}
				}
			}
			p := f.pool(workers.Config{Concurrency: c.concurrency, Queues: []workers.Queue{{Name: "a", Weight: 6}, {Name: "b", Weight: 3}, {Name: "c"}}})
			handler, seen := recorder()
			p.HandleRaw("k", handler, workers.Kind{})
			f.run(p)
			got := map[string]int{}
			for range c.jobs {
				got[await(f, seen, "job").Queue]++
			}
			for name, share := range map[string]int{"a": 6, "b": 3, "c": 1} {
				if want := c.jobs * share / 10; got[name] < want-c.within || got[name] > want+c.within {
					t.Errorf("of the first %d jobs %d were of %s, want about %d: %v", c.jobs, got[name], name, want, got)
				}
			}
		})
	}
}

func TestQueueThatWasEmptyIsServedBesideABusyOne(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Concurrency: 1, Queues: []workers.Queue{{Name: "q", Weight: 100}, {Name: "r1"}, {Name: "r2"}, {Name: "r3"}}})
		others := make(chan string, 10)
		p.HandleRaw("again", func(ctx context.Context, job *queue.Job) error {
			_, err := f.client.Enqueue(ctx, queue.Raw("again", nil), &queue.Options{Queue: "q"})
			return err
		}, workers.Kind{})
		p.HandleRaw("other", func(_ context.Context, job *queue.Job) error { others <- job.Queue; return nil }, workers.Kind{})
		for range 20 {
			f.add("again", queue.Options{})
		}
		f.run(p)
		for i := range 6 {
			name := fmt.Sprint("r", i%3+1)
			f.add("other", queue.Options{Queue: name})
			if got := await(f, others, "job of the other queue"); got != name {
				f.Errorf("served %s, want %s", got, name)
			}
		}
	})
}
