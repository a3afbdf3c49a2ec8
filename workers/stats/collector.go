package stats

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Config configures a [Collector].
type Config struct {
	Client *queue.Client
	Pool   string // its name, which no other pool has or had
	Mode   Mode
	Logger *slog.Logger // nil means [slog.Default]

	// FlushEvery is the time between two writes; zero means 10 s, and more where there are many
	// pools.
	FlushEvery time.Duration
}

// A Collector counts the attempts of a pool, and samples its queues. It is safe for concurrent
// use.
type Collector struct {
	config Config
	db     *rdb.DB
	log    *slog.Logger

	mu       sync.Mutex
	counters map[string]*Counter // by queue
	number   atomic.Int64        // of the latest write to any queue

	// The rest is used by Run and Flush, one at a time.
	flushing sync.Mutex
	clock    redisClock // from the latest answer; zero: not known
	failed   bool       // whether the latest flush has failed
	pools    int        // number of living pools
	counted  time.Time  // when they were counted
}

// NewCollector returns a collector without queues. Nothing is sent to Redis.
func NewCollector(config Config) *Collector {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Mode == "" {
		config.Mode = Full
	}
	return &Collector{config: config, db: handle.Conn(config.Client.DB()), log: config.Logger, counters: map[string]*Counter{}}
}

// Counter returns the counter of a queue, which is sampled from then on. It returns nil with
// [Off].
func (c *Collector) Counter(q *queue.Queue) *Counter {
	if c.config.Mode == Off {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	counter := c.counters[q.Name()]
	if counter == nil {
		counter = &Counter{queue: q, mode: c.config.Mode, collector: c}
		counter.sample.begun, counter.sample.phase = time.Now(), rand.Float64()
		c.counters[q.Name()] = counter
	}
	counter.sample.served.Add(1)
	return counter
}

// Leave ends the samples of a counter's queue, unless Counter was called more often. What was
// counted is still written, also what is added later.
func (c *Collector) Leave(counter *Counter) {
	if counter != nil {
		counter.sample.served.Add(-1)
	}
}

// restore returns the counter of the queue of a forgotten one, which is that one if there is no
// other.
func (c *Collector) restore(forgotten *Counter) *Counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := forgotten.queue.Name()
	if c.counters[name] == nil {
		c.counters[name] = forgotten
		forgotten.remember()
	}
	return c.counters[name]
}

// all returns the counters, and forgets those of queues that were left and have no counts.
func (c *Collector) all() (counters []*Counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, counter := range c.counters {
		if counter.sample.served.Load() <= 0 && counter.forget() {
			delete(c.counters, name)
			continue
		}
		counters = append(counters, counter)
	}
	return counters
}

// Intervals of writes. Each pool writes so seldom that all together make about two writes a
// second for a queue, as long as that is not below maxFlushEvery.
const (
	minFlushEvery = 10 * time.Second
	maxFlushEvery = time.Minute
	flushPerPool  = time.Second / 2
)

// flushTimeout bounds one flush of all queues.
const flushTimeout = 10 * time.Second

// flushEvery returns the interval of writes for a number of pools.
func flushEvery(pools int) time.Duration {
	return min(max(time.Duration(pools)*flushPerPool, minFlushEvery), maxFlushEvery)
}

// Run writes the counts, and samples the queues, until ctx is done. The caller then calls
// [Collector.Flush] when the last attempt is counted.
func (c *Collector) Run(ctx context.Context) {
	if c.config.Mode == Off {
		return
	}
	pause := rand.N(cmp.Or(c.config.FlushEvery, minFlushEvery)) // not all pools at the same time
	for rdb.Sleep(ctx, pause) == nil {
		began := time.Now()
		flushing, cancel := context.WithTimeout(ctx, flushTimeout)
		c.report(ctx, c.Flush(flushing))
		cancel()
		sampling, cancel := context.WithTimeout(ctx, flushTimeout)
		c.sampleDue(sampling, time.Now())
		cancel()
		pause = max(0, cmp.Or(c.config.FlushEvery, flushEvery(c.pools))-time.Since(began))
	}
}

