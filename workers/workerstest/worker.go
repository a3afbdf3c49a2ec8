package workerstest

import (
	"context"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"skidway"
	"skidway/queue"
	"skidway/workers"
)

// Config configures a [Worker]. The zero value is ready to use.
type Config struct {
	Client queue.Config

	// Pool is the configuration of the pool, but jobs run one at a time, queues
	// are strict, and empty Queues mean all queues.
	Pool workers.Config
}

// A Worker runs the jobs of its own embedded Redis when the test calls it, with a clock
// that the test controls. It ends the test after an error of Redis and if an argument is
// not allowed. Only the goroutine of the test may call its methods; its Client is safe
// for concurrent use.
type Worker struct {
	// Client is for the code under test. [Worker.Enqueued] returns the jobs that
	// were added through it.
	Client *queue.Client

	// Pool has the handlers. It must not be Run: [Worker.Drain] runs jobs.
	Pool *workers.Pool

	// DB is the embedded Redis.
	DB *skidway.DB

	t      testing.TB
	served []workers.Queue
	grace  time.Duration
	leases map[string]*queue.Lease // by queue

	mu       sync.Mutex
	ahead    time.Duration // of the clock before the real one
	now      time.Time     // of the clock
	enqueued []*queue.Job
}

// New returns a worker that ends with the test. A nil config means the defaults.
// Its Pool needs handlers before jobs are run.
func New(t testing.TB, config *Config) *Worker {
	t.Helper()
	if config == nil {
		config = &Config{}
	}
	client, pool := config.Client, config.Pool
	w := &Worker{t: t, served: pool.Queues, grace: pool.Grace, leases: map[string]*queue.Lease{}}
	if w.grace == 0 {
		w.grace = workers.DefaultGrace
	}
	// record is innermost, after all other middleware; enter is outermost, before
	// all other middleware.
	client.Middleware = slices.Concat(client.Middleware, []queue.Middleware{w.record})
	pool.Middleware = slices.Concat([]workers.Middleware{w.enter}, pool.Middleware)
	var err error
	if w.Client, err = queue.Open(context.Background(), "embedded:", &client); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Client.Close() })
	w.DB = w.Client.DB()
	if err := pool.Validate(); err != nil {
		t.Fatal(err)
	}
	w.Pool = workers.NewPool(w.Client, &pool)
	w.tick()
	return w
}

// queues returns the queues to serve, in order.
func (w *Worker) queues() []*queue.PoolQueue {
	w.t.Helper()
	names, err := w.Client.Queues(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	served := w.served
	if len(served) == 0 {
		served = []workers.Queue{{Name: "*"}}
	}
	var queues []*queue.PoolQueue
	taken := map[string]bool{}
	for _, config := range served {
		for _, name := range names {
			// A name without a pattern matches itself.
			if matches, _ := path.Match(config.Name, name); !matches || taken[name] {
				continue
			}
			q, err := w.Client.ForPool(name)
			if err != nil {
				w.t.Fatal(err)
			}
			taken[name] = true
			queues = append(queues, q)
		}
	}
	return queues
}

// lease returns the worker's lease of a queue, which does not expire.
func (w *Worker) lease(q *queue.PoolQueue) *queue.Lease {
	w.t.Helper()
	if lease := w.leases[q.Name()]; lease != nil {
		return lease
	}
	lease, err := q.NewLease(w.Pool.Name(), never)
	if err != nil {
		w.t.Fatal(err)
	}
	w.leases[q.Name()] = lease
	return lease
}

const never = 100 * 365 * 24 * time.Hour

// MaxDrained is the maximal number of jobs that one [Worker.Drain] runs.
const MaxDrained = 1000

// Drain runs jobs one after another, in the order in which a pool would start them,
// until none is waiting, and returns their outcomes. It also runs jobs that handlers
// add; delayed jobs stay. After [MaxDrained] jobs it ends the test, because handlers that
// enqueue each other never end.
func (w *Worker) Drain() []Outcome {
	w.t.Helper()
	w.tick()
	var outcomes []Outcome
	for ran := 0; ; ran++ {
		w.moveDue()
		lease, job := w.next()
		if job == nil {
			return outcomes
		}
		if ran == MaxDrained {
			break
		}
		outcomes = append(outcomes, w.run(lease, &attempt{job: job}))
	}
	w.t.Fatalf("%d jobs were run and there are more: does one enqueue or snooze itself for ever? The last: %s", MaxDrained, outcomes[len(outcomes)-1])
	return nil
}

// next fetches the next job, nil if there is none.
func (w *Worker) next() (*queue.Lease, *queue.Job) {
	w.t.Helper()
	for _, q := range w.queues() {
		lease := w.lease(q)
		for malformed := true; malformed; {
			fetched, err := lease.Fetch(context.Background(), queue.FetchLimits{Jobs: 1, Bytes: 1, Quarantined: 1})
			if err != nil {
				w.t.Fatal(err)
			}
			if len(fetched.Jobs) > 0 {
				return lease, fetched.Jobs[0]
			}
			malformed = fetched.Malformed > 0
		}
	}
	return nil, nil
}

// run makes an attempt at a job that is held under a lease, and writes its outcome.
func (w *Worker) run(lease *queue.Lease, a *attempt) Outcome {
	w.t.Helper()
	completion, err := w.attempt(a)
	outcome := Outcome{Completion: completion, Err: err}
	ctx := context.Background()
	if outcome.Log, err = w.Client.Log(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if outcome.Progress, err = w.Client.Progress(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if _, err = lease.Finish(ctx, []queue.Completion{completion}); err != nil {
		w.t.Fatal(err)
	}
	return outcome
}
