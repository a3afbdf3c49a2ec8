package workerstest

import (
	"context"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// Config of a [Worker]. The zero value is ready to use.
type Config struct {
	Client queue.Config

	// Pool is as in production, but jobs run one at a time, and where Queues
	// is empty all queues are served. Queues are strict: the first that has a
	// job goes first.
	Pool workers.Config
}

// A Worker runs the jobs of an embedded Redis of its own when the test says so,
// by a clock that the test controls. Where something is wrong with Redis or an
// argument it ends the test. Its methods are called by the goroutine of the
// test; the clients may be used by any.
type Worker struct {
	// Client is for the code under test. What is added through it is noted
	// for [Worker.Enqueued].
	Client *queue.Client

	// Pool takes the handlers. It must not be Run: [Worker.Drain] runs jobs.
	Pool *workers.Pool

	// DB is the embedded Redis, for what else the code under test needs.
	DB *rdb.DB

	t      testing.TB
	served []workers.Queue
	grace  time.Duration
	leases map[string]*queue.Lease // by queue

	mu       sync.Mutex
	ahead    time.Duration // of the clock before the real one
	now      time.Time     // where the clock stands
	enqueued []*queue.Job
}

// New returns a worker that ends with the test. A nil config means the defaults.
// Its Pool needs handlers before jobs are run.
func New(t testing.TB, options *Config) *Worker {
	t.Helper()
	var config Config
	if options != nil {
		config = *options
	}
	w := &Worker{t: t, served: config.Pool.Queues, grace: config.Pool.Grace, leases: map[string]*queue.Lease{}}
	if w.grace == 0 {
		w.grace = workers.DefaultGrace
	}
	var err error
	if w.DB, err = rdb.Open(context.Background(), "embedded:", rdb.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.DB.Close() })
	// Innermost, to note what the other middleware lets through; outermost, to
	// be the first that a job's attempt meets.
	config.Client.Middleware = slices.Concat(config.Client.Middleware, []queue.Middleware{w.note})
	config.Pool.Middleware = slices.Concat([]workers.Middleware{w.enter}, config.Pool.Middleware)
	if w.Client, err = queue.NewClient(w.DB, &config.Client); err != nil {
		t.Fatal(err)
	}
	if err := config.Pool.Validate(); err != nil {
		t.Fatal(err)
	}
	w.Pool = workers.NewPool(w.Client, &config.Pool)
	w.tick()
	return w
}

// queues gives the queues to serve, in order.
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
	for _, how := range served {
		for _, name := range names {
			// A name without a pattern matches itself.
			if matches, _ := path.Match(how.Name, name); !matches {
				continue
			}
			q, err := w.Client.ForPool(name)
			if err != nil {
				w.t.Fatal(err)
			}
			if !slices.Contains(queues, q) {
				queues = append(queues, q)
			}
		}
	}
	return queues
}

// lease gives the worker's lease of a queue. It never ends: nobody else is
// there to have the jobs.
func (w *Worker) lease(q *queue.PoolQueue) *queue.Lease {
	w.t.Helper()
	if lease := w.leases[q.Name()]; lease != nil {
		return lease
	}
	lease, err := q.OpenLease(context.Background(), w.Pool.Name(), never, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.leases[q.Name()] = lease
	return lease
}

const never = 100 * 365 * 24 * time.Hour

// MostDrained is the most jobs that one [Worker.Drain] runs.
const MostDrained = 1000

// Drain runs jobs one after the other, in the order in which a pool would start
// them, until none waits, and says what became of each. Jobs that handlers add
// meanwhile are run too; those that are not due stay. After [MostDrained] jobs it
// ends the test, since handlers that give each other work never end.
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
		if ran == MostDrained {
			break
		}
		outcomes = append(outcomes, w.run(lease, &attempt{job: job}))
	}
	w.t.Fatalf("%d jobs were run and there are more: does one add or snooze itself for ever? The last: %s", MostDrained, outcomes[len(outcomes)-1])
	return nil
}

// next takes the next job, or none.
func (w *Worker) next() (*queue.Lease, *queue.Job) {
	w.t.Helper()
	for _, q := range w.queues() {
		lease := w.lease(q)
		for malformed := true; malformed; {
			fetched, err := lease.Fetch(context.Background(), 1, 1)
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

// run makes an attempt at a job that is held under a lease, and writes what
// became of it.
func (w *Worker) run(lease *queue.Lease, a *attempt) Outcome {
	w.t.Helper()
	ending, err := w.attempt(a)
	outcome := Outcome{Completion: ending, Err: err}
	ctx := context.Background()
	if outcome.Log, err = w.Client.Log(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if outcome.Progress, err = w.Client.Progress(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if _, err = lease.Finish(ctx, []queue.Completion{ending}); err != nil {
		w.t.Fatal(err)
	}
	return outcome
}
