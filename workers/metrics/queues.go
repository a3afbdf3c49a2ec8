package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/queue"
)

// queues reads from Redis how all queues stand.
type queues struct {
	client                             *queue.Client
	jobs, oldest, paused, events, isUp *prometheus.Desc
}

func newQueues(client *queue.Client) *queues {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skidway_"+name, help, labels, nil)
	}
	return &queues{
		client: client,
		jobs:   desc("queue_jobs", "Jobs by state and, where they are waiting or active, by priority.", "queue", "state", "priority"),
		oldest: desc("queue_oldest_seconds", "For how long the first of the waiting jobs has been in its line.", "queue"),
		paused: desc("queue_paused", "1 while the queue is paused.", "queue"),
		events: desc("queue_events_total", "What happened to jobs of the queue, in all processes, since it was first used.", "queue", "event"),
		isUp:   desc("redis_up", "0 when Redis could not be asked."),
	}
}

func (q *queues) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.jobs, q.oldest, q.paused, q.events, q.isUp} {
		out <- d
	}
}

func (q *queues) collect(ctx context.Context, out chan<- prometheus.Metric) {
	up := 1.0
	names, err := q.client.Queues(ctx)
	if err != nil {
		up = 0
	}
	for _, name := range names[:min(len(names), mostNames)] {
		if err := q.collectOne(ctx, name, out); err != nil {
			up = 0
		}
	}
	out <- prometheus.MustNewConstMetric(q.isUp, prometheus.GaugeValue, up)
}

func (q *queues) collectOne(ctx context.Context, name string, out chan<- prometheus.Metric) error {
	one, err := q.client.Queue(name)
	if err != nil {
		return err
	}
	depth, err := one.Depth(ctx)
	if err != nil {
		return err
	}
	counters, err := one.Counters(ctx, 0)
	if err != nil {
		return err
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{name}, labels...)...)
	}
	for state, jobs := range map[queue.State]queue.ByPriority{queue.Waiting: depth.Waiting, queue.Active: depth.Active} {
		gauge(q.jobs, float64(jobs.High), string(state), queue.High.String())
		gauge(q.jobs, float64(jobs.Normal), string(state), queue.Normal.String())
		gauge(q.jobs, float64(jobs.Low), string(state), queue.Low.String())
	}
	for _, state := range []queue.State{queue.Delayed, queue.Dead, queue.Finished} {
		gauge(q.jobs, float64(depth.Of(state)), string(state), "")
	}
	gauge(q.oldest, depth.Oldest.Seconds())
	paused := 0.0
	if depth.Paused {
		paused = 1
	}
	gauge(q.paused, paused)
	for event, n := range counters.Total.Named() {
		out <- prometheus.MustNewConstMetric(q.events, prometheus.CounterValue, float64(n), name, event)
	}
	return nil
}
