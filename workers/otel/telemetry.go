package otel

import (
	"errors"
	"path"
	"sync"
	"sync/atomic"

	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Config configures a [Telemetry]. The zero value uses the global providers.
type Config struct {
	TracerProvider trace.TracerProvider // nil: the global one
	MeterProvider  metric.MeterProvider // nil: the global one

	// Child makes process spans children of the span that created the job, where the
	// package's documentation allows it.
	Child bool

	// Create makes a span for each job of a call that adds jobs, beside that of the call.
	Create bool

	// Ack makes a span for each write of outcomes, see [Telemetry.Written].
	Ack bool

	// Templates are patterns of queue names as of [path.Match], such as "tenant-*". The spans and
	// metrics of a queue that matches have the pattern in place of its name.
	Templates []string

	// Address and Port are those of the Redis; empty and zero: unknown.
	Address string
	Port    int
}

// A Telemetry makes spans and metrics. It is safe for concurrent use.
type Telemetry struct {
	config  Config
	tracer  trace.Tracer
	metrics *instruments

	destinations sync.Map // name of a queue → *destination
	known        atomic.Int64
	others       *destination // counts the jobs of queues that are not known
}

// scope is the name of the instrumentation.
const scope = "skidway/workers/otel"

// New returns a telemetry; a nil config means the zero value.
func New(config *Config) (*Telemetry, error) {
	t := &Telemetry{}
	if config != nil {
		t.config = *config
	}
	for _, pattern := range t.config.Templates {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, errors.New("otel: the pattern " + pattern + " is malformed")
		}
	}
	if t.config.TracerProvider == nil {
		t.config.TracerProvider = global.GetTracerProvider()
	}
	if t.config.MeterProvider == nil {
		t.config.MeterProvider = global.GetMeterProvider()
	}
	t.tracer = t.config.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	var err error
	t.others = t.newDestination("")
	t.metrics, err = t.newInstruments(t.config.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	return t, err
}

// An operation is what spans and metrics describe.
type operation struct {
	name string
	typ  attribute.KeyValue
	kind trace.SpanKind
}

var (
	opSend    = operation{"send", semconv.MessagingOperationTypeSend, trace.SpanKindProducer}
	opCreate  = operation{"create", semconv.MessagingOperationTypeCreate, trace.SpanKindProducer}
	opProcess = operation{"process", semconv.MessagingOperationTypeProcess, trace.SpanKindConsumer}
	opAck     = operation{"ack", semconv.MessagingOperationTypeSettle, trace.SpanKindClient}
)

// A destination has what is the same for all spans and metrics of a queue.
type destination struct {
	send, create, process, ack described

	// A counter of the SDK takes longer than these, which it reads.
	sent, consumed *atomic.Int64
}

// A described operation of a queue.
type described struct {
	span    string
	start   []trace.SpanStartOption // without attributes, which most spans, not sampled, need not: samplers see the name
	more    []attribute.KeyValue    // of spans that are recorded
	metrics []attribute.KeyValue
	record  []metric.RecordOption // of metrics without error
}

// maxDestinations bounds the memory of names, which clients can choose.
const maxDestinations = 1000

// destination returns the destination of a queue, "" for several queues.
func (t *Telemetry) destination(queue string) *destination {
	if found, ok := t.destinations.Load(queue); ok {
		return found.(*destination)
	}
	d := t.newDestination(queue)
	if t.known.Load() >= maxDestinations {
		d.sent, d.consumed = t.others.sent, t.others.consumed
		return d
	}
	found, loaded := t.destinations.LoadOrStore(queue, d)
	if !loaded {
		t.known.Add(1)
	}
	return found.(*destination)
}

func (t *Telemetry) newDestination(queue string) *destination {
	return &destination{
		send: t.describe(opSend, queue), create: t.describe(opCreate, queue),
		process: t.describe(opProcess, queue), ack: t.describe(opAck, queue),
		sent: &atomic.Int64{}, consumed: &atomic.Int64{},
	}
}

// describe returns what is the same for all spans of an operation on a queue.
func (t *Telemetry) describe(op operation, queue string) (d described) {
	d.span = op.name
	d.metrics = []attribute.KeyValue{semconv.MessagingSystemKey.String("skidway"), semconv.MessagingOperationName(op.name), op.typ}
	if t.config.Address != "" {
		d.metrics = append(d.metrics, semconv.ServerAddress(t.config.Address))
		if t.config.Port > 0 {
			d.metrics = append(d.metrics, semconv.ServerPort(t.config.Port))
		}
	}
	d.start = []trace.SpanStartOption{trace.WithSpanKind(op.kind)}
	d.more = d.metrics
	if queue != "" {
		shown := semconv.MessagingDestinationName(queue)
		d.span += " " + queue
		d.more = append(d.more[:len(d.more):len(d.more)], shown, semconv.MessagingDestinationPartitionID("0"))
		for _, pattern := range t.config.Templates {
			if matches, _ := path.Match(pattern, queue); matches {
				shown = semconv.MessagingDestinationTemplate(pattern)
				d.span = op.name + " " + pattern
				d.more = append(d.more, shown)
				break
			}
		}
		d.metrics = append(d.metrics, shown)
	}
	if op == opSend && t.config.Create {
		d.start[0] = trace.WithSpanKind(trace.SpanKindClient)
	}
	d.record = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(d.metrics...))}
	return d
}

// recordOf returns the options of a metric with the type of an error, "" for none.
func (d *described) recordOf(errorType string) []metric.RecordOption {
	if errorType == "" {
		return d.record
	}
	return []metric.RecordOption{metric.WithAttributes(append(d.metrics[:len(d.metrics):len(d.metrics)], semconv.ErrorTypeKey.String(errorType))...)}
}
