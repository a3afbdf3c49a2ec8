package bench

import (
	"context"
	"errors"
	"fmt"

	nometrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	nospans "go.opentelemetry.io/otel/trace/noop"

	"skidway/internal/handle"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/otel"
	"skidway/workers/stats"
)

// A variant is a way to add and run jobs. Variants are measured in turn with plain jobs, in short
// rounds, so that other work of the machine slows all of them.
type variant struct {
	name string // with which the keys of its figures begin
	load *queueLoad
}

const (
	variantRounds  = 6
	maxVariantJobs = 20_000 // in one round
)

// The variants and their figures, as they are printed.
var (
	variantHeads = []struct{ name, head string }{
		{"header", "with a header"}, {"traced_1", "1 % sampled"}, {"traced_100", "100 % sampled"}, {"metered", "with metrics"}, {"uncounted", "no statistics"},
	}
	variantFigures = []struct{ name, head string }{
		{"callers16", "added/s, 16 callers"}, {"batch", "added/s, 100 a call"}, {"drain", "drained/s"},
	}
)

func init() {
	for _, v := range variantHeads {
		for _, f := range variantFigures {
			key, plain := v.name+"_"+f.name, "plain_"+f.name
			queueTable = append(queueTable, figure{v.head + ": " + f.head, key + "_per_s", plain + "_per_s", 0})
			queueRatios = append(queueRatios, ratio{key + "_vs_plain", key + "_per_s", plain + "_per_s"})
		}
	}
}

// variants returns the variants, plain jobs first.
func (b *queueBench) variants() (_ []variant, end func(context.Context) error, err error) {
	plain, header, uncounted := b.queueLoad, b.queueLoad, b.queueLoad
	header.headers = traceHeaders()
	uncounted.poolConfig.Stats = stats.Off
	variants := []variant{{"plain", &plain}, {"header", &header}, {"uncounted", &uncounted}}
	var ends []func(context.Context) error
	for name, config := range telemetries() {
		load := b.queueLoad
		if err := load.observe(config); err != nil {
			return nil, nil, err
		}
		variants = append(variants, variant{name, &load})
		if spans, ok := config.TracerProvider.(*trace.TracerProvider); ok {
			ends = append(ends, spans.Shutdown)
		}
	}
	return variants, func(ctx context.Context) (err error) {
		for _, end := range ends {
			err = errors.Join(err, end(ctx))
		}
		return err
	}, nil
}

// telemetries returns configurations for spans, of which a part is sampled, and for metrics. These
// are collected and exported nowhere.
func telemetries() map[string]*otel.Config {
	spans := func(sampled float64) *otel.Config {
		provider := trace.NewTracerProvider(trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(sampled))), trace.WithBatcher(tracetest.NewNoopExporter()))
		return &otel.Config{TracerProvider: provider, MeterProvider: nometrics.NewMeterProvider()}
	}
	return map[string]*otel.Config{
		"traced_1": spans(0.01), "traced_100": spans(1),
		"metered": {TracerProvider: nospans.NewTracerProvider(), MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))},
	}
}

// observe makes the load add and run jobs with a telemetry.
func (l *queueLoad) observe(config *otel.Config) error {
	telemetry, err := otel.New(config)
	if err != nil {
		return err
	}
	l.clientConfig.Middleware = []queue.Middleware{telemetry.Enqueue}
	l.poolConfig.Middleware = []workers.Middleware{telemetry.Process}
	l.client, err = queue.NewClient(handle.New(l.db), &l.clientConfig)
	return err
}

// traceHeaders returns headers such as the jobs of traces have.
func traceHeaders() []map[string]string {
	headers := make([]map[string]string, 1000)
	for i := range headers {
		headers[i] = map[string]string{"traceparent": fmt.Sprintf("00-%032x-%016x-01", i+1, i+1)}
	}
	return headers
}

// measureVariants measures how many jobs a second 16 callers add, how many are added a hundred
// a call, and how many one pool drains.
func (b *queueBench) measureVariants(ctx context.Context) (err error) {
	variants, end, err := b.variants()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx))) }()
	n, rates := min(int(b.jobs), maxVariantJobs), figures{}
	for round := range variantRounds {
		for turn := range variants {
			v := variants[(round+turn)%len(variants)] // each goes first equally often
			for _, measure := range []struct {
				what string
				jobs int
				do   func() error
			}{
				{"callers16", n, func() error { return inParallel(ctx, 16, n, 1, v.load.addOne) }},
				{"batch", n, func() error { return v.load.produce(ctx, n, benchBatch, v.load.addBatch) }},
				{"drain", 2 * n, func() error { return v.load.runAll(ctx, 1, 2*n, func(*queue.Job) {}, nil) }},
			} {
				took, err := timed(measure.do)
				if err != nil {
					return err
				}
				rates.add(v.name+"_"+measure.what+"_per_s", perSecond(measure.jobs, took))
			}
		}
	}
	for key := range rates {
		b.figures.add(key, rates.median(key))
	}
	return nil
}
