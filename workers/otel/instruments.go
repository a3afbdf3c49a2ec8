package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
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
