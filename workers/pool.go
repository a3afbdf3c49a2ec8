package workers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers/stats"
)

// A Pool runs the jobs of some queues. Its methods are safe for concurrent use.
type Pool struct {
	client  *queue.Client
	config  Config
	invalid error // what is wrong with the configuration, nil if nothing is
	name    string
	born    time.Time
	log     *slog.Logger

	sched    *scheduler
	executor *executor
	control  *control
	heart    *heartbeat
	watch    *queue.Watch // of the lines and signals of all queues, and of new queues
	mover    *delayed.Mover
	crons    *delayed.Cron
	stats    *stats.Collector
	reporter *reporter

	started  atomic.Bool
	quiet    latch // no more jobs are taken
	stopping latch // running handlers have until the drain is over
	ended    latch // Run has returned
}

// NewPool returns a pool that serves queues of the client's Redis. A nil config
// means the defaults: it serves the queue "default". Give the pool handlers by
// [Handle], then call [Pool.Run], which returns an error if a value of the config
// is not allowed. Nothing is sent to Redis before that.
func NewPool(client *queue.Client, config *Config) *Pool {
	var c Config
	if config != nil {
		c = *config
	}
	invalid := c.Validate()
	c = c.withDefaults()
	p := &Pool{
		client: client, config: c, invalid: invalid, name: workerName(c.Name), born: time.Now(), log: c.Logger,
		sched: newScheduler(c), quiet: newLatch(), stopping: newLatch(), ended: newLatch(),
	}
	p.executor = &executor{config: c, client: client, sched: p.sched, firstWindow: firstWindow, unknown: unknownKind()}
	p.control = &control{pool: p, sched: p.sched, configs: c.Queues, patternsChanged: newNotification(), scanEvery: scanEvery}
	p.control.signalled.added = newNotification()
	p.heart = &heartbeat{pool: p, sched: p.sched, log: c.Logger, opening: newNotification()}
	p.watch = client.NewWatch(c.Logger)
	timers := &delayed.Config{Name: p.name, Logger: c.Logger, NoSignals: true}
	p.mover = delayed.NewMover(client, timers)
	p.crons = delayed.NewCron(client, timers)
	p.reporter = newReporter(p)
	p.stats = stats.NewCollector(stats.Config{Client: client, Pool: p.name, Mode: c.Stats, Logger: c.Logger})
	Handle(p, p.forward)
	return p
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// workerName returns a name that no other pool has: a name is never used again.
func workerName(name string) string {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	name = notInNames.ReplaceAllString(name, "-")
	return name[:min(len(name), 80)] + "-" + strings.ToLower(rand.Text()[:10])
}

// Name returns the name of this worker, as [queue.PoolInfo] has it.
func (p *Pool) Name() string { return p.name }

// ErrStarted is the error of a second call of [Pool.Run].
var ErrStarted = errors.New("the pool was run before: create a new one")

// Run runs jobs until ctx is done or the pool is stopped, and returns when all
// outcomes are written and all other jobs are handed back, see [Pool.Stop]. While
// Redis is unreachable Run goes on with the jobs that it has, and fetches more when
// Redis is back.
//
// Run returns an error that wraps [queue.ErrInvalid] and names the field if the
// configuration is not allowed, and [ErrStarted] if it was called before.
func (p *Pool) Run(ctx context.Context) error {
	if p.invalid != nil {
		return fmt.Errorf("run a pool: %w", p.invalid)
	}
	if !p.started.CompareAndSwap(false, true) {
		return ErrStarted
	}
	defer p.ended.close()
	if !p.stopping.isClosed() {
		p.run(ctx)
	}
	return nil
}

// run starts the parts, and stops them in the order that Stop documents.
func (p *Pool) run(ctx context.Context) {
	// The context running ends after all outcomes are written, fetching when no more
	// jobs are fetched.
	running, stopRunning := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRunning()
	fetching, stopFetching := context.WithCancel(running)
	defer stopFetching()
	p.executor.runCtx = running
	fetcher := &fetcher{sched: p.sched, executor: p.executor, control: p.control, heart: p.heart, log: p.log}
	p.control.start(running)
	var background, fetchers sync.WaitGroup
	background.Go(func() { p.watch.Run(running) })
	background.Go(func() { p.control.listen(running) })
	background.Go(func() { p.heart.run(running) })
	background.Go(func() { p.heart.passes(running) })
	background.Go(func() { _ = p.mover.Run(running) }) // they end with running
	background.Go(func() { _ = p.crons.Run(running) })
	background.Go(func() { p.stats.Run(running) })
	background.Go(func() { p.reporter.run(running) })
	fetchers.Go(func() { p.control.discover(fetching) })
	fetchers.Go(func() { fetcher.run(running, fetching) })

	// Quiet.
	select {
	case <-ctx.Done():
		p.Quiet()
	case <-p.quiet.c:
	}
	stopFetching()
	fetchers.Wait()
	p.sched.handBackAll()
	p.sched.aboutChanged.send()
	waiting, stopWaiting := context.WithCancel(running)
	defer stopWaiting()
	fetchers.Go(func() { fetcher.runQuiet(running, waiting) })

	// Drain.
	select {
	case <-ctx.Done():
		p.stop() // others see that it stops
	case <-p.stopping.c:
	}
	p.sched.aboutChanged.send()
	p.drain()

	stopWaiting()
	fetchers.Wait()
	p.closeLeases(running, fetcher)
	stopRunning()
	background.Wait()
	p.flushStats()
	p.heart.end()
}

// closeLeases writes the remaining outcomes, and closes the leases.
func (p *Pool) closeLeases(running context.Context, fetcher *fetcher) {
	for done := true; done; { // not after an error: others recover the jobs that are left
		done, _ = fetcher.rereadLost(running)
	}
	p.sched.handBackAll()
	written := newLatch()
	go func() {
		defer written.close()
		p.control.stopQueues()
	}()
	for !closesWithin(written.c, rdb.DefaultFirstPause) { // outcomes may be held back until jobs are compared
		_, _ = fetcher.rereadLost(running)
		p.sched.handBackAll()
	}
}

// flushStats writes what was counted since the last time.
func (p *Pool) flushStats() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := p.stats.Flush(ctx); err != nil {
		p.log.Warn("the latest statistics cannot be written", "error", err)
	}
}

