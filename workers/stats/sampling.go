package stats

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A sampling is whether and when a pool samples a queue.
type sampling struct {
	served atomic.Int32 // how often
	begun  time.Time
	phase  float64   // the part of the first interval before the first sample: not all at the same time
	next   time.Time // zero before the first sample
	taken  int64     // of the latest sample
}

// isDue reports whether the time has come, by the interval of the pool: it has perhaps begun to serve
// more queues since then.
func (s *sampling) isDue(now time.Time, interval time.Duration) bool {
	next := s.next
	if next.IsZero() {
		next = s.begun.Add(time.Duration(s.phase * float64(interval)))
	}
	return s.served.Load() > 0 && !now.Before(next)
}

// Intervals of samples.
const (
	sampleEvery = time.Minute
	sampleSlack = 5 * time.Second // ticks are not exact

	// Pools of many queues sample each of them less often.
	samplePause = 200 * time.Millisecond

	// sampleSpan is the time over which the samples of one flush interval are spread, at most.
	sampleSpan = 8 * time.Second

	// A pool leaves a queue to the one that samples it as long as that has done so within
	// sampleHold intervals. It looks again after some of them, more where there are many pools,
	// so that all together look some ten times in an interval.
	sampleHold   = 2.5
	poolsPerLook = 10
)

// sampleInterval returns the time between the samples of a queue by a pool of so many.
func sampleInterval(queues int) time.Duration {
	return max(sampleEvery, time.Duration(queues)*samplePause)
}

// sampleDue samples the queues whose time has come.
func (c *Collector) sampleDue(ctx context.Context, now time.Time) {
	if c.sync(ctx) != nil {
		return
	}
	if now.Sub(c.counted) >= sampleEvery {
		if pools, err := queue.CountPools(ctx, c.config.Client, c.clock.at(now)); err == nil {
			c.pools, c.counted = pools, now
		}
	}
	due, interval := c.due(now)
	slots := c.freeSlots(ctx)
	for i, counter := range due {
		if i > 0 && rdb.Sleep(ctx, min(samplePause, sampleSpan/time.Duration(len(due)))) != nil {
			return
		}
		s := &counter.sample
		s.next = now.Add(interval - sampleSlack)
		ours, err := c.sampleQueue(ctx, counter, interval, slots)
		var format *queue.FormatError
		switch {
		case err != nil && ctx.Err() == nil && !errors.As(err, &format):
			c.log.Debug("queue cannot be sampled", "queue", counter.queue.Name(), "error", err)
		case err == nil && !ours:
			looks := max(1, c.pools/poolsPerLook)
			s.next = now.Add(interval*time.Duration(looks) + rand.N(interval*time.Duration(looks)))
		}
	}
}

// due returns the counters of the queues that are to be sampled, and the interval of samples.
func (c *Collector) due(now time.Time) (due []*Counter, interval time.Duration) {
	counters := c.all()
	interval = sampleInterval(len(counters))
	for _, counter := range counters {
		if counter.sample.isDue(now, interval) {
			due = append(due, counter)
		}
	}
	return due, interval
}

// sampleQueue samples a queue, and reports whether this pool does so, at that interval.
func (c *Collector) sampleQueue(ctx context.Context, counter *Counter, interval time.Duration, slots freeSlots) (ours bool, err error) {
	q := counter.queue
	if ours, err = c.sendSample(ctx, q, interval); !ours || err != nil {
		return ours, err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return true, err
	}
	total, _, err := q.Counters(ctx, 0)
	if err != nil {
		return true, err
	}
	taken, free := Taken(total, depth), 0
	// Reading all leases costs most, so it is done only for queues that may be stalled.
	if depth.Waiting > 0 && !depth.Paused && (depth.Active == 0 || taken == counter.sample.taken) {
		if free, err = slots(q.Name()); err != nil {
			return true, err
		}
	}
	counter.sample.taken = taken
	return c.sendSample(ctx, q, interval, depth.Waiting, depth.Active, depth.Delayed, depth.Dead, depth.Oldest.Milliseconds(), total.Enqueued,
		depth.Time.UnixMilli(), taken, free)
}

// Taken returns a number that changes with each job that is taken, and with others that leave.
func Taken(total queue.Counts, depth queue.Depth) int64 {
	return total.Succeeded + total.Failed + total.Discarded + total.Cancelled + int64(depth.Active)
}

// A freeSlots returns how many slots of all pools are free for jobs of a queue.
type freeSlots func(queue string) (int, error)

// freeSlots returns a function that reads what the pools hold once, when it is first called.
func (c *Collector) freeSlots(ctx context.Context) freeSlots {
	var pools []queue.PoolInfo
	held := sync.OnceValues(func() (held map[string]map[string]int, err error) {
		if pools, err = c.config.Client.Pools(ctx); err == nil {
			held, err = queue.HeldByPools(ctx, c.config.Client)
		}
		return held, err
	})
	return func(name string) (free int, err error) {
		held, err := held()
		for _, pool := range pools {
			if err == nil && pool.Expires >= 0 && pool.Serves(name) && pool.TakesJobs() {
				free += pool.Free(name, held[pool.Name])
			}
		}
		return free, err
	}
}

// sendSample claims the right to sample a queue, or also writes values.
func (c *Collector) sendSample(ctx context.Context, q *queue.Queue, interval time.Duration, values ...any) (ours bool, err error) {
	for range 2 { // the clock of Redis may have been set
		sent := time.Now()
		keys, times := bucketKeys(q, c.config.Pool, c.clock.at(sent))
		reply, err := sampleScript.Run(ctx, c.db, keys, append(append(times, c.config.Pool, int64(sampleHold*float64(interval.Milliseconds()))), values...)...)
		if err != nil {
			return false, err
		}
		c.clock = redisClock{reply.Time(0), sent}
		if reply.Word != "clock" {
			return reply.Word == "ok", nil
		}
	}
	return false, errClock
}

var errClock = errors.New("the clock of Redis jumps")
