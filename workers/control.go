package workers

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A control serves the queues that are configured by name or match a pattern, handles
// signals, and writes the worker's description to Redis.
type control struct {
	pool  *Pool
	sched *scheduler

	scanEvery       time.Duration
	patternsChanged notification
	signalled       queueList      // queues that have new signals
	opened          atomic.Int64   // number of leases, for their names
	forgot          atomic.Int64   // when idle queues were last deleted, in ns since 1970
	leases          sync.WaitGroup // the lease loops and their recoveries

	mu      sync.Mutex      // held while the set of queues changes
	configs []Queue         // to be served, by name or pattern
	runCtx  context.Context // of the lease loops; nil before Run
}

// start serves the queues that are configured by name, until they are removed or ctx is
// done.
func (c *control) start(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runCtx = ctx
	c.forgot.Store(time.Now().Add(-rand.N(forgetEvery)).UnixNano()) // pools do so at different times
	c.serveNamedLocked()
}

// A pool deletes queues that are idle for forgetAfter, each forgetEvery, at most maxForget
// of them.
const (
	forgetAfter = 7 * 24 * time.Hour
	forgetEvery = time.Hour
	maxForget   = 100
)

// forgetQueues deletes idle queues if forgetEvery has passed since it last did.
func (c *control) forgetQueues(ctx context.Context) {
	now, last := time.Now(), c.forgot.Load()
	if now.Sub(time.Unix(0, last)) < forgetEvery || !c.forgot.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	names, err := c.pool.client.ForgetQueues(ctx, forgetAfter, maxForget)
	if len(names) > 0 {
		c.pool.log.Info("deleted idle queues", "queues", names)
	}
	if err != nil && ctx.Err() == nil {
		c.pool.log.Warn("idle queues cannot be deleted", "error", err)
	}
}

// stopQueues ends all lease loops, and blocks until they have written all outcomes and
// closed their leases. The pool must be quiet.
func (c *control) stopQueues() {
	c.mu.Lock() // after a change of the queues that is in progress
	for _, q := range c.sched.all() {
		q.stop()
	}
	c.mu.Unlock()
	c.leases.Wait()
}

// SetQueues replaces the queues that the pool serves, also while it runs. Jobs of
// removed queues that were not started are handed back; their running jobs go on. An
// error wraps [queue.ErrInvalid] and names the field; then nothing is changed.
func (p *Pool) SetQueues(queues []Queue) error {
	config := Config{Queues: queues}
	if err := config.Validate(); err != nil {
		return err
	}
	c := p.control
	c.mu.Lock()
	defer c.mu.Unlock()
	c.configs = config.withDefaults().Queues
	if c.runCtx == nil || p.IsQuiet() {
		return nil
	}
	unserved, restored := c.sched.configure(c.configs)
	for _, q := range unserved {
		p.mover.Remove(q.name)
		p.crons.Remove(q.name)
	}
	for _, q := range restored {
		p.mover.Add(q.queue)
		p.crons.Add(q.queue)
	}
	c.serveNamedLocked()
	c.sched.aboutChanged.send()
	c.patternsChanged.send()
	return nil
}

func (c *control) serveNamedLocked() {
	var names []string
	for _, config := range c.configs {
		if !config.pattern() {
			names = append(names, config.Name)
		}
	}
	c.serveLocked(names)
}

// serveLocked serves those of the queues that match the configuration and are not
// served yet.
func (c *control) serveLocked(names []string) {
	known := map[string]bool{}
	for _, q := range c.sched.all() {
		known[q.name] = true
	}
	var added []*servedQueue
	var loops []func()
	for _, name := range names {
		place := placeOf(c.configs, name)
		if place < 0 || known[name] {
			continue
		}
		known[name] = true
		q, err := c.pool.client.ForPool(name)
		if err != nil {
			c.pool.log.Warn("queue cannot be served", "queue", name, "error", err)
			continue
		}
		config := c.configs[place]
		ctx, stop := context.WithCancel(c.runCtx)
		served := &servedQueue{name: name, queue: q, stop: stop, config: config, place: place, opening: !config.pattern()}
		added = append(added, served)
		c.pool.mover.Add(q)
		c.pool.crons.Add(q)
		loop := &leaseLoop{pool: c.pool, queue: served, log: c.pool.log.With("queue", name)}
		loops = append(loops, func() { loop.run(ctx) })
	}
	if len(added) > 0 {
		c.sched.add(added)
	}
	for _, loop := range loops {
		c.leases.Go(loop)
	}
}

// served returns the configurations of the queues.
func (c *control) served() []Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.configs
}

// discover serves the queues whose names match a pattern, those that exist and those
// that are created, until ctx is done.
func (c *control) discover(ctx context.Context) {
	created := newNotification()
	timer := time.NewTimer(maxIdle)
	defer timer.Stop()
	for ctx.Err() == nil {
		if slices.ContainsFunc(c.served(), Queue.pattern) {
			cursor, err := c.pool.client.QueuesCursor(ctx)
			if err == nil {
				err = c.serveMatches(ctx)
			}
			if err != nil {
				if ctx.Err() == nil {
					c.pool.log.Warn("queues cannot be listed", "error", err)
				}
				_ = rdb.Sleep(ctx, time.Second)
				continue
			}
			c.pool.watch.Set("queues", created.send, cursor)
		}
		timer.Reset(maxIdle)
		select {
		case <-ctx.Done():
		case <-c.patternsChanged:
		case <-created:
		case <-timer.C:
		}
	}
	c.pool.watch.Remove("queues")
}

