package workers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A control serves the queues that are configured by name or match a pattern, handles
// signals.
type control struct {
	pool  *Pool
	sched *scheduler

	scanEvery       time.Duration
	patternsChanged notification
	signalled       queueList      // queues that have new signals
	opened          atomic.Int64   // number of leases, for their names
	leases          sync.WaitGroup // the goroutines that keep leases
	recent          recentEnds

	mu      sync.Mutex      // held while the set of queues changes
	configs []Queue         // to be served, by name or pattern
	runCtx  context.Context // of the queues; nil before Run
}

// start serves the queues that are configured by name, until they are removed or ctx is
// done.
func (c *control) start(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runCtx = ctx
	c.serveLocked(namesOf(c.configs))
}

// stopQueues stops all queues, and blocks until all outcomes are written and the leases are
// closed. The pool must be quiet.
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
	c.serveLocked(namesOf(c.configs))
	c.sched.aboutChanged.send()
	c.patternsChanged.send()
	return nil
}

// namesOf returns the names of the queues that are configured by name.
func namesOf(configs []Queue) (names []string) {
	for _, config := range configs {
		if !config.pattern() {
			names = append(names, config.Name)
		}
	}
	return names
}

// serveLocked serves those of the queues that match the configuration and are not
// served yet.
func (c *control) serveLocked(names []string) {
	known := map[string]bool{}
	for _, q := range c.sched.all() {
		known[q.name] = true
	}
	var added []*servedQueue
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
		served := &servedQueue{name: name, queue: q, ctx: ctx, stop: stop, counter: c.pool.stats.Counter(q.Queue), config: config, place: place}
		context.AfterFunc(ctx, func() {
			c.unwatch(served)
			c.pool.stats.Leave(served.counter)
		})
		added = append(added, served)
		c.pool.mover.Add(q)
		c.pool.crons.Add(q)
	}
	if len(added) == 0 {
		return
	}
	c.sched.add(added)
	for _, q := range added {
		c.signalled.add(q)
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
	c.serveLocked(names)
	c.mu.Unlock()
	return c.leaveForgotten(ctx, names)
}

// leaveForgotten stops serving queues that match a pattern and that are no longer listed,
// because they were deleted. If Redis has only lost their names, it lists them again.
func (c *control) leaveForgotten(ctx context.Context, listed []string) error {
	known := map[string]bool{}
	for _, name := range append(namesOf(c.served()), listed...) {
		known[name] = true
	}
	for _, q := range c.sched.all() {
		if known[q.name] {
			continue
		}
		exists, err := q.queue.Exists(ctx)
		switch {
		case err != nil:
			return err
		case exists:
			if err := c.pool.client.Register(ctx, q.name); err != nil {
				return err
			}
		case c.sched.leave(q):
			c.pool.mover.Remove(q.name)
			c.pool.crons.Remove(q.name)
		}
	}
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
			if q.rests(time.Now()) {
				time.AfterFunc(restFor, func() { c.signalled.add(q) })
				continue
			}
			if err := c.readSignals(ctx, q); err != nil && ctx.Err() == nil {
				c.pool.log.Warn("reading signals failed", "queue", q.name, "error", err)
				time.AfterFunc(restFor, func() { c.signalled.add(q) })
				if isAway(err) {
					c.restServer(ctx, q)
				}
			}
		}
	}
}

// readSignals reads a queue's new signals and handles them. The first time, and when the cursor is
// ahead of Redis, it only sets the cursor. The fetcher does that before the first fetch: signals
// before the cursor are skipped, and those about jobs that it holds must not be.
func (c *control) readSignals(ctx context.Context, q *servedQueue) error {
	q.signalMu.Lock()
	defer q.signalMu.Unlock()
	if q.ctx.Err() != nil {
		return nil
	}
	reading, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	signals, cursor, err := q.queue.Signals(reading, q.signals)
	if err != nil {
		return err
	}
	for _, signal := range signals {
		c.handleSignal(q, signal)
	}
	if len(signals) == 0 && cursor.ID != q.signals.ID { // for signals before the cursor
		c.sched.setPaused(q, false) // fetches find out
		c.pool.mover.Wake(q.name)
		c.pool.crons.Wake(q.name)
	}
	q.signals = cursor
	q.heard.Store(true)
	c.watch(q, "signals", func() { c.signalled.add(q) }, cursor)
	return nil
}

// restServer makes all queues rest that are on the same master of a Cluster as a queue that could
// not be reached. Else each of them would delay those of other masters.
func (c *control) restServer(ctx context.Context, q *servedQueue) {
	server := q.queue.Server(ctx)
	if server == "" {
		return
	}
	for _, other := range c.sched.all() {
		if other.queue.Server(ctx) == server {
			other.rest(time.Now())
		}
	}
}

// watch calls notify when streams of a queue have entries after the cursors.
func (c *control) watch(q *servedQueue, streams string, notify func(), cursors ...queue.StreamCursor) {
	c.pool.watch.Set(watchID{q, streams}, notify, cursors...)
	if q.ctx.Err() != nil { // unwatch was called meanwhile
		c.unwatch(q)
	}
}

// unwatch ends the watches of a queue.
func (c *control) unwatch(q *servedQueue) {
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
				session.cancel(signal)
			}
		}
	case queue.SignalWatch:
		c.pool.reporter.watch(q)
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
