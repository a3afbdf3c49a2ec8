package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/otel"
	"skidway/workers/workerstest"
)

// A fixture is a worker whose spans and metrics a test reads.
type fixture struct {
	testing.TB
	*workerstest.Worker
	telemetry *otel.Telemetry
	exporter  *tracetest.InMemoryExporter
	tracer    api.Tracer
	reader    *metric.ManualReader
}

func setup(t testing.TB, config otel.Config, options ...trace.TracerProviderOption) *fixture {
	t.Helper()
	f := &fixture{TB: t, exporter: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	provider := trace.NewTracerProvider(append(options, trace.WithSyncer(f.exporter))...)
	f.tracer = provider.Tracer("test")
	config.TracerProvider, config.MeterProvider = provider, metric.NewMeterProvider(metric.WithReader(f.reader))
	var err error
	f.telemetry, err = otel.New(&config)
	f.must(err)
	f.Worker = workerstest.New(t, &workerstest.Config{
		Client: queue.Config{Middleware: []queue.Middleware{f.telemetry.Enqueue}},
		Pool:   workers.Config{Middleware: []workers.Middleware{f.telemetry.Process}},
	})
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// add adds a job of a kind to queue q.
func (f *fixture) add(ctx context.Context, kind string, o queue.Options) (id string) {
	f.Helper()
	o.Queue = "q"
	id, err := f.Client.Enqueue(ctx, queue.Raw(kind, []byte("{}")), &o)
	f.must(err)
	return id
}

// handle makes a handler of a kind.
func (f *fixture) handle(kind string, handler workers.Handler) {
	f.Pool.HandleRaw(kind, handler, workers.Kind{})
}

// spans returns the spans that have ended since the last call, by their names.
func (f *fixture) spans() map[string]tracetest.SpanStub {
	f.Helper()
	spans := map[string]tracetest.SpanStub{}
	for _, span := range f.exporter.GetSpans() {
		if _, twice := spans[span.Name]; twice {
			f.Errorf("two spans have the name %s", span.Name)
		}
		spans[span.Name] = span
	}
	f.exporter.Reset()
	return spans
}

// hasAttributes fails the test unless a span has just these attributes.
func (f *fixture) hasAttributes(span tracetest.SpanStub, want map[string]any) {
	f.Helper()
	got := map[string]any{}
	for _, a := range span.Attributes {
		got[string(a.Key)] = a.Value.AsInterface()
	}
	for name, value := range map[string]any{"messaging.system": "skidway", "messaging.destination.name": "q", "messaging.destination.partition.id": "0"} {
		if _, given := want[name]; !given {
			want[name] = value
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("%s has the attributes\n%v, want\n%v", span.Name, got, want)
	}
}

func nothing(context.Context, *queue.Job) error { return nil }

func TestAJobHasASpanForItsCallAndOneForItsAttempt(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{Address: "redis.example", Port: 6379})
	f.handle("mail", nothing)
	ctx, caller := f.tracer.Start(t.Context(), "caller")
	id := f.add(ctx, "mail", queue.Options{Priority: queue.High, Headers: map[string]string{"tenant": "7"}})
	caller.End()
	job := f.Drain()[0].Job
	spans := f.spans()
	send, process := spans["send q"], spans["process q"]
	if send.SpanKind != api.SpanKindProducer || send.Parent.SpanID() != caller.SpanContext().SpanID() || send.Status.Code != codes.Unset {
		t.Errorf("send is %+v", send)
	}
	f.hasAttributes(send, map[string]any{
		"messaging.operation.name": "send", "messaging.operation.type": "send",
		"messaging.message.id": id, "server.address": "redis.example", "server.port": 6379, "skidway.job.kind": "mail",
	})
	for _, attribute := range send.Attributes {
		if attribute.Key == "messaging.batch.message_count" {
			t.Error("one job is a batch")
		}
	}
	if process.SpanKind != api.SpanKindConsumer || process.Parent.IsValid() || process.SpanContext.TraceID() == send.SpanContext.TraceID() || process.Status.Code != codes.Unset {
		t.Errorf("process is %+v", process)
	}
	if len(process.Links) != 1 || process.Links[0].SpanContext.SpanID() != send.SpanContext.SpanID() || process.Links[0].SpanContext.TraceID() != send.SpanContext.TraceID() {
		t.Errorf("process has the links %+v", process.Links)
	}
	f.hasAttributes(process, map[string]any{
		"messaging.operation.name": "process", "messaging.operation.type": "process", "messaging.message.id": id, "messaging.client.id": job.Worker,
		"server.address": "redis.example", "server.port": 6379, "skidway.job.kind": "mail", "skidway.job.attempt": 1, "skidway.job.priority": "high",
	})
	if want := fmt.Sprintf("00-%s-%s-01", send.SpanContext.TraceID(), send.SpanContext.SpanID()); job.Headers["traceparent"] != want || job.Headers["tenant"] != "7" {
		t.Errorf("the job has the headers %v, want the traceparent %s", job.Headers, want)
	}
}

func TestACallWithManyJobsHasOneSpan(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	own := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	jobs := []queue.NewJob{
		{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "q"}},
		{Args: queue.Raw("b", nil), Options: queue.Options{Queue: "q", Headers: map[string]string{"traceparent": own}}},
		{Args: withDefaults{}, Options: queue.Options{Queue: "q"}},
	}
	f.Client.EnqueueMany(t.Context(), jobs)
	send := f.spans()["send q"]
	f.hasAttributes(send, map[string]any{"messaging.operation.name": "send", "messaging.operation.type": "send", "messaging.batch.message_count": 3})
	if len(send.Links) != 1 || send.Links[0].SpanContext.SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("send has the links %+v, want one to the creation of the job that was created before", send.Links)
	}
	added := f.Enqueued("")
	mine := fmt.Sprintf("00-%s-%s-01", send.SpanContext.TraceID(), send.SpanContext.SpanID())
	for i, want := range []map[string]string{{"traceparent": mine}, {"traceparent": own}, {"traceparent": mine, "from": "args"}} {
		if !maps.Equal(added[i].Headers, want) {
			t.Errorf("job %d has the headers %v, want %v", i, added[i].Headers, want)
		}
	}
	if jobs[0].Options.Headers != nil || len(jobs[1].Options.Headers) != 1 {
		t.Errorf("the jobs of the caller have changed: %+v", jobs)
	}
}

