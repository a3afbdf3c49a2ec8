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

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// patience is how long a test waits for what is to happen.
const patience = 20 * time.Second

// shortLease is that of pools in tests.
const shortLease = 300 * time.Millisecond

// A shop is a client and one queue of it, "q".
type shop struct {
	testing.TB
	ctx    context.Context
	db     *rdb.DB
	client *queue.Client
	queue  *queue.Queue
	log    *slog.Logger
	kept   *keptLog

	poolDB     *rdb.DB // of pools, as poolClient
	poolClient *queue.Client
}

func open(t testing.TB, db *rdb.DB) *shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	client, err := queue.New(db, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	kept := &keptLog{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(kept.String())
		}
	})
	return &shop{t, ctx, db, client, q, slog.New(slog.NewTextHandler(kept, nil)), kept, db, client}
}

// openProxied is open with a proxy between the server and the client that pools
// use. What the test itself asks of Redis goes past the proxy.
func openProxied(t testing.TB, options rdb.Options) (*shop, *redistest.Proxy) {
	t.Helper()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	s := open(t, redistest.Open(t, url))
	db, err := rdb.Open(s.ctx, proxy.URL, options)
	s.must(err)
	t.Cleanup(func() { _ = db.Close() })
	s.poolDB = db
	s.poolClient, err = queue.New(db, queue.Config{})
	s.must(err)
	return s, proxy
}

// everywhere runs a test on all backends.
func everywhere(t *testing.T, test func(s *shop)) {
	t.Parallel()
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) { test(open(t, db)) })
}

// A keptLog is what pools have logged.
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

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// addArgs enqueues a job of a kind into the queue "q". args are found again in the
// replies that bring the job.
func (s *shop) addArgs(kind, args string, o queue.Options) string {
	s.Helper()
	o.Queue = "q"
	id, err := s.client.Enqueue(s.ctx, queue.Raw(kind, []byte(args)), o)
	s.must(err)
	return id
}

// declareDead ends a worker's lease as if it had been silent for too long.
func (s *shop) declareDead(worker string) {
	s.Helper()
	for s.db.ZScore(s.ctx, s.key("leases"), worker).Err() == nil { // a heartbeat may come in between
		s.expire(worker)
		_, err := s.queue.Recover(s.ctx, 0, false)
		s.must(err)
	}
}

// leaseOf blocks until a pool has a lease of the queue "q" that is none of those
// given, and returns its name.
func (s *shop) leaseOf(p *workers.Pool, not ...string) string {
	s.Helper()
	for {
		infos, err := s.queue.Workers(s.ctx)
		s.must(err)
		for _, info := range infos {
			if !info.Dead && strings.HasPrefix(info.Name, p.Name()+".") && !slices.Contains(not, info.Name) {
				return info.Name
			}
		}
	}
}

// awaitDepth blocks until so many jobs of the queue "q" are waiting and active.
func (s *shop) awaitDepth(waiting, active int) {
	s.Helper()
	for {
		depth, err := s.queue.Depth(s.ctx)
		s.must(err)
		if depth.Waiting.Total() == waiting && depth.Active.Total() == active {
			return
		}
	}
}

// awaitGone blocks until there is no job with this id.
func (s *shop) awaitGone(id string) {
	s.Helper()
	for {
		_, err := s.client.Get(s.ctx, id)
		if errors.Is(err, queue.ErrNoJob) {
			return
		}
		s.must(err)
	}
}

// key gives the name of one of the queue's keys.
func (s *shop) key(name string) string { return s.db.Prefix() + ":{q:0}:" + name }

// add enqueues a job of a kind into the queue "q", unless the options say
// another.
func (s *shop) add(kind string, o queue.Options) string {
	s.Helper()
	if o.Queue == "" {
		o.Queue = "q"
	}
	id, err := s.client.Enqueue(s.ctx, queue.Raw(kind, []byte(`{}`)), o)
	s.must(err)
	return id
}

// pool makes a pool with settings for tests; it serves the queue "q" unless the
// config says otherwise.
func (s *shop) pool(config workers.Config) *workers.Pool {
	s.Helper()
	if config.Queues == nil {
		config.Queues = []workers.Queue{{Name: "q"}}
	}
	if config.Lease == 0 {
		config.Lease = shortLease
	}
	if config.Logger == nil {
		config.Logger = s.log
	}
	p, err := workers.New(s.poolDB, s.poolClient, config)
	s.must(err)
	return p
}

// run runs a pool until the test ends or stop is called.
func (s *shop) run(p *workers.Pool) (stop func()) {
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background()) }()
	stop = sync.OnceFunc(func() {
		s.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			s.Errorf("stop: %v", err)
			return
		}
		if err := <-ended; err != nil {
			s.Errorf("run: %v", err)
		}
	})
	s.Cleanup(stop)
	return stop
}

// get looks a job up.
func (s *shop) get(id string) *queue.Job {
	s.Helper()
	job, err := s.client.Get(s.ctx, id)
	s.must(err)
	return job
}

// await takes something from a channel.
func await[T any](s *shop, from <-chan T, what string) (got T) {
	s.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		s.Fatalf("no %s within %s", what, patience)
	}
	return got
}

// abandoned opens a lease as a worker would that dies after it has fetched n
// jobs. die makes its lease expire.
func (s *shop) abandoned(worker string, n int) (jobs []*queue.Job, lease *queue.Lease, die func()) {
	s.Helper()
	lease, err := s.queue.Lease(s.ctx, worker, time.Hour, nil)
	s.must(err)
	fetched, err := lease.Fetch(s.ctx, n, 1<<20)
	s.must(err)
	if len(fetched.Jobs) != n {
		s.Fatalf("fetched %d jobs, want %d", len(fetched.Jobs), n)
	}
	return fetched.Jobs, lease, func() { s.expire(worker) }
}

// expire makes leases expire, by hand.
func (s *shop) expire(workers ...string) {
	s.Helper()
	for _, worker := range workers {
		s.must(s.db.Do(s.ctx, "ZADD", s.key("leases"), "XX", 1, worker).Err())
	}
}

// ended gives a hook and the channel on which it tells of jobs that have ended.
func ended() (workers.Hooks, <-chan workers.Report) {
	reports := make(chan workers.Report, 1000)
	return workers.Hooks{Ended: func(_ *queue.Job, report workers.Report) { reports <- report }}, reports
}
