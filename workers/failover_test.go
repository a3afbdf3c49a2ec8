package workers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A replicated is a Redis with a replica behind a proxy, which stands for the address that
// moves to the new master. Its processes reach Redis through the proxy.
type replicated struct {
	*processes
	proxy           *redistest.Proxy
	master, replica *redistest.Server

	mayBeLost map[string]bool // ids of jobs that were added while the replica did not follow
}

func newReplicated(t *testing.T, plan workerPlan) *replicated {
	t.Helper()
	master := redistest.Start(t)
	plan.Notes = redistest.URL(t)
	replica := redistest.StartReplicas(t, redistest.Open(t, master.URL(0)))[0]
	proxy := redistest.StartProxy(t, master.URL(0))
	plan.URL = proxy.URL
	return &replicated{newProcesses(t, redistest.Open(t, proxy.URL), plan), proxy, master, replica, map[string]bool{}}
}

// awaitReplica blocks until the replica of a master has all that was written before.
func awaitReplica(ctx context.Context, master redis.Cmdable) error {
	var replicas *redis.Cmd
	_, err := master.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "{q:0}:replicated")
		replicas = p.Do(ctx, "WAIT", 1, 20_000)
		return nil
	})
	if n, _ := replicas.Int(); err == nil && n != 1 {
		return fmt.Errorf("%d replicas have followed", n)
	}
	return err
}

// failover makes the replica the master. What is written within lost before that, it has not
// received: deliveries and ends of jobs that it has, and jobs.
func (r *replicated) failover(lost time.Duration) {
	r.t.Helper()
	master, next := redistest.Open(r.t, r.master.URL(0)), redistest.Open(r.t, r.replica.URL(0))
	r.enqueue(24, "slow", queue.Options{Priority: queue.High}) // some of them end meanwhile
	r.enqueueSome(1000)
	r.enqueue(2000, "plain", queue.Options{})
	if err := awaitReplica(r.ctx, master); err != nil {
		r.t.Fatal(err)
	}
	if err := next.Do(r.ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		r.t.Fatal(err)
	}
	const steps = 10
	for range steps {
		r.enqueueLost(20)
		<-time.After(lost / steps)
	}
	r.proxy.Redirect(r.replica.URL(0))
	r.master.Kill()
	r.master = r.replica
	r.replica = redistest.StartReplicas(r.t, next)[0]
}

// enqueueLost adds jobs that the failover may lose.
func (r *replicated) enqueueLost(n int) {
	r.t.Helper()
	for _, id := range r.enqueue(n, "plain", queue.Options{}) {
		delete(r.jobs, id)
		r.mayBeLost[id] = true
	}
}

// enqueueSome adds n jobs that no failover loses: a tenth of them are delayed, a tenth fail
// once, and a tenth have a unique key.
func (r *replicated) enqueueSome(n int) {
	r.t.Helper()
	tenth := n / 10
	before := len(r.jobs)
	ids := r.enqueue(n-3*tenth, "plain", queue.Options{})
	ids = append(ids, r.enqueue(tenth, "fails-once", queue.Options{})...)
	ids = append(ids, r.enqueue(tenth, "plain", queue.Options{Delay: 20 * time.Millisecond})...)
	for range tenth {
		ids = append(ids, r.enqueue(1, "plain", queue.Options{Unique: queue.Unique{Key: fmt.Sprint("key-", len(r.jobs))}})...)
	}
	for _, id := range ids {
		if r.mayBeLost[id] {
			r.t.Errorf("the id %s was issued again", id)
		}
	}
	if added := len(r.jobs) - before; added != n {
		r.t.Errorf("%d jobs have %d ids", n, added)
	}
}

// Several failovers each lose what was written in the last 200 ms: jobs, deliveries and ends
// of jobs. Every job that is not lost runs, none stays active, and nothing is left of those
// that ran.
func TestFailoversThatLoseWritesLeaveNoJobActive(t *testing.T) {
	t.Parallel()
	const lost, settled = 200 * time.Millisecond, 60 * time.Second
	jobs, failovers, plan := 8_000, 2, workerPlan{Concurrency: 16, Lease: time.Second, ScanEvery: time.Second}
	if thorough {
		jobs, failovers, plan = 80_000, 12, workerPlan{Concurrency: 16, Lease: 2 * time.Second}
	}
	r := newReplicated(t, plan)
	for range 3 {
		r.start()
	}
	// The jobs are added while others run, so that a queue with jobs fails over.
	const backlog, batch = 1000, 200
	add := func() {
		if len(r.jobs) < jobs && r.notRun() < backlog {
			r.enqueueSome(batch)
		}
	}
	for n := range failovers {
		r.ledger.until(t, r.ctx, func() bool { add(); return len(r.ledger.jobs) >= (n+1)*jobs/(failovers+1) })
		r.failover(lost)
	}
	over := time.Now()
	r.ledger.until(t, r.ctx, func() bool { add(); return len(r.jobs) >= jobs })
	added := time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, r.plan.Lease+settled)
	defer cancel()
	r.ledger.until(t, ctx, func() bool { return r.notRun() == 0 })
	if err := r.settle(ctx); err != nil {
		t.Fatalf("%v\n%s", err, r.describe())
	}
	t.Logf("%d failovers, %d jobs and %d that may be lost; all have ended %s after the last failover, %s after the last job was added",
		failovers, len(r.jobs), len(r.mayBeLost), time.Since(over), time.Since(added))
	r.stop()
	r.noneIsStored()
}

// notRun returns the number of jobs that have not run yet.
func (f *processes) notRun() (n int) {
	for id := range f.jobs {
		if !f.ledger.jobs[id] {
			n++
		}
	}
	return n
}

// noneIsStored checks, after all workers have stopped, that all jobs that Redis knows have
// ended, and that nothing else is left of them.
func (f *processes) noneIsStored() {
	f.t.Helper()
	f.everyJobHasRun()
	for _, q := range f.queues {
		f.expireAllLeases(q)
		f.nothingIsLeftOf(q)
		for _, line := range f.lines(q) {
			if n, err := f.db.XLen(f.ctx, line).Result(); err != nil || n != 0 {
				f.t.Errorf("%s has %d entries: %v", line, n, err)
			}
		}
		if c := f.counts(q); c.Enqueued != c.Succeeded+c.Dead+c.Cancelled+c.Discarded+c.Deleted {
			f.t.Errorf("queue %s: the counters are uneven: %+v", q.Name(), c)
		}
	}
	again := map[string]int{}
	for _, run := range f.ledger.runs {
		again[run.job+" "+run.turn]++
	}
	repeated := 0
	for _, n := range again {
		repeated += min(n-1, 1)
	}
	f.t.Logf("%d jobs have run %d times, %d of them were repeated", len(f.ledger.jobs), len(f.ledger.runs), repeated)
}

// lines returns the keys of the lines of a queue.
func (f *processes) lines(q *queue.PoolQueue) (keys []string) {
	for _, priority := range []string{"high", "normal", "low"} {
		for _, kind := range []string{"returned", "due", "fresh", "retry", "quarantine"} {
			keys = append(keys, f.key(q, "2:"+priority+":"+kind))
		}
	}
	return keys
}

// through returns a client of the processes' Redis that passes a proxy.
func (f *processes) through(proxy *redistest.Proxy, options rdb.Options) *queue.Client {
	f.t.Helper()
	db, err := rdb.Open(f.ctx, proxy.URL, options)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = db.Close() })
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return client
}
