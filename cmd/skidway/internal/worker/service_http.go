package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"skidway/cmd/skidway/internal/serve"
	"skidway/internal/handle"
	"skidway/workers/metrics"
)

// A front listens for requests for health, readiness and metrics.
type front struct {
	listener net.Listener // nil: it does not listen
}

// listen listens on an address, unless that is empty.
func listen(address string) (*front, error) {
	if address == "" {
		return &front{}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for health and metrics: %w", err)
	}
	return &front{listener}, nil
}

func (f *front) close() error {
	if f.listener == nil {
		return nil
	}
	return f.listener.Close()
}

// answer serves requests until stop is called.
func (s *service) answer(f *front) (stop func()) {
	if f.listener == nil {
		return func() {}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.metrics, s.channels, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.config.AllQueues {
		registry.MustRegister(metrics.NewQueues(s.client))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serving health and metrics failed", "error", err)
		}
	}()
	s.log.Info("health and metrics", "address", f.listener.Addr().String())
	return func() {
		_ = server.Close() // ends open requests, too
		<-over
	}
}

// listenServers opens the servers of the API and the dashboard that the flags want.
func (s *service) listenServers() (*serve.Servers, error) {
	return s.flags.Listen(serve.Config{
		DB: handle.New(s.db), Queue: s.clientConfig(), Telemetry: s.telemetry, QueueMetrics: s.config.AllQueues,
		Ready: http.HandlerFunc(s.ready), Logger: s.log,
	})
}

// answerServers serves requests for the API and the dashboard until stop is called.
func (s *service) answerServers(ctx context.Context, servers *serve.Servers) (stop func()) {
	if servers.API != "" {
		s.log.Info("the API is served", "address", servers.API)
	}
	if servers.Dash != "" {
		if err := s.printLine(servers.Dash); err != nil { // the log must not have the code that logs in
			s.log.Error("the address of the dashboard can't be printed", "error", err)
		}
	}
	stopping, end := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := servers.Serve(ctx, stopping); err != nil {
			s.log.Error("serving the API or the dashboard failed", "error", err)
		}
	}()
	return func() {
		end()
		<-over
	}
}

// ready reports whether the worker takes jobs.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.stopping:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	if s.taking.Load().IsQuiet() { // "skidway workers quiet" or "stop"
		http.Error(w, "told to take no more jobs", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := s.db.Ping(ctx).Err(); err != nil {
		http.Error(w, "redis does not answer", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ready")
}