// withDefaults are args with default options.
type withDefaults struct{}

func (withDefaults) Kind() string { return "c" }

func (withDefaults) Options() *queue.Options {
	return &queue.Options{Queue: "default-of-args", Headers: map[string]string{"from": "args"}}
}

func TestJobsForSeveralQueuesHaveASpanWithoutDestination(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	f.Client.EnqueueMany(t.Context(), []queue.NewJob{{Args: queue.Raw("a", nil)}, {Args: withDefaults{}}})
	send, found := f.spans()["send"]
	if !found || slices.ContainsFunc(send.Attributes, func(a attribute.KeyValue) bool { return strings.HasPrefix(string(a.Key), "messaging.destination") }) {
		t.Errorf("send is %+v", send)
	}
}

func TestEachJobOfACallMayHaveASpanOfItsCreation(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{Create: true, Templates: []string{"tenant-*"}})
	f.Client.EnqueueMany(t.Context(), []queue.NewJob{
		{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "tenant-1"}},
		{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "other"}},
	})
	spans := f.spans()
	send := spans["send"]
	if send.SpanKind != api.SpanKindClient || len(send.Links) != 2 {
		t.Errorf("send is %+v", send)
	}
	for i, name := range []string{"create tenant-*", "create other"} {
		create := spans[name]
		if create.SpanKind != api.SpanKindProducer || send.Links[i].SpanContext.SpanID() != create.SpanContext.SpanID() {
			t.Errorf("%s is %+v, the links are %+v", name, create, send.Links)
		}
		if got := f.Enqueued("")[i].Headers["traceparent"]; !strings.Contains(got, create.SpanContext.SpanID().String()) {
			t.Errorf("the job of %s has the traceparent %s", name, got)
		}
	}
	f.hasAttributes(spans["create tenant-*"], map[string]any{
		"messaging.operation.name": "create", "messaging.operation.type": "create", "skidway.job.kind": "a",
		"messaging.destination.name": "tenant-1", "messaging.destination.template": "tenant-*",
	})
}

