package otel_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"skidway/queue"
	"skidway/workers/otel"
)

// An operation is a call that adds one job, or an attempt, without what it measures: the queue and
// the handler.
func BenchmarkTelemetry(b *testing.B) {
	for name, sampler := range map[string]trace.Sampler{"never": trace.NeverSample(), "always": trace.AlwaysSample()} {
		spans := trace.NewTracerProvider(trace.WithSampler(sampler), trace.WithBatcher(tracetest.NewNoopExporter()))
		telemetry, err := otel.New(&otel.Config{TracerProvider: spans, MeterProvider: noop.NewMeterProvider()})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("send/"+name, func(b *testing.B) {
			b.ReportAllocs()
			jobs, results := []queue.NewJob{{Args: queue.Raw("k", nil), Options: queue.Options{Queue: "q"}}}, []queue.Result{{ID: "q:0:n1-1"}}
			for b.Loop() {
				telemetry.Enqueue(b.Context(), jobs, func(context.Context, []queue.NewJob) []queue.Result { return results })
			}
		})
		b.Run("process/"+name, func(b *testing.B) {
			b.ReportAllocs()
			handler := telemetry.Process(func(context.Context, *queue.Job) error { return nil })
			job := &queue.Job{ID: "q:0:n1-1", Queue: "q", Kind: "k", Enqueued: time.Now()}
			for b.Loop() {
				_ = handler(b.Context(), job)
			}
		})
	}
}
