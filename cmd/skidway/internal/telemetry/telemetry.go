// Package telemetry sends the spans and metrics of a command by OTLP over HTTP, as the standard
// environment variables of OpenTelemetry say. Where they name no endpoint nothing is made.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	nospans "go.opentelemetry.io/otel/trace/noop"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/otel"
)

// A Telemetry of a command. A nil one does nothing.
type Telemetry struct {
	*otel.Telemetry
	log   *slog.Logger
	http  []otelhttp.Option
	stops []func(context.Context) error
}

// stopTime bounds how long the end of a command waits until its last spans are sent.
const stopTime = 5 * time.Second

// SpansVariable names the spans beside those that are the default.
const SpansVariable = "SKIDWAY_OTEL_SPANS"

// Start returns the telemetry of a command that uses a Redis; nil if the environment wants none.
// Templates are patterns of queue names, see [otel.Config].
func Start(ctx context.Context, db *skidway.DB, log *slog.Logger, templates []string) (*Telemetry, error) {
	spans, err1 := wanted("TRACES")
	metrics, err2 := wanted("METRICS")
	if err := errors.Join(err1, err2); err != nil || !spans && !metrics {
		return nil, err
	}
	config := &otel.Config{TracerProvider: nospans.NewTracerProvider(), MeterProvider: nometrics.NewMeterProvider(), Templates: templates}
	if err := setSpans(config); err != nil {
		return nil, err
	}
	config.Address, config.Port = addressOf(db)
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) { log.Warn("spans or metrics can't be sent", "error", err) }))
	// What the environment says of the resource counts.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(semconv.ServiceName("skidway")), resource.WithFromEnv())
	if err != nil {
		return nil, cli.WrongUsage("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Telemetry{log: log}
	if spans {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
		config.TracerProvider, t.stops = provider, append(t.stops, provider.Shutdown)
	}
	if metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)), metric.WithResource(about))
		config.MeterProvider, t.stops = provider, append(t.stops, provider.Shutdown)
	}
	t.http = []otelhttp.Option{
		otelhttp.WithTracerProvider(config.TracerProvider), otelhttp.WithMeterProvider(config.MeterProvider), otelhttp.WithPropagators(propagation.TraceContext{}),
	}
	t.Telemetry, err = otel.New(config)
	return t, err
}

// wanted reports whether the environment wants a signal, TRACES or METRICS.
func wanted(signal string) (bool, error) {
	of := func(name string) string { return strings.TrimSpace(os.Getenv("OTEL_" + name)) }
	exporter, endpoint := of(signal+"_EXPORTER"), of("EXPORTER_OTLP_"+signal+"_ENDPOINT")+of("EXPORTER_OTLP_ENDPOINT")
	if strings.EqualFold(of("SDK_DISABLED"), "true") || endpoint == "" || exporter == "none" {
		return false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return false, cli.WrongUsage("OTEL_%s_EXPORTER is %q: want otlp or none", signal, exporter)
	}
	for _, name := range []string{"EXPORTER_OTLP_" + signal + "_PROTOCOL", "EXPORTER_OTLP_PROTOCOL"} {
		if protocol := of(name); protocol != "" && protocol != "http/protobuf" {
			return false, cli.WrongUsage("OTEL_%s is %q: want http/protobuf", name, protocol)
		}
	}
	return true, nil
}

// setSpans sets the spans that [SpansVariable] names.
func setSpans(config *otel.Config) error {
	for word := range strings.FieldsFuncSeq(os.Getenv(SpansVariable), func(r rune) bool { return r == ',' || r == ' ' }) {
		switch word {
		case "child":
			config.Child = true
		case "create":
			config.Create = true
		case "ack":
			config.Ack = true
		default:
			return cli.WrongUsage("%s has %q: want any of child, create and ack", SpansVariable, word)
		}
	}
	return nil
}

// addressOf returns the address and the port of a Redis, "" and 0 if it has several.
func addressOf(db *skidway.DB) (address string, port int) {
	client, ok := db.Redis().(*redis.Client)
	if !ok {
		return "", 0
	}
	host, text, err := net.SplitHostPort(client.Options().Addr)
	if err != nil {
		return client.Options().Addr, 0 // a socket
	}
	port, _ = strconv.Atoi(text)
	return host, port
}

// Client returns the configuration of a client with spans and metrics.
func (t *Telemetry) Client(config queue.Config) *queue.Config {
	if t != nil {
		config.Middleware = slices.Concat([]queue.Middleware{t.Enqueue}, config.Middleware)
	}
	return &config
}

// Pool adds spans and metrics to the configuration of a pool.
func (t *Telemetry) Pool(config *workers.Config) {
	if t != nil {
		config.Middleware = slices.Concat([]workers.Middleware{t.Process}, config.Middleware)
		config.Hooks.Written = t.Written
	}
}

// Queues adds metrics of all queues, if they are wanted.
func (t *Telemetry) Queues(db *skidway.DB, wanted bool) error {
	if t == nil || !wanted {
		return nil
	}
	client, err := queue.NewClient(db, nil)
	if err != nil {
		return err
	}
	return t.ObserveQueues(client)
}

// Stop blocks until all is sent, for some seconds at most. What can't be sent is logged.
func (t *Telemetry) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	for _, stop := range t.stops {
		if err := stop(ctx); err != nil {
			t.log.Warn("the last spans or metrics can't be sent", "error", err)
		}
	}
}

// Handler returns a handler that makes a span of each request to the API, in the trace that its headers
// name. Programs of others send requests to hooks: their traces get a link.
func (t *Telemetry) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	isHook := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/hooks/") }
	return otelhttp.NewHandler(next, "", append(t.http, otelhttp.WithPublicEndpointFn(isHook))...)
}

// Transport returns a transport that makes a span of each request, whose context the request carries.
func (t *Telemetry) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(hidden{next}, t.http...)
}

// A hidden transport removes the path from the URL in the span of a request: that of a webhook is a secret.
type hidden struct{ http.RoundTripper }

func (h hidden) RoundTrip(r *http.Request) (*http.Response, error) {
	trace.SpanFromContext(r.Context()).SetAttributes(semconv.URLFull(r.URL.Scheme + "://" + r.URL.Host + "/REDACTED"))
	return h.RoundTripper.RoundTrip(r)
}

// FromEnvironment returns a context with the trace of the process that started this one, which the
// variables TRACEPARENT and TRACESTATE have.
func FromEnvironment(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
	})
}