func (c *control) serveMatches(ctx context.Context) error {
	names, err := c.pool.client.Queues(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serveLocked(names)
	return nil
}

// listen reads the signals of queues and handles them, until ctx is done.
func (c *control) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.signalled.added:
		}
		for _, q := range c.signalled.take() {
			c.readSignals(ctx, q)
		}
	}
}

// readSignals reads a queue's new signals and handles them.
func (c *control) readSignals(ctx context.Context, q *servedQueue) {
	last := q.cursor.Load()
	if last == nil {
		return
	}
	signals, cursor, err := q.queue.Signals(ctx, *last)
	if err != nil && ctx.Err() == nil {
		c.pool.log.Warn("reading signals failed", "queue", q.name, "error", err)
		_ = rdb.Sleep(ctx, rdb.DefaultFirstPause)
	}
	for _, signal := range signals {
		c.handleSignal(q, signal)
	}
	if q.cursor.CompareAndSwap(last, &cursor) {
		c.watchSignals(q)
	}
}

// watchSignals makes listen read the signals of a queue that come after its cursor.
func (c *control) watchSignals(q *servedQueue) {
	if cursor := q.cursor.Load(); cursor != nil {
		c.pool.watch.Set(watchID{q, "signals"}, func() { c.signalled.add(q) }, *cursor)
	}
	if q.cursor.Load() == nil { // unwatch was called meanwhile
		c.pool.watch.Remove(watchID{q, "signals"})
	}
}

// unwatch ends the watches of a queue.
func (c *control) unwatch(q *servedQueue) {
	q.cursor.Store(nil)
	for _, streams := range []string{"lines", "signals"} {
		c.pool.watch.Remove(watchID{q, streams})
	}
}

// A watchID identifies streams of a queue that are watched.
type watchID struct {
	queue   *servedQueue
	streams string // "lines" or "signals"
}

// A queueList has queues until they are taken.
type queueList struct {
	added notification

	mu     sync.Mutex
	queues []*servedQueue
}

func (l *queueList) add(q *servedQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues = append(l.queues, q)
	l.added.send()
}

// take returns the queues and removes them from the list.
func (l *queueList) take() []*servedQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	queues := l.queues
	l.queues = nil
	return queues
}

func (c *control) handleSignal(q *servedQueue, signal queue.Signal) {
	switch signal.Kind {
	case queue.SignalDue:
		c.pool.mover.Wake(q.name)
	case queue.SignalSchedule:
		c.pool.crons.Wake(q.name)
	case queue.SignalPause, queue.SignalResume:
		c.sched.setPaused(q, signal.Kind == queue.SignalPause)
	case queue.SignalCancel:
		for _, session := range c.sched.sessions() {
			if session.queue == q {
				session.cancel(signal.Job)
			}
		}
	case queue.SignalQuiet:
		if c.isForUs(signal.Worker) {
			c.pool.log.Info("quiet signal: fetching no more jobs")
			c.pool.Quiet()
		}
	case queue.SignalStop:
		if c.isForUs(signal.Worker) {
			c.pool.log.Info("stop signal: stopping")
			c.pool.stop()
		}
	}
}

// isForUs reports whether a signal is for this worker: it names the worker, one of its
// leases, or no worker.
func (c *control) isForUs(worker string) bool {
	return worker == "" || worker == c.pool.name || strings.HasPrefix(worker, c.pool.name+".")
}

// About is the description of a worker in [queue.WorkerInfo], as JSON.
type About struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"` // names and patterns
	Kinds       []string  `json:"kinds"`  // that have a handler; nil if it is not known
	State       string    `json:"state"`  // running, quiet or stopping
	Stuck       int       `json:"stuck"`  // abandoned handlers that have not returned
}

// aboutJSON returns the worker's [About] as it is written to Redis.
func (c *control) aboutJSON() []byte {
	host, _ := os.Hostname()
	about := About{
		Name: c.pool.name, Host: host, PID: os.Getpid(), Started: c.pool.born,
		Concurrency: c.pool.config.Concurrency, State: c.pool.state(), Stuck: int(c.sched.abandoned.Load()),
	}
	for _, config := range c.served() {
		about.Queues = append(about.Queues, config.Name)
	}
	about.Kinds = c.pool.executor.kindNames()
	text, _ := json.Marshal(about) // strings, numbers and times always marshal
	return text
}

// describe writes the worker's [About] to Redis each time that it has changed, until ctx
// is done. It ignores errors, because nothing depends on the description.
func (c *control) describe(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.sched.aboutChanged:
		}
		about := c.aboutJSON()
		for _, session := range c.sched.sessions() {
			_ = session.lease.Describe(ctx, about)
		}
	}
}