func TestErrorTypesOfAttempts(t *testing.T) {
	t.Parallel()
	interrupted := func(cause, err error) workers.Handler {
		return func(ctx context.Context, _ *queue.Job) error {
			workerstest.Interrupt(ctx, cause)
			return err
		}
	}
	failed := func(err error) workers.Handler {
		return func(context.Context, *queue.Job) error { return err }
	}
	stopped := errors.New("stopped")
	for want, handler := range map[string]workers.Handler{
		"timeout":         interrupted(workers.ErrTimeout, stopped),
		"cancelled":       interrupted(workers.ErrCancelled, stopped),
		"shutdown":        interrupted(workers.ErrShutdown, stopped),
		"lease_lost":      interrupted(workers.ErrLeaseLost, nil),
		"panic":           func(context.Context, *queue.Job) error { panic("no") },
		"_OTHER":          failed(errors.New("no")),
		"*net.OpError":    failed(workers.RetryAfter(time.Hour, fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Err: stopped}))),
		"*net.AddrError":  failed(workers.Dead(&net.AddrError{Err: "no"})),
		"":                nothing,
		"after a snooze":  failed(fmt.Errorf("later: %w", workers.Snooze(time.Hour))),
		"after a discard": failed(workers.Discard("nothing to do")),
		"after a timeout": interrupted(workers.ErrTimeout, nil), // it returned without an error
	} {
		f := setup(t, otel.Config{})
		attempts := 0
		f.handle("k", func(ctx context.Context, job *queue.Job) error {
			if attempts++; attempts > 1 {
				return nil // it was handed back
			}
			return handler(ctx, job)
		})
		f.add(t.Context(), "k", queue.Options{})
		f.Drain()
		process := f.exporter.GetSpans()[1] // the first is that of the call
		if strings.HasPrefix(want, "after ") {
			want = ""
		}
		got := ""
		for _, a := range process.Attributes {
			if a.Key == "error.type" {
				got = a.Value.AsString()
			}
		}
		if got != want || (process.Status.Code == codes.Error) != (want != "") {
			t.Errorf("the error.type is %q with the status %v, want %q", got, process.Status, want)
		}
	}
}

func TestACallThatFailsHasAnError(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	for range 2 {
		_, _ = f.Client.Enqueue(t.Context(), queue.Raw("k", nil), &queue.Options{Queue: "q", Unique: queue.Unique{Key: "k"}})
	}
	for _, span := range f.exporter.GetSpans() {
		if span.Status.Code != codes.Unset {
			t.Errorf("a duplicate is an error: %+v", span)
		}
	}
	f.exporter.Reset()
	if results := f.Client.EnqueueMany(t.Context(), []queue.NewJob{{Options: queue.Options{Queue: "q"}}}); !errors.Is(results[0].Err, queue.ErrInvalid) {
		t.Errorf("a job without args: %v", results[0].Err)
	}
	f.exporter.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Client.Enqueue(ctx, queue.Raw("k", nil), &queue.Options{Queue: "q"})
	send := f.spans()["send q"]
	if err == nil || send.Status.Code != codes.Error || !slices.ContainsFunc(send.Attributes, func(a attribute.KeyValue) bool { return a.Key == "error.type" }) {
		t.Errorf("after %v send is %+v", err, send)
	}
}

