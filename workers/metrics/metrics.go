package metrics

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/queue"
	"skidway/workers"
)

// Metrics is a [prometheus.Collector] of the jobs that the pools and the client of a
// process handle. It is safe for concurrent use.
type Metrics struct {
	enqueued, started, crashed *prometheus.CounterVec
	ended                      map[queue.Disposition][]*prometheus.CounterVec
	waited, took               *prometheus.HistogramVec
	leases                     *prometheus.CounterVec
	process                    []prometheus.Collector // all of these
	unrecorded, maxUnrecorded  *prometheus.Desc
	isUp                       *prometheus.Desc
	client                     *queue.Client

	mu    sync.Mutex
	names map[string]bool // that labels have
	pools map[*workers.Pool]bool
}

// New returns the metrics of a process that uses the client.
func New(client *queue.Client) *Metrics {
	m := &Metrics{client: client, names: map[string]bool{}, pools: map[*workers.Pool]bool{}}
	m.unrecorded = prometheus.NewDesc("skidway_jobs_unrecorded", "Jobs that ran in this process and whose end Redis has not confirmed.", nil, nil)
	m.maxUnrecorded = prometheus.NewDesc("skidway_jobs_unrecorded_max", "Number of unrecorded jobs at which this process starts no more.", nil, nil)
	m.isUp = prometheus.NewDesc("skidway_redis_up", "0 if Redis did not answer this process.", nil, nil)
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

// Enqueue is middleware for the configuration of the client. It counts the jobs that a call has
// added, also those that are not confirmed, but none that an earlier call has added.
func (m *Metrics) Enqueue(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
	results := next(ctx, jobs)
	for i := range jobs {
		if results[i].ID != "" && !results[i].Repeated {
			name, _, _ := strings.Cut(results[i].ID, ":") // args may have a queue that the options have not
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
	out <- m.isUp
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
	up := 1.0
	if m.client.DB().Redis().Ping(ctx).Err() != nil {
		up = 0
	}
	out <- prometheus.MustNewConstMetric(m.isUp, prometheus.GaugeValue, up)
}
