package workers

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A control connects a pool with what happens outside of it. It serves the queues
// that are configured and those that appear and match a pattern, does what
// signals say, and writes to Redis what the worker says of itself.
type control struct {
	pool  *Pool
	sched *scheduler

	patternsChanged notification
	opened          atomic.Int64   // leases, so that none has the name of another
	leases          sync.WaitGroup // the lease loops and their recoveries

	mu      sync.Mutex      // one change of the set of queues at a time
	configs []Queue         // what is to be served, by name or pattern
	runCtx  context.Context // of the lease loops; nil before Run
}

// start serves the queues that are configured by name. Their lease loops go on
// until the queue is served no longer, or ctx is done.
func (c *control) start(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runCtx = ctx
	c.serveNamedLocked()
}

// stopQueues ends all lease loops, and waits until they have written what is to be
// written and closed their leases. The pool must be quiet.
func (c *control) stopQueues() {
	c.mu.Lock() // a change of queues that is under way adds no more loops after this
	for _, q := range c.sched.all() {
		q.stop()
	}
	c.mu.Unlock()
	c.leases.Wait()
}

// SetQueues changes what the pool serves, also while it runs. Queues that it
// serves no longer give back what was not started; their running jobs go on.
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

// serveLocked serves those of some queues that are to be served and are not.
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
			c.pool.log.Warn("queue can't be served", "queue", name, "error", err)
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

// served returns the configuration of what is served.
func (c *control) served() []Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.configs
}

// discover serves the queues whose names match the patterns, those that are
// there and those that appear, until ctx is done.
func (c *control) discover(ctx context.Context) {
	var waits sync.WaitGroup
	defer waits.Wait()
	mark := ""
	for ctx.Err() == nil {
		if !slices.ContainsFunc(c.served(), Queue.pattern) {
			mark = ""
			select {
			case <-ctx.Done():
			case <-c.patternsChanged:
			}
			continue
		}
		var err error
		if mark, err = c.awaitQueues(ctx, &waits, mark); err == nil {
			err = c.serveMatches(ctx)
		}
		if err != nil && ctx.Err() == nil {
			mark = "" // queues may have appeared that were not listed
			c.pool.log.Warn("queues cannot be listed", "error", err)
			_ = rdb.Sleep(ctx, time.Second)
		}
	}
}

// awaitQueues blocks until there may be other queues, or patterns.
func (c *control) awaitQueues(ctx context.Context, waits *sync.WaitGroup, mark string) (string, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		mark string
		err  error
	}
	found := make(chan answer, 1)
	waits.Go(func() {
		mark, err := c.pool.client.AwaitQueues(waiting, mark, maxIdle)
		found <- answer{mark, err}
	})
	select {
	case <-c.patternsChanged:
		return mark, nil
	case a := <-found:
		return a.mark, a.err
	}
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

// listen reads the signals of all queues and handles them, until ctx is done.
func (c *control) listen(ctx context.Context) {
	news := streamReader{db: c.pool.client.DB(), log: c.pool.log}
	defer news.wait()
	for ctx.Err() == nil {
		var queues []*servedQueue
		var cursors []rdb.Mark
		for _, q := range c.sched.all() {
			if cursor := q.cursor.Load(); cursor != nil {
				queues, cursors = append(queues, q), append(cursors, *cursor)
			}
		}
		if len(cursors) == 0 {
			select {
			case <-ctx.Done():
			case <-c.sched.queuesChanged:
			}
			continue
		}
		select {
		case <-c.sched.queuesChanged:
			_ = rdb.Sleep(ctx, settleTime)
		case keys := <-news.read(ctx, cursors):
			news.ended(keys)
			for i, q := range queues {
				if slices.Contains(keys, cursors[i].Key) {
					c.readSignals(ctx, q)
				}
			}
		}
	}
}

// settleTime gathers changes of the set of queues, so that few reads are left to
// their end.
const settleTime = 50 * time.Millisecond

// readSignals reads a queue's new signals and handles them.
func (c *control) readSignals(ctx context.Context, q *servedQueue) {
	signals, cursor, err := q.queue.Signals(ctx, *q.cursor.Load())
	if err != nil {
		if ctx.Err() == nil {
			c.pool.log.Warn("reading signals failed", "queue", q.name, "error", err)
			_ = rdb.Sleep(ctx, rdb.DefaultFirstPause)
		}
		return
	}
	q.cursor.Store(&cursor)
	for _, signal := range signals {
		c.handleSignal(q, signal)
	}
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
			c.pool.log.Info("told to be quiet: taking no more jobs")
			c.pool.Quiet()
		}
	case queue.SignalStop:
		if c.isForUs(signal.Worker) {
			c.pool.log.Info("told to stop")
			c.pool.stop()
		}
	}
}

// isForUs reports whether a signal for a worker is for this one: for its name, for
// one of its leases, or for all.
func (c *control) isForUs(worker string) bool {
	return worker == "" || worker == c.pool.name || strings.HasPrefix(worker, c.pool.name+".")
}

// An About is what a worker says of itself to people: the JSON in
// [queue.WorkerInfo].
type About struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"` // names and patterns
	State       string    `json:"state"`  // running, quiet or stopping
	Stuck       int       `json:"stuck"`  // handlers that were left behind and go on
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
	text, _ := json.Marshal(about) // strings, numbers and times always marshal
	return text
}

// describe writes to Redis each time that the worker's [About] has changed, until
// ctx is done. It is for people only: errors are passed over.
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