// chain adds a job that is followed by another one, whose handler adds a third, and returns their
// spans: those of the calls by the kinds of their jobs, those of the attempts likewise.
func chain(f *fixture) (send, process map[string]tracetest.SpanStub) {
	f.handle("first", nothing)
	f.handle("second", func(ctx context.Context, _ *queue.Job) error {
		f.add(ctx, "third", queue.Options{})
		return nil
	})
	f.handle("third", nothing)
	f.add(f.Context(), "first", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("second", []byte("{}"))}}})
	if ran := f.Drain(); len(ran) != 3 {
		f.Fatalf("ran %v", ran)
	}
	send, process = map[string]tracetest.SpanStub{}, map[string]tracetest.SpanStub{}
	for _, span := range f.exporter.GetSpans() {
		for _, a := range span.Attributes {
			if a.Key != "skidway.job.kind" {
				continue
			}
			if span.Name == "send q" {
				send[a.Value.AsString()] = span
			} else {
				process[a.Value.AsString()] = span
			}
		}
	}
	if len(send) != 2 || len(process) != 3 {
		f.Fatalf("spans of the calls %v and the attempts %v", send, process)
	}
	return send, process
}

func TestJobsThatFollowAreInOneTraceWithTheFirst(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{Child: true})
	send, process := chain(f)
	for _, pair := range [][2]tracetest.SpanStub{
		{process["first"], send["first"]}, {process["second"], process["first"]},
		{send["third"], process["second"]}, {process["third"], send["third"]},
	} {
		if child, parent := pair[0], pair[1]; child.Parent.SpanID() != parent.SpanContext.SpanID() || child.SpanContext.TraceID() != send["first"].SpanContext.TraceID() {
			t.Errorf("%s is no child of %s", child.Name, parent.Name)
		}
	}
}

func TestJobsThatFollowHaveALinkToTheAttemptBefore(t *testing.T) {
	t.Parallel()
	send, process := chain(setup(t, otel.Config{}))
	for _, pair := range [][2]tracetest.SpanStub{{process["first"], send["first"]}, {process["second"], process["first"]}, {process["third"], send["third"]}} {
		if span, creation := pair[0], pair[1]; span.Parent.IsValid() || len(span.Links) != 1 || span.Links[0].SpanContext.SpanID() != creation.SpanContext.SpanID() {
			t.Errorf("%s has the links %+v, want one to %s", span.Name, span.Links, creation.Name)
		}
	}
	if send["third"].Parent.SpanID() != process["second"].SpanContext.SpanID() {
		t.Error("the call in a handler is no child of its attempt")
	}
}

func TestJobsThatFollowEachOtherHaveTheFirstOnesIDAsConversation(t *testing.T) {
	t.Parallel()
	for name, sampler := range map[string]trace.Sampler{"all": trace.AlwaysSample(), "no attempt in q": noAttempt{}} {
		f := setup(t, otel.Config{}, trace.WithSampler(sampler))
		for _, kind := range []string{"first", "second", "third", "lone"} {
			f.handle(kind, nothing)
		}
		third := queue.NewJob{Args: queue.Raw("third", []byte("{}")), Options: queue.Options{Queue: "other", Unique: queue.Unique{Key: "k"}}}
		second := queue.NewJob{Args: queue.Raw("second", []byte("{}")), Options: queue.Options{Then: []queue.NewJob{third}}}
		id := f.add(t.Context(), "first", queue.Options{Then: []queue.NewJob{second}})
		f.add(t.Context(), "lone", queue.Options{})
		f.add(t.Context(), "lone", queue.Options{Headers: map[string]string{"flow": "order-7"}})
		f.Drain()
		conversations := map[string][]string{}
		for _, span := range f.exporter.GetSpans() {
			attributes := map[attribute.Key]string{}
			for _, a := range span.Attributes {
				attributes[a.Key] = a.Value.String()
			}
			operation := attributes["messaging.operation.name"] + " " + attributes["skidway.job.kind"]
			conversations[operation] = append(conversations[operation], attributes["messaging.message.conversation_id"])
		}
		want := map[string][]string{
			"send first": {id}, "process first": {id}, "process second": {id}, "process third": {id},
			"send lone": {"", "order-7"}, "process lone": {"", "order-7"},
		}
		if name != "all" {
			want["process first"], want["process second"], want["process lone"] = nil, nil, nil
		}
		for operation, ids := range want {
			if got := conversations[operation]; !slices.Equal(got, ids) {
				t.Errorf("%s: the spans %q have the conversations %q, want %q", name, operation, got, ids)
			}
		}
	}
}