// drain waits for running handlers, at most for the drain. Then it interrupts them,
// waits for the grace, and hands back the jobs that have not ended.
func (p *Pool) drain() {
	var idle <-chan struct{}
	p.sched.update(func() { idle = p.sched.slots.whenIdle() })
	if closesWithin(idle, p.config.Drain) {
		return
	}
	p.eachUnclaimed(func(a *attempt) { a.interrupt(ErrShutdown) })
	if closesWithin(idle, p.config.Grace+time.Second) {
		return
	}
	p.eachUnclaimed((*attempt).handBack) // of handlers that were not abandoned in time
}

// eachUnclaimed calls f for all held attempts whose end is not claimed.
func (p *Pool) eachUnclaimed(f func(*attempt)) {
	for _, session := range p.sched.sessions() {
		for _, a := range session.unclaimed() {
			f(a)
		}
	}
}

// closesWithin reports whether a channel is closed within maxWait.
func closesWithin(done <-chan struct{}, maxWait time.Duration) bool {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Quiet makes the pool fetch and start no more jobs, and hand back those that were not
// started; running handlers go on. It does not block.
func (p *Pool) Quiet() {
	p.sched.update(func() { p.sched.quiet = true })
	p.quiet.close()
}

// IsQuiet reports whether the pool fetches no more jobs, after [Pool.Quiet], [Pool.Stop],
// a signal or the end of Run's context.
func (p *Pool) IsQuiet() bool { return p.quiet.isClosed() }

// Unrecorded returns the number of handlers that have returned and whose outcome Redis
// has not confirmed yet, the highest that it was, and its maximum: at 4 times the
// concurrency plus 500 the pool starts no more jobs until Redis has confirmed some. If the
// worker dies, these jobs run again.
func (p *Pool) Unrecorded() (now, highest, limit int) {
	u := &p.sched.slots.unrecorded
	return int(u.now.Load()), int(u.highest.Load()), u.max()
}

// Stop stops the pool, as the end of Run's context and a stop signal do, and blocks
// until Run has returned:
//
//  1. No more jobs are fetched, and those not started are handed back ([Pool.Quiet]).
//  2. Running handlers have [Config.Drain] to return.
//  3. Their contexts are cancelled with [ErrShutdown], and they have [Config.Grace] to
//     return.
//  4. Jobs that have not ended go to the front of their queue, with no attempt used;
//     all outcomes are written; the leases are closed.
//
// If ctx is done before, Stop returns its cause and the pool goes on stopping. Stop may
// be called before Run and more than once.
func (p *Pool) Stop(ctx context.Context) error {
	p.stop()
	if !p.started.Load() {
		return nil
	}
	select {
	case <-p.ended.c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Pool) stop() {
	p.Quiet()
	p.stopping.close()
}

// state returns the state for [queue.PoolInfo].
func (p *Pool) state() string {
	switch {
	case p.stopping.isClosed():
		return "stopping"
	case p.quiet.isClosed():
		return "quiet"
	}
	return "running"
}

// A latch is a channel that is closed by the first call of close.
type latch struct {
	c     chan struct{}
	close func()
}

func newLatch() latch {
	c := make(chan struct{})
	return latch{c, sync.OnceFunc(func() { close(c) })}
}

func (l latch) isClosed() bool {
	select {
	case <-l.c:
		return true
	default:
		return false
	}
}

// A notification wakes the goroutine that receives from it. Several values that are sent
// before it receives are received as one.
type notification chan struct{}

func newNotification() notification { return make(notification, 1) }

// send does not block.
func (n notification) send() {
	select {
	case n <- struct{}{}:
	default:
	}
}