// report logs the first of several errors.
func (c *Collector) report(ctx context.Context, err error) {
	if err != nil && !c.failed && ctx.Err() == nil {
		c.log.Warn("statistics cannot be written yet", "error", err)
	}
	c.failed = err != nil
}

// Flush writes what was counted, and blocks until Redis has it. What cannot be written is kept
// for the next call. The error is that of one queue.
func (c *Collector) Flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	var ready []*Counter
	var writes []*write
	now := time.Now()
	for _, counter := range c.all() {
		w := counter.next(now)
		for w != nil && !w.sent.IsZero() && now.Sub(w.sent) > keepPending {
			c.log.Error("statistics are given up", "queue", counter.queue.Name(), "counted", w.at)
			counter.wrote()
			w = counter.next(now)
		}
		if w != nil {
			ready, writes = append(ready, counter), append(writes, w)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	if err := c.sync(ctx); err != nil {
		return err
	}
	var failed error
	for len(ready) > 0 {
		n := min(len(ready), maxFlushed)
		more, again, err := c.flush(ctx, now, ready[:n], writes[:n])
		if err != nil {
			failed = err
			if ctx.Err() != nil {
				return err
			}
		}
		ready, writes = append(more, ready[n:]...), append(again, writes[n:]...)
	}
	return failed
}

// maxFlushed is the number of queues in one round trip.
const maxFlushed = 100

// keepPending is how long a write is repeated after it was first sent, which may have counted it:
// after an hour Redis forgets its number.
const keepPending = 30 * time.Minute

// flush sends one write for each of some queues, in a flush that began at a time. It returns those
// that have another one.
func (c *Collector) flush(ctx context.Context, began time.Time, counters []*Counter, writes []*write) (more []*Counter, again []*write, failed error) {
	calls := make([]rdb.Call, len(writes))
	sent := time.Now()
	for i, w := range writes {
		age := sent.Sub(w.at)
		keys, times := bucketKeys(counters[i].queue, c.config.Pool, cmp.Or(w.clock, c.clock).at(sent).Add(-age))
		calls[i] = rdb.Call{Keys: keys, Args: append(times, w.args()...)}
		if w.sent.IsZero() {
			w.sent = sent
		}
	}
	results, _ := flushScript.RunAll(ctx, c.db, calls) // each has its error
	for i, result := range results {
		next := (*write)(nil)
		switch {
		case result.Err == nil && result.Word == "ok":
			c.clock = redisClock{result.Time(0), sent}
			counters[i].wrote()
			next = counters[i].next(began)
		case result.Err == nil: // "clock"
			w := writes[i]
			if w.clock == (redisClock{}) {
				next = w
			} else {
				failed = errClock
			}
			w.clock = redisClock{result.Time(0), sent}
			c.clock = w.clock
		default:
			failed = result.Err
		}
		if next != nil {
			more, again = append(more, counters[i]), append(again, next)
		}
	}
	return more, again, failed
}

// sync makes the time of Redis known. Each answer of a script corrects it.
func (c *Collector) sync(ctx context.Context) error {
	if c.clock != (redisClock{}) {
		return nil
	}
	sent := time.Now()
	now, err := c.db.Time(ctx).Result()
	if err == nil {
		c.clock = redisClock{now, sent}
	}
	return err
}

// A redisClock computes the time of a server from one of its answers. The local clock may be set
// meanwhile: only what the monotonic clock measures is added.
type redisClock struct {
	redis time.Time // in the answer
	sent  time.Time // when the server was asked, by the local clock
}

// at returns the time of the server at a local time.
func (c redisClock) at(local time.Time) time.Time { return c.redis.Add(local.Sub(c.sent)) }
