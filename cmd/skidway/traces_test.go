package main

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorspans "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
)

// A collector receives what processes export by OTLP over HTTP.
type collector struct {
	*httptest.Server
	spans   chan *tracev1.Span
	metrics chan string // their names
}

func newCollector(t *testing.T) *collector {
	c := &collector{spans: make(chan *tracev1.Span, 100), metrics: make(chan string, 100)}
	read := func(r *http.Request, into proto.Message) {
		body, err := io.ReadAll(r.Body)
		put(t, err)
		put(t, proto.Unmarshal(body, into))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, r *http.Request) {
		var request collectorspans.ExportTraceServiceRequest
		read(r, &request)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					c.spans <- span
				}
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(_ http.ResponseWriter, r *http.Request) {
		var request collectormetrics.ExportMetricsServiceRequest
		read(r, &request)
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, metric := range scope.Metrics {
					c.metrics <- metric.Name
				}
			}
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// next returns the next span or the next name.
func next[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(waitLimit):
		t.Fatal("nothing came")
	}
	return got
}

// TestAJobAndTheOneAfterItAreOneTrace starts two processes.
func TestAJobAndTheOneAfterItAreOneTrace(t *testing.T) {
	t.Parallel()
	d, c, folder := newFixture(t), newCollector(t), t.TempDir()
	settings := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=200", "SKIDWAY_OTEL_SPANS=child"}
	write(t, folder, "w.yaml", "queues: [{name: traced}]\nqueue_metrics: true\nkinds: {exec.run: {commands: {hello: {path: /bin/true}}}}\n")
	process := command(t, folder, "worker", "--redis", d.url, "--config", "w.yaml")
	process.Env = append(process.Env, settings...)
	worker := processtest.Start(t, process)
	worker.Await("worker is ready")
	const trace = "0af7651916cd43dd8448eb211c80319c"
	add := command(t, t.TempDir(), "enqueue", "traced", "exec.run", `{"command":"hello"}`, "--redis", d.url, "--then", `[{"kind":"exec.run","args":{"command":"hello"}}]`)
	add.Env = append(append(add.Env, settings...), "TRACEPARENT=00-"+trace+"-b7ad6b7169203331-01")
	if o := finish(t, add); o.code != cli.ExitDone {
		t.Fatal(o.stderr)
	}
	parents := map[string]string{} // by their children
	names := map[string]int{}      // of two processes, in any order
	for range 3 {
		span := next(t, c.spans)
		names[span.Name]++
		if hex.EncodeToString(span.TraceId) != trace {
			t.Errorf("the span %s is in the trace %x, want %s", span.Name, span.TraceId, trace)
		}
		parents[hex.EncodeToString(span.SpanId)] = hex.EncodeToString(span.ParentSpanId)
	}
	if want := map[string]int{"send traced": 1, "process traced": 2}; !maps.Equal(names, want) {
		t.Errorf("the spans are %v, want %v", names, want)
	}
	roots := 0
	for _, parent := range parents {
		if parents[parent] == "" {
			roots++
			if parent != "b7ad6b7169203331" {
				t.Errorf("the parent of a span is %s", parent)
			}
		}
	}
	if roots != 1 {
		t.Errorf("the spans and their parents are %v", parents)
	}
	wanted := map[string]bool{"messaging.client.consumed.messages": true, "messaging.process.duration": true, "skidway.job.wait": true, "skidway.queue.jobs": true, "skidway.queue.oldest": true, "skidway.queue.workers": true}
	for len(wanted) > 0 {
		delete(wanted, next(t, c.metrics))
	}
	worker.Signal(interrupt)
	worker.End()
}

// TestATraceGoesThroughTheAPIAndARequestOfAJob starts a worker with the API, to which a caller with a
// trace adds a job that sends a request.
func TestATraceGoesThroughTheAPIAndARequestOfAJob(t *testing.T) {
	t.Parallel()
	d, c := newFixture(t), newCollector(t)
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("traceparent") }))
	t.Cleanup(receiver.Close)
	secret := write(t, t.TempDir(), "secret", "0123456789abcdef\n")
	hooks := write(t, t.TempDir(), "hooks.yaml", "hooks: [{name: ci, scheme: github, secrets: ['@"+secret+"'], queue: mail, kind: ci.push}]\n")
	process := command(t, t.TempDir(), "worker", "--redis", d.url, "--queue", "mail", "--http-allow-private", "--serve", "127.0.0.1:0", "--hooks", hooks)
	process.Env = append(process.Env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=20", "SKIDWAY_OTEL_SPANS=child")
	worker := processtest.Start(t, process)
	worker.Await("worker is ready")
	s := d.server(worker, []string{"enqueue:mail:http.request"})
	const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	body := `{"kind":"http.request","args":{"url":"` + receiver.URL + `/T0SECRET"}}`
	post := func(path, body string) {
		r := s.request("POST", path, body)
		r.Header.Set("traceparent", "00-"+trace+"-"+caller+"-01")
		s.send(r)
	}
	post("/api/v1/queues/mail/jobs", body)
	spans := map[string]*tracev1.Span{}
	for range 4 {
		span := next(t, c.spans)
		if spans[span.Name] = span; hex.EncodeToString(span.TraceId) != trace || strings.Contains(span.String(), "T0SECRET") {
			t.Errorf("want the trace %s and no path: %s", trace, span)
		}
	}
	parent := caller
	for _, name := range []string{"POST /api/v1/queues/{queue}/jobs", "send mail", "process mail", "HTTP GET"} {
		span := spans[name]
		if span == nil || hex.EncodeToString(span.ParentSpanId) != parent {
			t.Fatalf("want the span %q below %s: %v", name, parent, spans)
		}
		parent = hex.EncodeToString(span.SpanId)
	}
	if header, want := <-got, "00-"+trace+"-"+parent+"-01"; header != want {
		t.Errorf("the request has the traceparent %s, want %s", header, want)
	}
	post("/hooks/ci", "{}")
	if span := next(t, c.spans); span.Name != "POST /hooks/{name}" || hex.EncodeToString(span.TraceId) == trace || len(span.Links) != 1 {
		t.Errorf("a hook continues the trace of a stranger: %s", span)
	}
	worker.Signal(interrupt)
	worker.End()
}

func TestSettingsOfTracesThatAreWrongAreUsage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for setting, want := range map[string]string{
		"OTEL_TRACES_EXPORTER=zipkin":      `OTEL_TRACES_EXPORTER is "zipkin": want otlp or none`,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": want http/protobuf`,
		"SKIDWAY_OTEL_SPANS=all":           `SKIDWAY_OTEL_SPANS has "all": want any of child, create and ack`,
	} {
		add := command(t, t.TempDir(), "enqueue", "traced", "later", "--redis", d.url, "--in", "1h")
		add.Env = append(add.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", setting)
		o := finish(t, add)
		if o.code != cli.ExitUsage || o.stdout != "" {
			t.Errorf("%s: exit code %d, %q", setting, o.code, o.stdout)
		}
		hasLine(t, o.stderr, want)
	}
}

func TestWithoutACollectorJobsAreAddedAndALineSaysSo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	add := command(t, t.TempDir(), "enqueue", "traced", "later", "--redis", d.url, "--in", "1h")
	add.Env = append(add.Env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1/v1/traces", "OTEL_EXPORTER_OTLP_TIMEOUT=100")
	if o := finish(t, add); o.code != cli.ExitDone || o.stdout == "" {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	} else {
		hasLine(t, o.stderr, "can't be sent")
	}
}
