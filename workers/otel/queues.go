package otel

import (
	"context"
	"errors"
	"sync"
	"time"

	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"skidway/queue"
)

const (
	// observeTimeout bounds how long a collection of metrics waits for Redis.
	observeTimeout = 5 * time.Second

	// maxReads bounds the queues that are read at the same time: one after the other, a
	// thousand of them would take longer than observeTimeout where a round trip takes 5 ms.
	maxReads = 16

	// maxErrors bounds the errors of one collection that are reported.
	maxErrors = 10
)

// queueGauges are the metrics of queues.
type queueGauges struct {
	jobs, oldest, workers metric.Float64ObservableGauge
}

// ObserveQueues adds the metrics of all queues in the client's Redis, which are read at each
// collection. One process should do this: the values are the same in all. Metrics that could not be
// read are omitted, and the errors are passed to the error handler of OpenTelemetry.
func (t *Telemetry) ObserveQueues(client *queue.Client) error {
	gauge := func(name, unit, description string) (metric.Float64ObservableGauge, error) {
		return t.metrics.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	}
	var g queueGauges
	var err1, err2, err3 error
	g.jobs, err1 = gauge("skidway.queue.jobs", "{job}", "Jobs by state and, where they are waiting or active, by priority.")
	g.oldest, err2 = gauge("skidway.queue.oldest", "s", "Time that the first waiting job has been in its line.")
	g.workers, err3 = gauge("skidway.queue.workers", "{worker}", "Living workers that serve the queue.")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := t.metrics.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		defer cancel()
		if err := g.observeAll(ctx, client, o); err != nil {
			global.Handle(err) // after an error of a callback the SDK exports no metrics at all
		}
		return nil
	}, g.jobs, g.oldest, g.workers)
	return err
}

// observeAll reads all queues and observes those that it could read. It returns the errors of the
// others, except those of unusable ones.
func (g *queueGauges) observeAll(ctx context.Context, client *queue.Client, o metric.Observer) error {
	names, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	names = names[:min(len(names), maxDestinations)]
	pools, err := client.Pools(ctx)
	depths, errs := make([]queue.Depth, len(names)), make([]error, len(names))
	var reads sync.WaitGroup
	slots := make(chan struct{}, maxReads)
	for i, name := range names {
		slots <- struct{}{}
		reads.Go(func() {
			defer func() { <-slots }()
			depths[i], errs[i] = depthOf(ctx, client, name)
		})
	}
	reads.Wait()
	failed := []error{err}
	for i, name := range names {
		if errs[i] != nil {
			if !unusable(errs[i]) && len(failed) < maxErrors {
				failed = append(failed, errs[i])
			}
			continue
		}
		g.observe(o, name, depths[i])
		if err == nil {
			o.ObserveFloat64(g.workers, float64(serving(pools, name)), metric.WithAttributes(semconv.MessagingDestinationName(name)))
		}
	}
	return errors.Join(failed...)
}

func depthOf(ctx context.Context, client *queue.Client, name string) (queue.Depth, error) {
	q, err := client.Queue(name)
	if err != nil {
		return queue.Depth{}, err
	}
	return q.Depth(ctx)
}

// unusable reports whether a listed queue can't be read in any state of Redis: another client has
// listed a name that is not valid, or another release has written the queue.
func unusable(err error) bool {
	var format *queue.FormatError
	return errors.Is(err, queue.ErrInvalid) || errors.As(err, &format)
}

// observe sets the metrics of the jobs of a queue.
func (g *queueGauges) observe(o metric.Observer, name string, depth queue.Depth) {
	set := func(gauge metric.Float64ObservableGauge, value float64, attributes ...attribute.KeyValue) {
		o.ObserveFloat64(gauge, value, metric.WithAttributes(append(attributes, semconv.MessagingDestinationName(name))...))
	}
	state := attribute.Key("skidway.job.state").String
	for s, byPriority := range map[queue.State]map[queue.Priority]int{queue.Waiting: depth.WaitingBy, queue.Active: depth.ActiveBy} {
		for priority, n := range byPriority {
			set(g.jobs, float64(n), state(string(s)), priorityKey.String(priority.String()))
		}
	}
	for s, n := range map[queue.State]int{queue.Delayed: depth.Delayed, queue.Dead: depth.Dead, queue.Finished: depth.Finished} {
		set(g.jobs, float64(n), state(string(s)))
	}
	set(g.oldest, depth.Oldest.Seconds())
}

// serving returns how many living pools serve a queue.
func serving(pools []queue.PoolInfo, name string) (n int) {
	for _, pool := range pools {
		if pool.Expires >= 0 && pool.Serves(name) {
			n++
		}
	}
	return n
}
