package workers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A chaos is workers that are started again whenever they end, a Redis that forgets nothing
// which it has confirmed, a proxy between them, and a producer. Faults strike meanwhile.
type chaos struct {
	*processes
	server *redistest.Server
	proxy  *redistest.Proxy

	starting sync.Mutex // guards processes.workers while machines run
	stopped  bool
	machines sync.WaitGroup

	producer          *queue.Client
	accepted, unknown atomic.Int64
	ran               atomic.Int64
}

// A fault is one thing that goes wrong. It returns when that is over.
type fault struct {
	name   string
	strike func(c *chaos)
}

func newChaos(t *testing.T, plan workerPlan) *chaos {
	t.Helper()
	server := redistest.Start(t, redistest.Survives...)
	proxy := redistest.StartProxy(t, server.URL(0))
	plan.URL, plan.Notes = proxy.URL, redistest.URL(t)
	c := &chaos{processes: newProcesses(t, redistest.Open(t, server.URL(0)), plan), server: server, proxy: proxy}
	c.producer = c.through(proxy, rdb.Options{Patience: 100 * time.Millisecond})
	return c
}

// run starts n machines. Each starts its worker again when it has ended.
func (c *chaos) run(n int) {
	start := func() *workerProcess {
		c.starting.Lock()
		defer c.starting.Unlock()
		if c.stopped {
			return nil
		}
		return c.start()
	}
	for range n {
		c.machines.Go(func() {
			for p := start(); p != nil; p = start() {
				<-p.Ended()
			}
		})
	}
}

// end stops the machines and their workers.
func (c *chaos) end() {
	c.halt()
	c.stop()
	c.machines.Wait()
}

// halt makes the machines start no more workers.
func (c *chaos) halt() {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.stopped = true
}

// signalOne sends a signal to a worker that runs, if there is one, and returns it.
func (c *chaos) signalOne(signal syscall.Signal) *workerProcess {
	c.starting.Lock()
	defer c.starting.Unlock()
	live := c.live()
	if len(live) == 0 {
		return nil
	}
	p := live[c.random.IntN(len(live))]
	_ = syscall.Kill(p.PID(), signal) // it may have ended
	return p
}

// lasts blocks for a number of leases, of a fault that lasts for so long.
func (c *chaos) lasts(leases float64) {
	<-time.After(time.Duration(leases * float64(c.plan.Lease)))
}

// do sends a command to Redis, past the proxy.
func (c *chaos) do(args ...any) {
	c.t.Helper()
	if err := c.db.Retry(c.ctx, func() error { return c.db.Do(c.ctx, args...).Err() }); err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
}

func (c *chaos) restart(leases float64) {
	c.server.Kill()
	c.lasts(leases)
	if err := c.server.Restart(); err != nil {
		c.t.Fatal(err)
	}
}

var faults = []fault{
	{"worker killed", func(c *chaos) { c.signalOne(syscall.SIGKILL) }},
	{"worker stopped for half a lease", func(c *chaos) { c.pauseOne(0.5) }},
	{"worker stopped for two leases", func(c *chaos) { c.pauseOne(2) }},
	{"Redis killed", func(c *chaos) { c.restart(0) }},
	{"Redis away for longer than the lease", func(c *chaos) { c.restart(2.5) }},
	{"Redis shut down", func(c *chaos) {
		_ = c.db.Do(c.ctx, "SHUTDOWN", "NOSAVE").Err() // the connection ends
		c.restart(0.2)
	}},
	{"Redis hangs", func(c *chaos) { c.do("DEBUG", "SLEEP", 0.8*c.plan.Lease.Seconds()) }},
	{"clients paused", func(c *chaos) {
		c.do("CLIENT", "PAUSE", c.plan.Lease.Milliseconds()/2, "ALL")
		c.do("PING")
	}},
	{"connections closed by Redis", func(c *chaos) { c.do("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES") }},
	{"scripts forgotten", func(c *chaos) { c.do("SCRIPT", "FLUSH") }},
	{"memory full", func(c *chaos) {
		c.do("CONFIG", "SET", "maxmemory", "1mb")
		c.lasts(0.7)
		c.do("CONFIG", "SET", "maxmemory", "0")
	}},
	{"connections cut", func(c *chaos) { c.proxy.Cut() }},
	{"network silent for half a lease", func(c *chaos) { c.silence(0.5) }},
	{"network silent for two leases", func(c *chaos) { c.silence(2) }},
	{"network slow", func(c *chaos) {
		c.proxy.Slow(500_000)
		c.lasts(2)
		c.proxy.Slow(0)
	}},
}

