package metrics

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/queue"
	"skidway/workers"
)

// Metrics is a [prometheus.Collector] of the jobs that the pools and the client of a
// process handle, and of the queues. It is safe for concurrent use.
type Metrics struct {
	enqueued, started, crashed *prometheus.CounterVec
	ended                      map[queue.Disposition][]*prometheus.CounterVec
	waited, took               *prometheus.HistogramVec
	leases                     *prometheus.CounterVec
	process                    []prometheus.Collector // all of these
	unrecorded, maxUnrecorded  *prometheus.Desc
	queues                     *queues

	mu    sync.Mutex
	names map[string]bool // that labels have
	pools map[*workers.Pool]bool
}

// New returns the metrics of a process and of the queues of the client's Redis.
func New(client *queue.Client) *Metrics {
	m := &Metrics{queues: newQueues(client), names: map[string]bool{}, pools: map[*workers.Pool]bool{}}
	m.unrecorded = prometheus.NewDesc("skidway_jobs_unrecorded", "Jobs that ran in this process and whose end Redis has not confirmed.", nil, nil)
	m.maxUnrecorded = prometheus.NewDesc("skidway_jobs_unrecorded_max", "Number of unrecorded jobs at which this process starts no more.", nil, nil)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skidway_" + name + "_total", Help: help}, labels)
		m.process = append(m.process, c)
		return c
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skidway_" + name + "_seconds", Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}, []string{"queue", "kind"})
		m.process = append(m.process, h)
		return h
	}
	m.enqueued = counter("jobs_enqueued", "Jobs that this process has added.", "queue", "kind")
	m.started = counter("jobs_started", "Attempts that were started.", "queue", "kind")
	m.crashed = counter("jobs_crashed", "Attempts at jobs whose last worker had died.", "queue", "kind")
	failed := counter("jobs_failed", "Attempts that failed.", "queue", "kind")
	m.ended = map[queue.Disposition][]*prometheus.CounterVec{
		queue.AttemptSucceeded: {counter("jobs_done", "Jobs that succeeded.", "queue", "kind")},
		queue.AttemptDiscarded: {counter("jobs_discarded", "Jobs that had nothing to do.", "queue", "kind")},
		queue.AttemptCancelled: {counter("jobs_cancelled", "Jobs that were cancelled.", "queue", "kind")},
		queue.AttemptRetry:     {failed, counter("jobs_retried", "Failed attempts that are repeated.", "queue", "kind")},
		queue.AttemptSnoozed:   {counter("jobs_snoozed", "Attempts that were snoozed: they have not failed.", "queue", "kind")},
		queue.AttemptDead:      {failed, counter("jobs_dead", "Jobs that failed for good.", "queue", "kind")},
		queue.AttemptReturned:  {counter("jobs_returned", "Jobs handed back unfinished.", "queue", "kind")},
	}
	m.waited = histogram("job_wait", "Time in line until a worker fetched the job.")
	m.took = histogram("job_duration", "Time that an attempt took.")
	m.leases = counter("leases_lost", "Leases that this process has not renewed in time.", "queue")
	return m
}

// Hooks returns the hooks for the configuration of the pools.
func (m *Metrics) Hooks() workers.Hooks {
	return workers.Hooks{
		Started: func(job *queue.Job) {
			labels := m.labels(job.Queue, job.Kind)
			m.started.With(labels).Inc()
			if job.Quarantines > 0 {
				m.crashed.With(labels).Inc()
			}
			if waited, known := job.Waited(time.Now()); known {
				m.waited.With(labels).Observe(waited.Seconds())
			}
		},
		Ended: func(job *queue.Job, report workers.Report) {
			labels := m.labels(job.Queue, job.Kind)
			for _, counter := range m.ended[report.Disposition] {
				counter.With(labels).Inc()
			}
			m.took.With(labels).Observe(report.Duration.Seconds())
		},
		LeaseLost: func(name string) { m.leases.With(prometheus.Labels{"queue": m.name(name)}).Inc() },
	}
}

// AddPool includes a pool in the metrics of unrecorded jobs, until remove is called.
func (m *Metrics) AddPool(pool *workers.Pool) (remove func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pools[pool] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.pools, pool)
	}
}

// collectPools collects the metrics of unrecorded jobs.
func (m *Metrics) collectPools(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unrecorded, limit := 0, 0
	for pool := range m.pools {
		now, _, maxNow := pool.Unrecorded()
		unrecorded, limit = unrecorded+now, limit+maxNow
	}
	out <- prometheus.MustNewConstMetric(m.unrecorded, prometheus.GaugeValue, float64(unrecorded))
	out <- prometheus.MustNewConstMetric(m.maxUnrecorded, prometheus.GaugeValue, float64(limit))
}

