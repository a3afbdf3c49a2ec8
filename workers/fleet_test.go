package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// thorough asks for the long form of the chaos tests (`make chaos`).
var thorough = os.Getenv("SKIDWAY_CHAOS") != ""

// chaosPatience is for how long anything may take that is to happen.
const chaosPatience = 2 * time.Minute

// A fleet is some worker processes, the queues that they serve, and all that is
// known of the jobs in them.
type fleet struct {
	t      *testing.T
	ctx    context.Context
	db     *rdb.DB // the test's own
	client *queue.Client
	plan   workerPlan
	queues []*queue.Queue
	random *rand.Rand

	log     *runLog
	workers []*workerProcess
	jobs    map[string]string // id → kind
}

// newFleet makes a fleet without workers. The plan is that of all of them.
func newFleet(t *testing.T, db *rdb.DB, plan workerPlan) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), chaosPatience)
	t.Cleanup(cancel)
	client, err := queue.New(db, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Queues == nil {
		plan.Queues = []string{queue.DefaultQueue}
	}
	plan.Prefix = db.Prefix()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fleet{
		t: t, ctx: ctx, db: db, client: client, plan: plan,
		random: rand.New(rand.NewPCG(seed, 0)), log: newRunLog(db), jobs: map[string]string{},
	}
	for _, name := range plan.Queues {
		q, err := client.Queue(name)
		if err != nil {
			t.Fatal(err)
		}
		f.queues = append(f.queues, q)
	}
	return f
}

// newServerFleet is newFleet on the shared server.
func newServerFleet(t *testing.T, plan workerPlan) *fleet {
	t.Helper()
	plan.URL = redistest.URL(t)
	return newFleet(t, redistest.Open(t, plan.URL), plan)
}

// start starts one more worker; change may change its plan.
func (f *fleet) start(change ...func(*workerPlan)) *workerProcess {
	f.t.Helper()
	plan := f.plan
	plan.Name = fmt.Sprintf("w%d", len(f.workers)+1)
	for _, c := range change {
		c(&plan)
	}
	p := startWorker(f.t, plan)
	f.workers = append(f.workers, p)
	return p
}

// enqueue adds jobs of a kind, spread over the queues, and gives their ids.
func (f *fleet) enqueue(n int, kind string, options queue.Options) (ids []string) {
	f.t.Helper()
	inserts := make([]queue.Insert, n)
	for i := range inserts {
		options.Queue = f.queues[i%len(f.queues)].Name()
		inserts[i] = queue.Insert{Args: queue.Raw(kind, fmt.Appendf(nil, "%d", i)), Options: options}
	}
	for _, result := range f.client.EnqueueMany(f.ctx, inserts) {
		if result.Err != nil {
			f.t.Fatal(result.Err)
		}
		f.jobs[result.ID] = kind
		ids = append(ids, result.ID)
	}
	return ids
}

// mixed adds jobs that take all ways through the books.
func (f *fleet) mixed(n int) {
	f.t.Helper()
	f.enqueue(n, "plain", queue.Options{})
	f.enqueue(n, "fails-once", queue.Options{Priority: queue.High})
	f.enqueue(n, "snoozes-once", queue.Options{Priority: queue.Low, Retain: time.Hour})
	f.enqueue(n, "plain", queue.Options{Delay: 100 * time.Millisecond})
}

// untilRun waits until so many jobs have run.
func (f *fleet) untilRun(jobs int) {
	f.t.Helper()
	f.log.until(f.t, f.ctx, func() bool { return len(f.log.jobs) >= jobs })
}

// untilSettled waits until no job is waiting, delayed or active.
func (f *fleet) untilSettled() {
	f.t.Helper()
	if err := f.settle(f.ctx); err != nil {
		f.t.Fatalf("%v\n%s", err, f.describe())
	}
}

// settle waits for the end of all jobs that there are.
func (f *fleet) settle(ctx context.Context) error {
	for _, q := range f.queues {
		for {
			// The lists are of different moments, and a job may slip from one
			// into another. The depth is of one.
			depth, err := q.Depth(ctx)
			if err != nil {
				return err
			}
			if depth.Waiting.Total()+depth.Active.Total()+depth.Delayed == 0 {
				break
			}
			for _, state := range []queue.State{queue.Waiting, queue.Active, queue.Delayed} {
				if err := f.untilEnded(ctx, q, state); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// untilEnded waits for the end of the first jobs of a state.
func (f *fleet) untilEnded(ctx context.Context, q *queue.Queue, state queue.State) error {
	page, err := q.List(ctx, state, queue.ListOptions{})
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		if _, err := f.client.Wait(ctx, job.ID); err != nil && !errors.Is(err, queue.ErrNoJob) {
			return fmt.Errorf("job %s (%s, was %s) has not ended: %w", job.ID, job.Kind, state, err)
		}
	}
	return nil
}

// describe says what a person wants to know where jobs are stuck. It ends all
// workers.
func (f *fleet) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var text strings.Builder
	for _, q := range f.queues {
		depth, err := q.Depth(ctx)
		fmt.Fprintf(&text, "queue %s: %+v (%v)\n", q.Name(), depth, err)
		infos, err := q.Workers(ctx)
		for _, info := range infos {
			fmt.Fprintf(&text, "worker %s dead=%t lease=%s held=%d alone=%s\n", info.Name, info.Dead, info.Lease, info.Held, info.Alone)
		}
		if err != nil {
			fmt.Fprintf(&text, "no workers: %v\n", err)
		}
	}
	for _, p := range f.workers {
		p.kill()
		fmt.Fprintf(&text, "log of %s:\n%s\n", p.plan.Name, p.stderr.String())
	}
	return text.String()
}

// live gives the workers that run.
func (f *fleet) live() (live []*workerProcess) {
	for _, p := range f.workers {
		if p.running() {
			live = append(live, p)
		}
	}
	return live
}

// killOne kills one of the workers that run.
func (f *fleet) killOne() {
	live := f.live()
	live[f.random.IntN(len(live))].kill()
}

// stop ends all workers, as a deploy does.
func (f *fleet) stop() {
	for _, p := range f.live() {
		p.stop()
	}
	for _, p := range f.workers {
		p.check(f.t)
	}
	f.log.rest(f.t)
}

// strikes waits for a worker to be struck by its own signal, or for all jobs to
// be done, and reports whether it was struck.
func (f *fleet) strikes(p *workerProcess) bool {
	f.t.Helper()
	struck, settled := make(chan bool, 1), make(chan error, 1)
	go func() {
		_, heard := p.hears("now")
		struck <- heard
	}()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	go func() { settled <- f.settle(ctx) }()
	select {
	case heard := <-struck:
		return heard
	case err := <-settled:
		if err != nil {
			f.t.Fatalf("%v\n%s", err, f.describe())
		}
		return false
	}
}
