package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// thorough asks for the long form of the chaos tests (`make chaos`).
var thorough = redistest.LongForm > 0

// chaosPatience bounds a chaos test in its short form, and a test that has no other.
const chaosPatience = 2 * time.Minute

// thoroughPatience bounds a chaos test in its long form.
const thoroughPatience = 20 * time.Minute

// processes are the processes of workers, the queues that they serve, and the jobs
// that were enqueued.
type processes struct {
	t      *testing.T
	ctx    context.Context
	db     *rdb.DB // the test's own
	notes  *rdb.DB // of the ledger
	client *queue.Client
	plan   workerPlan
	queues []*queue.PoolQueue
	random *rand.Rand

	ledger  *ledger
	workers []*workerProcess
	jobs    map[string]string // id → kind
}

// newProcesses returns processes of which none is started. The plan is that of all of them.
func newProcesses(t *testing.T, db *rdb.DB, plan workerPlan) *processes {
	t.Helper()
	limit := chaosPatience
	if thorough {
		limit = thoroughPatience
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Queues == nil {
		plan.Queues = []string{queue.DefaultQueue}
	}
	plan.Prefix = db.Prefix()
	notes := db
	if plan.Notes == "" {
		plan.Notes = plan.URL
	} else {
		notes = redistest.Open(t, plan.Notes)
	}
	f := &processes{
		t: t, ctx: ctx, db: db, notes: notes, client: client, plan: plan,
		random: redistest.Random(t), ledger: newLedger(notes), jobs: map[string]string{},
	}
	for _, name := range plan.Queues {
		q, err := client.ForPool(name)
		if err != nil {
			t.Fatal(err)
		}
		f.queues = append(f.queues, q)
	}
	return f
}

// newServerProcesses is newProcesses on the shared server.
func newServerProcesses(t *testing.T, plan workerPlan) *processes {
	t.Helper()
	plan.URL = redistest.URL(t)
	return newProcesses(t, redistest.Open(t, plan.URL), plan)
}

// start starts one more worker; change may change its plan.
func (f *processes) start(change ...func(*workerPlan)) *workerProcess {
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

// enqueue adds jobs of a kind, spread over the queues, and returns their ids.
func (f *processes) enqueue(n int, kind string, options queue.Options) (ids []string) {
	f.t.Helper()
	inserts := make([]queue.NewJob, n)
	for i := range inserts {
		options.Queue = f.queues[i%len(f.queues)].Name()
		inserts[i] = queue.NewJob{Args: queue.Raw(kind, fmt.Appendf(nil, "%d", i)), Options: options}
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

// mixed adds jobs that take all ways through the counters.
func (f *processes) mixed(n int) {
	f.t.Helper()
	f.enqueue(n, "plain", queue.Options{})
	f.enqueue(n, "fails-once", queue.Options{Priority: queue.High})
	f.enqueue(n, "snoozes-once", queue.Options{Priority: queue.Low, Retain: time.Hour})
	f.enqueue(n, "plain", queue.Options{Delay: 100 * time.Millisecond})
}

// untilRun waits until so many jobs have run.
func (f *processes) untilRun(jobs int) {
	f.t.Helper()
	f.ledger.until(f.t, f.ctx, func() bool { return len(f.ledger.jobs) >= jobs })
}

// untilSettled waits until no job is waiting, delayed or active.
func (f *processes) untilSettled() {
	f.t.Helper()
	if err := f.settle(f.ctx); err != nil {
		f.t.Fatalf("%v\n%s", err, f.describe())
	}
}

// untilDepth waits until so many jobs of all queues are waiting or delayed, and active.
func (f *processes) untilDepth(waiting, active int) {
	f.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond) // Redis is to be left to the workers
	defer ticker.Stop()
	for left := (queue.Depth{Waiting: -1}); left.Waiting != waiting || left.Active != active; <-ticker.C {
		left = queue.Depth{}
		for _, q := range f.queues {
			depth, err := q.Depth(f.ctx)
			if err != nil {
				f.t.Fatalf("%v\n%s", err, f.describe())
			}
			left.Waiting, left.Active = left.Waiting+depth.Waiting+depth.Delayed, left.Active+depth.Active
		}
	}
}

// settle waits for the end of all jobs that there are.
func (f *processes) settle(ctx context.Context) error {
	for _, q := range f.queues {
		for {
			// The lists are of different moments, and a job may slip from one
			// into another. The depth is of one.
			depth, err := q.Depth(ctx)
			if err != nil {
				return err
			}
			if depth.Waiting+depth.Active+depth.Delayed == 0 {
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
func (f *processes) untilEnded(ctx context.Context, q *queue.PoolQueue, state queue.State) error {
	page, err := q.List(ctx, state, nil)
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

// describe returns a description of jobs that are stuck. It ends all
// workers.
func (f *processes) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var text strings.Builder
	for _, q := range f.queues {
		depth, err := q.Depth(ctx)
		fmt.Fprintf(&text, "queue %s: %+v (%v)\n", q.Name(), depth, err)
		infos, err := q.Workers(ctx)
		for _, info := range infos {
			fmt.Fprintf(&text, "worker %s dead=%t lease=%s held=%d alone=%s\n", info.Name, info.Dead, info.Lease, info.Held, info.Solo)
		}
		if err != nil {
			fmt.Fprintf(&text, "no workers: %v\n", err)
		}
	}
	for _, p := range f.workers {
		p.Kill()
		fmt.Fprintf(&text, "log of %s:\n%s\n", p.plan.Name, p.Output())
	}
	return text.String()
}

// live returns the workers that run.
func (f *processes) live() (live []*workerProcess) {
	for _, p := range f.workers {
		if p.Running() {
			live = append(live, p)
		}
	}
	return live
}

// killOne kills one of the workers that run.
func (f *processes) killOne() {
	live := f.live()
	live[f.random.IntN(len(live))].Kill()
}

// stop ends all workers, as a deploy does.
func (f *processes) stop() {
	for _, p := range f.live() {
		p.Stop()
	}
	for _, p := range f.workers {
		p.Check()
	}
	f.ledger.rest(f.t)
}

// strikes waits for a worker to be struck by its own signal, or for all jobs to
// be done, and reports whether it was struck.
func (f *processes) strikes(p *workerProcess) bool {
	f.t.Helper()
	struck, settled := make(chan bool, 1), make(chan error, 1)
	go func() {
		_, heard := p.Word(processtest.Struck)
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

// A workerPlan is the argument of a worker process.
type workerPlan struct {
	Name        string // starts the names of its leases
	URL, Prefix string
	Notes       string // URL of the Redis of the ledger; empty: URL
	Queues      []string
	Concurrency int
	Lease       time.Duration
	ScanEvery   time.Duration // zero: the default
	FlushEvery  time.Duration // of statistics, zero: the default
	GroupWait   time.Duration // for which a quarantined group keeps others waiting, zero: the default
	SoloWindow  time.Duration // of a job that was quarantined once, zero: the default

	Signal processtest.CommandSignal
}

// runWorker is the program of a worker process. It runs jobs until SIGTERM.
func runWorker() error {
	var plan workerPlan
	if err := json.Unmarshal([]byte(os.Args[1]), &plan); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var db *rdb.DB
	// A process manager would start the worker again if Redis is away.
	for backoff := (rdb.Backoff{}); db == nil; {
		var err error
		if db, err = rdb.Open(ctx, plan.URL, rdb.Options{Prefix: plan.Prefix}); err != nil && backoff.Sleep(ctx) != nil {
			return err
		}
	}
	notes, err := rdb.Open(ctx, plan.Notes, rdb.Options{Prefix: plan.Prefix})
	if err != nil {
		return err
	}
	hook := plan.Signal.Hook()
	db.AddHook(hook)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		return err
	}
	config := workers.Config{
		Concurrency: plan.Concurrency, Lease: plan.Lease, Name: plan.Name,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	}
	for _, name := range plan.Queues {
		config.Queues = append(config.Queues, workers.Queue{Name: name})
	}
	pool := workers.NewPool(client, &config)
	if plan.ScanEvery > 0 {
		pool.SetScanEvery(plan.ScanEvery)
	}
	if plan.FlushEvery > 0 {
		pool.SetFlushEvery(plan.FlushEvery)
	}
	if plan.GroupWait > 0 {
		pool.SetGroupWait(plan.GroupWait)
	}
	if plan.SoloWindow > 0 {
		pool.SetSoloTimes(workers.SoloWait, plan.SoloWindow)
	}
	addChaosKinds(pool, notes, plan.Name)
	fmt.Println("ready")
	err = pool.Run(ctx)
	fmt.Println("commands", hook.Commands())
	return err
}

// A workerProcess is a worker that runs, or did.
type workerProcess struct {
	*processtest.Process
	plan workerPlan
}

// startWorker starts a worker and waits until it is about to run jobs.
func startWorker(t testing.TB, plan workerPlan) *workerProcess {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	p := &workerProcess{processtest.Start(t, processtest.Command(t, string(text))), plan}
	t.Cleanup(func() {
		p.Kill()
		p.Check()
	})
	p.Word("ready")
	return p
}

var lostLease = regexp.MustCompile(`"lease lost[^\n]*"worker":"([^"]+)"`)

// lostLeases returns the leases that a process which has ended saw lost.
func (p *workerProcess) lostLeases() (leases []string) {
	for _, found := range lostLease.FindAllStringSubmatch(p.Output(), -1) {
		leases = append(leases, found[1])
	}
	return leases
}

func TestMain(m *testing.M) { processtest.Main(m, runWorker) }