func (c *chaos) pauseOne(leases float64) {
	if p := c.signalOne(syscall.SIGSTOP); p != nil {
		c.lasts(leases)
		_ = syscall.Kill(p.PID(), syscall.SIGCONT)
	}
}

func (c *chaos) silence(leases float64) {
	c.proxy.Hold()
	c.lasts(leases)
	c.proxy.Release()
}

// produce adds jobs until ctx is done, and leaves at most backlog jobs that have not run.
func (c *chaos) produce(ctx context.Context, backlog int64) {
	large := make([]byte, 20<<10)
	for n := 0; ctx.Err() == nil; n++ {
		if c.accepted.Load()-c.ran.Load() > backlog {
			_ = rdb.Sleep(ctx, 5*time.Millisecond)
			continue
		}
		batch := []queue.NewJob{
			{Args: queue.Raw("plain", large)},
			{Args: queue.Raw("plain", []byte("{}")), Options: queue.Options{Priority: queue.High, Retain: 10 * time.Millisecond}},
			{Args: queue.Raw("plain", []byte("{}")), Options: queue.Options{Unique: queue.Unique{Key: fmt.Sprint("key-", n)}}},
			{Args: queue.Raw("plain", []byte("{}")), Options: queue.Options{Delay: 50 * time.Millisecond}},
			{Args: queue.Raw("fails-once", []byte("{}")), Options: queue.Options{Priority: queue.Low}},
			{Args: queue.Raw("snoozes-once", []byte("{}"))},
		}
		for range 14 {
			batch = append(batch, queue.NewJob{Args: queue.Raw("plain", []byte("{}"))})
		}
		for i := range batch {
			batch[i].Options.Queue = c.queues[n%len(c.queues)].Name()
		}
		for i, result := range c.producer.EnqueueMany(ctx, batch) {
			var lost *rdb.OutcomeUnknownError
			switch {
			case result.Err == nil:
				c.accepted.Add(1)
				c.starting.Lock()
				c.jobs[result.ID] = batch[i].Args.Kind()
				c.starting.Unlock()
			case errors.As(result.Err, &lost):
				c.unknown.Add(1)
			}
			if i == 0 && result.Err != nil {
				_ = rdb.Sleep(ctx, 20*time.Millisecond)
			}
		}
	}
}

// Faults of all sorts strike workers, Redis and the network while jobs are added and run,
// some of which kill their worker. No job is lost or stuck, only the poison jobs die, and a
// job runs again only if a worker with it was killed or lost its lease.
func TestChaosOfFaultsLosesNoJob(t *testing.T) {
	t.Parallel()
	strikes, machines, poison, lease := 5, 2, 0, 400*time.Millisecond
	if thorough {
		strikes, machines, poison, lease = 90, 4, 4, time.Second
	}
	c := newChaos(t, workerPlan{Concurrency: 16, Lease: lease, Queues: []string{"a", "b"}})
	for range poison {
		c.enqueue(c.random.IntN(200), "plain", queue.Options{})
		c.enqueue(1, "poison", queue.Options{})
	}
	ctx, stop := context.WithCancel(c.ctx)
	var producer sync.WaitGroup
	producer.Go(func() { c.produce(ctx, 1000) })
	c.run(machines)
	defer c.halt() // also if the test fails
	var order []int
	for range strikes {
		if len(order) == 0 {
			order = c.random.Perm(len(faults))
		}
		fault := faults[order[0]]
		order = order[1:]
		progress := len(c.ledger.jobs) + 200
		c.ledger.until(t, c.ctx, func() bool {
			c.ran.Store(int64(len(c.ledger.jobs)))
			return len(c.ledger.jobs) >= progress
		})
		t.Logf("after %d jobs: %s", len(c.ledger.jobs), fault.name)
		fault.strike(c)
	}
	stop()
	producer.Wait()
	over := time.Now()
	c.ledger.until(t, c.ctx, func() bool { return c.notRun() == 0 })
	c.untilSettled()
	t.Logf("%d jobs were accepted, %d may have been; all have ended %s after the last fault",
		len(c.jobs), c.unknown.Load(), time.Since(over))
	c.end()
	c.repeatedOnlyWhatTheDeadHeld()
	c.noneIsStored()
	var enqueued, dead int64
	for _, q := range c.queues {
		counts := c.counts(q)
		enqueued, dead = enqueued+counts.Enqueued, dead+counts.Dead
	}
	if accepted := int64(len(c.jobs)); enqueued < accepted || enqueued > accepted+c.unknown.Load() {
		t.Errorf("%d jobs were added, %d accepted, the outcome of %d is unknown", enqueued, accepted, c.unknown.Load())
	}
	if dead != int64(poison) {
		t.Errorf("%d jobs are dead, want the %d poison jobs", dead, poison)
	}
}
