package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"

	"skidway/queue"
)

// instruments are the metrics of a process.
type instruments struct {
	meter     metric.Meter
	operation messagingconv.ClientOperationDuration
	process   messagingconv.ProcessDuration
	wait      metric.Float64Histogram
}

// seconds are the buckets of durations. The conventions advise those up to 10 s; jobs take longer.
var seconds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900, 1800, 3600}

func (t *Telemetry) newInstruments(meter metric.Meter) (m *instruments, err error) {
	m = &instruments{meter: meter}
	collect := func(failed error) { err = errors.Join(err, failed) }
	var failed error
	m.operation, failed = messagingconv.NewClientOperationDuration(meter)
	collect(failed)
	sent, failed := messagingconv.NewClientSentMessagesObservable(meter)
	collect(failed)
	consumed, failed := messagingconv.NewClientConsumedMessagesObservable(meter)
	collect(failed)
	_, failed = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		observe := func(d *destination) {
			if n := d.sent.Load(); n > 0 {
				o.ObserveInt64(sent.Inst(), n, metric.WithAttributes(d.send.metrics...))
			}
			if n := d.consumed.Load(); n > 0 {
				o.ObserveInt64(consumed.Inst(), n, metric.WithAttributes(d.process.metrics...))
			}
		}
		observe(t.others)
		for _, d := range t.destinations.Range {
			observe(d.(*destination))
		}
		return nil
	}, sent.Inst(), consumed.Inst())
	collect(failed)
	m.process, failed = messagingconv.NewProcessDuration(meter, metric.WithExplicitBucketBoundaries(seconds...))
	collect(failed)
	m.wait, failed = meter.Float64Histogram("skidway.job.wait", metric.WithUnit("s"),
		metric.WithDescription("Time in line until a worker fetched the job."), metric.WithExplicitBucketBoundaries(seconds...))
	collect(failed)
	return m, err
}

// observeTimeout bounds how long a collection of metrics waits for Redis.
const observeTimeout = 5 * time.Second

// ObserveQueues adds the metrics of all queues in the client's Redis, which are read at each
// collection. One process should do this: the values are the same in all.
func (t *Telemetry) ObserveQueues(client *queue.Client) error {
	gauge := func(name, unit, description string) (metric.Float64ObservableGauge, error) {
		return t.metrics.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	}
	jobs, err1 := gauge("skidway.queue.jobs", "{job}", "Jobs by state and, where they are waiting or active, by priority.")
	oldest, err2 := gauge("skidway.queue.oldest", "s", "Time that the first waiting job has been in its line.")
	workers, err3 := gauge("skidway.queue.workers", "{worker}", "Living workers that serve the queue.")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := t.metrics.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		defer cancel()
		names, err := client.Queues(ctx)
		if err != nil {
			return err
		}
		pools, err := client.Pools(ctx)
		if err != nil {
			return err
		}
		for _, name := range names[:min(len(names), maxDestinations)] {
			q, err := client.Queue(name)
			if err != nil {
				continue // another client has listed a name that is none
			}
			depth, err := q.Depth(ctx)
			if err != nil {
				return err
			}
			observe := func(gauge metric.Float64ObservableGauge, value float64, attributes ...attribute.KeyValue) {
				o.ObserveFloat64(gauge, value, metric.WithAttributes(append(attributes, semconv.MessagingDestinationName(name))...))
			}
			state := attribute.Key("skidway.job.state").String
			for s, byPriority := range map[queue.State]map[queue.Priority]int{queue.Waiting: depth.WaitingBy, queue.Active: depth.ActiveBy} {
				for priority, n := range byPriority {
					observe(jobs, float64(n), state(string(s)), priorityKey.String(priority.String()))
				}
			}
			for s, n := range map[queue.State]int{queue.Delayed: depth.Delayed, queue.Dead: depth.Dead, queue.Finished: depth.Finished} {
				observe(jobs, float64(n), state(string(s)))
			}
			observe(oldest, depth.Oldest.Seconds())
			serving := 0
			for _, pool := range pools {
				if pool.Expires >= 0 && pool.Serves(name) {
					serving++
				}
			}
			observe(workers, float64(serving))
		}
		return nil
	}, jobs, oldest, workers)
	return err
}