func TestConversationsAllocateNothingWhereNoSpanIsSampled(t *testing.T) {
	f := setup(t, otel.Config{}, trace.WithSampler(trace.NeverSample()))
	handler := f.telemetry.Process(nothing)
	allocations := func(headers map[string]string) float64 {
		process := &queue.Job{ID: "q:0:n1-1", Queue: "q", Kind: "k", Enqueued: time.Now(), Headers: headers, Then: []queue.NewJob{{}}}
		send := []queue.NewJob{{Args: queue.Raw("k", nil), Options: queue.Options{Queue: "q", Headers: headers}}}
		results := []queue.Result{{ID: "q:0:n1-1"}}
		return testing.AllocsPerRun(100, func() {
			_ = handler(context.Background(), process)
			f.telemetry.Enqueue(context.Background(), send, func(context.Context, []queue.NewJob) []queue.Result { return results })
		})
	}
	if with, without := allocations(map[string]string{"flow": "1"}), allocations(map[string]string{"other": "1"}); with > without-1 {
		t.Errorf("%.0f allocations with a conversation, %.0f for a job that begins one, of which one is its header", with, without)
	}
}

// noAttempt samples all spans but those of attempts in queue q.
type noAttempt struct{}

func (noAttempt) Description() string { return "no attempt" }

func (noAttempt) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	if p.Name == "process q" {
		return trace.SamplingResult{Decision: trace.Drop}
	}
	return trace.SamplingResult{Decision: trace.RecordAndSample}
}

func TestRetriesLateJobsAndThoseOfSchedulesAreNoChildren(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(f *fixture){
		"a job that waited for two hours": func(f *fixture) {
			f.add(f.Context(), "k", queue.Options{Delay: 2 * time.Hour})
			f.Advance(2 * time.Hour)
			f.Drain()
		},
		"a retry": func(f *fixture) {
			f.handle("k", func(_ context.Context, job *queue.Job) error {
				if job.Attempts == 0 {
					return workers.RetryAfter(time.Minute, errors.New("no"))
				}
				return nil
			})
			f.add(f.Context(), "k", queue.Options{})
			f.Drain()
			f.exporter.Reset()
			f.Advance(time.Minute)
			f.Drain()
		},
		"a job of a schedule": func(f *fixture) {
			f.add(f.Context(), "k", queue.Options{Headers: map[string]string{queue.HeaderSchedule: "nightly"}})
			f.Drain()
		},
	} {
		f := setup(t, otel.Config{Child: true})
		f.handle("k", nothing)
		run(f)
		if process := f.spans()["process q"]; process.Parent.IsValid() || len(process.Links) != 1 {
			t.Errorf("%s: its parent is %v, its links are %v", name, process.Parent, process.Links)
		}
	}
}

func TestOnlySampledContextsTravelUnlessAttemptsAreChildren(t *testing.T) {
	t.Parallel()
	for _, child := range []bool{false, true} {
		f := setup(t, otel.Config{Child: child}, trace.WithSampler(trace.ParentBased(trace.NeverSample())))
		f.handle("k", nothing)
		f.add(t.Context(), "k", queue.Options{})
		headers := f.Drain()[0].Job.Headers
		if context := headers["traceparent"]; (context != "") != child || child && !strings.HasSuffix(context, "-00") {
			t.Errorf("with children %v the headers are %v", child, headers)
		}
		if spans := f.spans(); len(spans) != 0 {
			t.Errorf("spans %v", spans)
		}
	}
}

func TestTheStateOfATraceTravelsAndLargeHeadersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	ctx := propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier{
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "vendor=1",
	})
	f.add(ctx, "k", queue.Options{})
	f.add(ctx, "k", queue.Options{Headers: map[string]string{"large": strings.Repeat("x", 4000)}})
	small, large := f.Enqueued("k")[0].Headers, f.Enqueued("k")[1].Headers
	if small["tracestate"] != "vendor=1" || !strings.Contains(small["traceparent"], "0af7651916cd43dd8448eb211c80319c") || len(large) != 1 {
		t.Errorf("the headers are %v and %d others", small, len(large))
	}
}

