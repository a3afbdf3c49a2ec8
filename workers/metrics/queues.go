package metrics

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/queue"
)

// ReadTimeout bounds how long a scrape waits for Redis.
const ReadTimeout = 5 * time.Second

// Queues is a [prometheus.Collector] of all queues in a Redis. One process should export them, see
// the package's documentation. It is safe for concurrent use.
type Queues struct {
	client                                                            *queue.Client
	jobs, oldest, overdue, paused, workers, slots, free, events, isUp *prometheus.Desc
}

// NewQueues returns the metrics of the queues in the client's Redis.
func NewQueues(client *queue.Client) *Queues {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skidway_"+name, help, labels, nil)
	}
	return &Queues{
		client:  client,
		jobs:    desc("queue_jobs", "Jobs by state and, where they are waiting or active, by priority.", "queue", "state", "priority"),
		oldest:  desc("queue_oldest_seconds", "Time that the first waiting job has been in its line.", "queue"),
		overdue: desc("queue_overdue_seconds", "Time since the first delayed job was due, which workers make ready.", "queue"),
		paused:  desc("queue_paused", "1 while the queue is paused.", "queue"),
		workers: desc("queue_workers", "Living workers that serve the queue.", "queue"),
		slots:   desc("queue_slots", "Slots of the workers that serve the queue and are neither quiet nor stopping.", "queue"),
		free:    desc("queue_free_slots", "Of those slots, the ones that hold no job of any queue, within the queue's limit.", "queue"),
		events:  desc("queue_events_total", "Events of the jobs of the queue, in all processes, since its first use.", "queue", "event"),
		isUp:    desc("queues_up", "0 if the queues could not be read."),
	}
}

// Describe implements [prometheus.Collector].
func (q *Queues) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.jobs, q.oldest, q.overdue, q.paused, q.workers, q.slots, q.free, q.events, q.isUp} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. It blocks until Redis has answered, at most
// for [ReadTimeout]. It omits metrics that could not be read.
func (q *Queues) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), ReadTimeout)
	defer cancel()
	names, err := q.client.Queues(ctx)
	names = names[:min(len(names), maxNames)]
	var failed atomic.Bool
	failed.Store(err != nil)
	var reads sync.WaitGroup
	var pools poolList
	reads.Go(func() {
		if pools = readPools(ctx, q.client); cmp.Or(pools.err, pools.heldErr) != nil {
			failed.Store(true)
		}
	})
	isRead := make([]bool, len(names))
	slots := make(chan struct{}, maxReads)
	for i, name := range names {
		slots <- struct{}{}
		reads.Go(func() {
			defer func() { <-slots }()
			err := q.collectOne(ctx, name, out)
			isRead[i] = err == nil
			if err != nil && !unusable(err) {
				failed.Store(true)
			}
		})
	}
	reads.Wait()
	for i, name := range names {
		if isRead[i] && pools.err == nil && !q.collectPools(name, pools, out) {
			failed.Store(true)
		}
	}
	up := 1.0
	if failed.Load() {
		up = 0
	}
	out <- prometheus.MustNewConstMetric(q.isUp, prometheus.GaugeValue, up)
}

// maxReads bounds the queues that are read at the same time: one after the other, a
// thousand of them would take longer than [ReadTimeout] where a round trip takes 3 ms.
const maxReads = 16

// unusable reports whether a listed queue can't be read whatever Redis does: another client
// has listed a name that is none, or another release has written the queue.
func unusable(err error) bool {
	var format *queue.FormatError
	return errors.Is(err, queue.ErrInvalid) || errors.As(err, &format)
}

func (q *Queues) collectOne(ctx context.Context, name string, out chan<- prometheus.Metric) error {
	one, err := q.client.Queue(name)
	if err != nil {
		return err
	}
	depth, err := one.Depth(ctx)
	if err != nil {
		return err
	}
	total, _, err := one.Counters(ctx, 0)
	if err != nil {
		return err
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{name}, labels...)...)
	}
	for state, jobs := range map[queue.State]map[queue.Priority]int{queue.Waiting: depth.WaitingBy, queue.Active: depth.ActiveBy} {
		for priority, n := range jobs {
			gauge(q.jobs, float64(n), string(state), priority.String())
		}
	}
	for state, n := range map[queue.State]int{queue.Delayed: depth.Delayed, queue.Dead: depth.Dead, queue.Finished: depth.Finished} {
		gauge(q.jobs, float64(n), string(state), "")
	}
	gauge(q.oldest, depth.Oldest.Seconds())
	overdue := 0.0
	if !depth.NextDue.IsZero() {
		overdue = max(0, depth.Time.Sub(depth.NextDue).Seconds())
	}
	gauge(q.overdue, overdue)
	paused := 0.0
	if depth.Paused {
		paused = 1
	}
	gauge(q.paused, paused)
	for event, n := range total.Named() {
		out <- prometheus.MustNewConstMetric(q.events, prometheus.CounterValue, float64(n), name, event)
	}
	return nil
}

// A poolList is all pools, and how many jobs they hold.
type poolList struct {
	pools        []queue.PoolInfo
	held         map[string]map[string]int // by pool and queue
	err, heldErr error                     // of reading pools, and of reading held
}

func readPools(ctx context.Context, client *queue.Client) (list poolList) {
	list.pools, list.err = client.Pools(ctx)
	list.held, list.heldErr = queue.HeldByPools(ctx, client)
	return list
}

// collectPools sends the metrics of the workers that serve a queue. It omits the free slots, and
// returns false, if it is not known how many jobs one of them holds.
func (q *Queues) collectPools(name string, list poolList, out chan<- prometheus.Metric) (known bool) {
	workers, slots, free := 0, 0, 0
	known = list.heldErr == nil
	for _, pool := range list.pools {
		if pool.Expires < 0 || !pool.Serves(name) {
			continue
		}
		workers++
		if pool.TakesJobs() {
			held := list.held[pool.Name]
			for _, n := range held {
				known = known && n < math.MaxInt
			}
			slots += pool.Concurrency
			free += pool.Free(name, held)
		}
	}
	gauge := func(desc *prometheus.Desc, value int) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), name)
	}
	gauge(q.workers, workers)
	gauge(q.slots, slots)
	if known {
		gauge(q.free, free)
	}
	return known
}
