package workers_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// patience is how long a test waits for an event.
const patience = 20 * time.Second

// shortLease is the lease of pools in tests.
const shortLease = 300 * time.Millisecond

// A fixture is a client and one queue of it, "q".
type fixture struct {
	testing.TB
	ctx    context.Context
	db     *rdb.DB
	client *queue.Client
	queue  *queue.PoolQueue
	log    *slog.Logger
	kept   *keptLog

	poolDB     *rdb.DB // of pools, as poolClient
	poolClient *queue.Client
}

func newFixture(t testing.TB, db *rdb.DB) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("q")
	if err != nil {
		t.Fatal(err)
	}
	kept := &keptLog{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(kept.String())
		}
	})
	return &fixture{t, ctx, db, client, q, slog.New(slog.NewTextHandler(kept, nil)), kept, db, client}
}

// newProxiedFixture is newFixture with a proxy between the server and the client that pools
// use. The test's own commands do not pass the proxy.
func newProxiedFixture(t testing.TB, options rdb.Options) (*fixture, *redistest.Proxy) {
	t.Helper()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	f := newFixture(t, redistest.Open(t, url))
	db, err := rdb.Open(f.ctx, proxy.URL, options)
	f.must(err)
	t.Cleanup(func() { _ = db.Close() })
	f.poolDB = db
	f.poolClient, err = queue.NewClient(handle.New(db), nil)
	f.must(err)
	return f, proxy
}

// onAllBackends runs a test on all backends.
func onAllBackends(t *testing.T, test func(f *fixture)) {
	t.Parallel()
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) { test(newFixture(t, db)) })
}

// A keptLog keeps what pools have logged.
type keptLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (k *keptLog) Write(line []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(line)
}

func (k *keptLog) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// addArgs enqueues a job of a kind into the queue "q". args are found again in the
// replies that bring the job.
func (f *fixture) addArgs(kind, args string, o queue.Options) string {
	f.Helper()
	o.Queue = "q"
	id, err := f.client.Enqueue(f.ctx, queue.Raw(kind, []byte(args)), &o)
	f.must(err)
	return id
}

// declareDead ends a worker's lease as if it had been silent for too long.
func (f *fixture) declareDead(worker string) {
	f.Helper()
	for f.db.ZScore(f.ctx, f.key("leases"), worker).Err() == nil { // a heartbeat may come in between
		f.expire(worker)
		_, err := f.queue.Recover(f.ctx, 0, false)
		f.must(err)
	}
}

// leaseOf blocks until a pool has a lease of the queue "q" whose name is not in
// known, and returns its name.
func (f *fixture) leaseOf(p *workers.Pool, known ...string) string {
	f.Helper()
	for {
		infos, err := f.queue.Workers(f.ctx)
		f.must(err)
		for _, info := range infos {
			if !info.Dead && strings.HasPrefix(info.Name, p.Name()+".") && !slices.Contains(known, info.Name) {
				return info.Name
			}
		}
	}
}

// awaitDepth blocks until so many jobs of the queue "q" are waiting and active.
func (f *fixture) awaitDepth(waiting, active int) {
	f.Helper()
	for {
		depth, err := f.queue.Depth(f.ctx)
		f.must(err)
		if depth.Waiting == waiting && depth.Active == active {
			return
		}
	}
}

// awaitGone blocks until there is no job with this id.
func (f *fixture) awaitGone(id string) {
	f.Helper()
	for {
		_, err := f.client.Get(f.ctx, id)
		if errors.Is(err, queue.ErrNoJob) {
			return
		}
		f.must(err)
	}
}

// key returns the name of one of the queue's keys.
func (f *fixture) key(name string) string { return f.db.Prefix() + ":{q:0}:" + name }

// add enqueues a job of a kind into the queue "q", unless the options name
// another one.
func (f *fixture) add(kind string, o queue.Options) string {
	f.Helper()
	if o.Queue == "" {
		o.Queue = "q"
	}
	id, err := f.client.Enqueue(f.ctx, queue.Raw(kind, []byte(`{}`)), &o)
	f.must(err)
	return id
}