func TestWritesOfOutcomesHaveSpansIfWanted(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{Ack: true})
	f.handle("k", nothing)
	f.add(t.Context(), "k", queue.Options{})
	done := []queue.Completion{f.Drain()[0].Completion}
	send := f.spans()["send q"]
	began := time.Now().Add(-time.Second).Truncate(time.Millisecond)
	f.telemetry.Written("q", done, began, errors.New("no"))
	ack := f.spans()["ack q"]
	if ack.SpanKind != api.SpanKindClient || !ack.StartTime.Equal(began) || len(ack.Links) != 1 || ack.Links[0].SpanContext.SpanID() != send.SpanContext.SpanID() || ack.Status.Code != codes.Error {
		t.Errorf("ack is %+v", ack)
	}
	f.hasAttributes(ack, map[string]any{"messaging.operation.name": "ack", "messaging.operation.type": "settle", "messaging.batch.message_count": 1, "error.type": "_OTHER"})
}

// metrics returns the data points of all metrics: name, attributes and value.
func (f *fixture) metrics() (points []string) {
	f.Helper()
	var data metricdata.ResourceMetrics
	f.must(f.reader.Collect(f.Context(), &data))
	describe := func(name string, set attribute.Set, value any) {
		points = append(points, fmt.Sprint(name, " ", set.Encoded(attribute.DefaultEncoder()), " ", value))
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch kind := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range kind.DataPoints {
				describe(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Gauge[float64]:
			for _, p := range kind.DataPoints {
				describe(m.Name, p.Attributes, int(p.Value))
			}
		case metricdata.Histogram[float64]:
			for _, p := range kind.DataPoints {
				describe(m.Name+" "+m.Unit, p.Attributes, p.Count)
				if m.Name == "messaging.process.duration" && p.Bounds[len(p.Bounds)-1] != 3600 {
					f.Errorf("the buckets of %s are %v", m.Name, p.Bounds)
				}
			}
		}
	}
	slices.Sort(points)
	return points
}

func TestMetricsOfJobsAndQueues(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	f.must(f.telemetry.ObserveQueues(f.Client))
	f.handle("good", nothing)
	f.handle("bad", func(context.Context, *queue.Job) error { return workers.RetryAfter(time.Hour, errors.New("no")) })
	f.add(t.Context(), "good", queue.Options{})
	f.add(t.Context(), "bad", queue.Options{})
	f.Drain()
	for range 2 { // the repetition adds no job
		f.add(t.Context(), "good", queue.Options{Priority: queue.Low, RequestKey: "key", RequestDigest: "digest"})
	}
	want := []string{
		"messaging.client.consumed.messages messaging.destination.name=q,messaging.operation.name=process,messaging.operation.type=process,messaging.system=skidway 2",
		"messaging.client.operation.duration s messaging.destination.name=q,messaging.operation.name=send,messaging.operation.type=send,messaging.system=skidway 4",
		"messaging.client.sent.messages messaging.destination.name=q,messaging.operation.name=send,messaging.operation.type=send,messaging.system=skidway 3",
		"messaging.process.duration s error.type=_OTHER,messaging.destination.name=q,messaging.operation.name=process,messaging.operation.type=process,messaging.system=skidway 1",
		"messaging.process.duration s messaging.destination.name=q,messaging.operation.name=process,messaging.operation.type=process,messaging.system=skidway 1",
		"skidway.job.wait s messaging.destination.name=q,messaging.operation.name=process,messaging.operation.type=process,messaging.system=skidway 2",
		"skidway.queue.jobs messaging.destination.name=q,skidway.job.priority=low,skidway.job.state=waiting 1",
		"skidway.queue.jobs messaging.destination.name=q,skidway.job.state=delayed 1",
		"skidway.queue.oldest messaging.destination.name=q 0",
		"skidway.queue.workers messaging.destination.name=q 0",
	}
	got := f.metrics()
	for _, point := range want {
		if !slices.Contains(got, point) {
			t.Errorf("there is no %s in\n%s", point, strings.Join(got, "\n"))
		}
	}
}

func TestMalformedPatternsAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := otel.New(&otel.Config{Templates: []string{"["}}); err == nil {
		t.Error("no error")
	}
}