// Enqueue is middleware for the configuration of the client.
func (m *Metrics) Enqueue(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
	results := next(ctx, jobs)
	for i := range jobs {
		if results[i].Err == nil {
			name := jobs[i].Options.Queue
			if name == "" {
				name = queue.DefaultQueue
			}
			m.enqueued.With(m.labels(name, jobs[i].Args.Kind())).Inc()
		}
	}
	return results
}

// maxNames bounds the memory of names, which clients can choose.
const maxNames = 1000

func (m *Metrics) name(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.names[name] {
		if len(m.names) >= maxNames {
			return "other"
		}
		m.names[name] = true
	}
	return name
}

func (m *Metrics) labels(name, kind string) prometheus.Labels {
	return prometheus.Labels{"queue": m.name(name), "kind": m.name(kind)}
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.process {
		c.Describe(out)
	}
	out <- m.unrecorded
	out <- m.maxUnrecorded
	m.queues.describe(out)
}

// Collect implements [prometheus.Collector]. It blocks until Redis has answered, at most
// for [ReadTimeout].
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.process {
		c.Collect(out)
	}
	m.collectPools(out)
	ctx, cancel := context.WithTimeout(context.Background(), ReadTimeout)
	defer cancel()
	m.queues.collect(ctx, out)
}

// ReadTimeout bounds how long a scrape waits for Redis.
const ReadTimeout = 5 * time.Second

// queues collects the metrics of all queues from Redis.
type queues struct {
	client                                                   *queue.Client
	jobs, oldest, paused, workers, slots, free, events, isUp *prometheus.Desc
}

func newQueues(client *queue.Client) *queues {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skidway_"+name, help, labels, nil)
	}
	return &queues{
		client:  client,
		jobs:    desc("queue_jobs", "Jobs by state and, where they are waiting or active, by priority.", "queue", "state", "priority"),
		oldest:  desc("queue_oldest_seconds", "Time that the first waiting job has been in its line.", "queue"),
		paused:  desc("queue_paused", "1 while the queue is paused.", "queue"),
		workers: desc("queue_workers", "Living workers that serve the queue.", "queue"),
		slots:   desc("queue_slots", "Slots of the workers that serve the queue and are neither quiet nor stopping.", "queue"),
		free:    desc("queue_free_slots", "Of those slots, the ones that hold no job of any queue.", "queue"),
		events:  desc("queue_events_total", "Events of the jobs of the queue, in all processes, since its first use.", "queue", "event"),
		isUp:    desc("redis_up", "0 if Redis could not be read."),
	}
}

func (q *queues) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.jobs, q.oldest, q.paused, q.workers, q.slots, q.free, q.events, q.isUp} {
		out <- d
	}
}

func (q *queues) collect(ctx context.Context, out chan<- prometheus.Metric) {
	names, err := q.client.Queues(ctx)
	pools, poolsErr := q.client.Pools(ctx)
	held, heldErr := queue.HeldByPools(ctx, q.client)
	err = cmp.Or(err, poolsErr, heldErr)
	var failed atomic.Bool
	failed.Store(err != nil)
	var reads sync.WaitGroup
	slots := make(chan struct{}, maxReads)
	for _, name := range names[:min(len(names), maxNames)] {
		slots <- struct{}{}
		reads.Go(func() {
			defer func() { <-slots }()
			if err := q.collectOne(ctx, name, pools, held, out); err != nil && !unusable(err) {
				failed.Store(true)
			}
		})
	}
	reads.Wait()
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

func (q *queues) collectOne(ctx context.Context, name string, pools []queue.PoolInfo, held map[string]int, out chan<- prometheus.Metric) error {
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
	paused := 0.0
	if depth.Paused {
		paused = 1
	}
	gauge(q.paused, paused)
	workers, slots, free := 0, 0, 0
	for _, pool := range pools {
		if pool.Expires < 0 || !pool.Serves(name) {
			continue
		}
		workers++
		if pool.TakesJobs() {
			slots += pool.Concurrency
			free += max(0, pool.Concurrency-held[pool.Name])
		}
	}
	gauge(q.workers, float64(workers))
	gauge(q.slots, float64(slots))
	gauge(q.free, float64(free))
	for event, n := range total.Named() {
		out <- prometheus.MustNewConstMetric(q.events, prometheus.CounterValue, float64(n), name, event)
	}
	return nil
}