// pool makes a pool with settings for tests; it serves the queue "q" unless the
// config has others.
func (f *fixture) pool(config workers.Config) *workers.Pool {
	f.Helper()
	if config.Queues == nil {
		config.Queues = []workers.Queue{{Name: "q"}}
	}
	if config.Lease == 0 {
		config.Lease = shortLease
	}
	if config.Logger == nil {
		config.Logger = f.log
	}
	p := workers.NewPool(f.poolClient, &config)
	return p
}

// run runs a pool until the test ends or stop is called.
func (f *fixture) run(p *workers.Pool) (stop func()) {
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background()) }()
	stop = sync.OnceFunc(func() {
		f.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			f.Errorf("stop: %v", err)
			return
		}
		if err := <-ended; err != nil {
			f.Errorf("run: %v", err)
		}
	})
	f.Cleanup(stop)
	return stop
}

// holdJob runs a pool that holds a job until the test ends.
func (f *fixture) holdJob(p *workers.Pool) {
	gate := make(chan struct{})
	p.HandleRaw("held", func(context.Context, *queue.Job) error { <-gate; return nil }, workers.Kind{})
	f.add("held", queue.Options{})
	f.run(p)
	f.Cleanup(func() { close(gate) }) // before the pool is stopped
}

// get returns a job.
func (f *fixture) get(id string) *queue.Job {
	f.Helper()
	job, err := f.client.Get(f.ctx, id)
	f.must(err)
	return job
}

// await receives a value from a channel.
func await[T any](f *fixture, from <-chan T, what string) (got T) {
	f.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		f.Fatalf("no %s within %s", what, patience)
	}
	return got
}

// abandoned opens a lease as a worker would that dies after it has fetched n
// jobs. die makes its lease expire.
func (f *fixture) abandoned(worker string, n int) (jobs []*queue.Job, lease *queue.Lease, die func()) {
	f.Helper()
	lease, err := f.queue.NewLease(worker, time.Hour)
	f.must(err)
	fetched, err := lease.Fetch(f.ctx, queue.FetchLimits{Jobs: n, Bytes: 1 << 20, Quarantined: n})
	f.must(err)
	if len(fetched.Jobs) != n {
		f.Fatalf("fetched %d jobs, want %d", len(fetched.Jobs), n)
	}
	return fetched.Jobs, lease, func() { f.expire(worker) }
}

// expire makes leases expire, by hand.
func (f *fixture) expire(workers ...string) {
	f.Helper()
	for _, worker := range workers {
		f.must(expireLease(f.ctx, f.db, f.queue.Name(), worker))
	}
}

// expireLease makes a lease expire, and its row in the list of open leases late.
func expireLease(ctx context.Context, db *rdb.DB, queue, worker string) error {
	list, yesterday := db.Prefix()+":{queues}:leases", float64(time.Now().Add(-24*time.Hour).UnixMilli())
	rows, err := db.ZRange(ctx, list, 0, -1).Result()
	for _, row := range rows {
		if strings.HasPrefix(row, queue+" "+worker+" ") {
			err = errors.Join(err, db.ZAddXX(ctx, list, redis.Z{Score: yesterday, Member: row}).Err())
		}
	}
	leases := db.Prefix() + ":{" + queue + ":0}:leases"
	return errors.Join(err, db.ZAddXX(ctx, leases, redis.Z{Score: 1, Member: worker}).Err())
}

// info returns the description of a pool, nil if there is none.
func (f *fixture) info(p *workers.Pool) *queue.PoolInfo {
	f.Helper()
	pools, err := f.client.Pools(f.ctx)
	f.must(err)
	for _, pool := range pools {
		if pool.Name == p.Name() {
			return &pool
		}
	}
	return nil
}

// ended returns a hook and the channel to which it sends the reports of attempts.
func ended() (workers.Hooks, <-chan workers.Report) {
	reports := make(chan workers.Report, 1000)
	return workers.Hooks{Ended: func(_ *queue.Job, report workers.Report) { reports <- report }}, reports
}
