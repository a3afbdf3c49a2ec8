package serve

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

	"skidway"
	"skidway/ops/access"
	"skidway/queue"
	"skidway/workers/metrics"
)

// withHealth returns a handler that also answers for health, readiness and, if wanted, metrics. (A
// mux would redirect a path with "..".)
func withHealth(db *skidway.DB, withMetrics bool, next http.Handler) (http.Handler, error) {
	paths := map[string]http.Handler{
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }),
		"/readyz":  readiness(db),
	}
	if withMetrics {
		queues, err := queue.NewClient(db, nil)
		if err != nil {
			return nil, err
		}
		paths["/metrics"] = queueMetrics(queues)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if other := paths[r.URL.Path]; other != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			other.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// readiness reports whether Redis answers.
func readiness(db *skidway.DB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if err := db.Redis().Ping(ctx).Err(); err != nil {
			http.Error(w, "redis does not answer", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
}

// queueMetrics serves the metrics of all queues and of the process.
func queueMetrics(queues *queue.Client) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewQueues(queues), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !access.FromContext(r.Context()).May(access.View, access.All) {
			http.Error(w, "it needs the scope view:*", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// Bounds of connections. Those of single requests are set by their handlers.
const (
	headerTime   = 5 * time.Second
	idleTime     = 2 * time.Minute
	shutdownTime = 5 * time.Second // for open requests at the end
	maxHeader    = 64 << 10
)

// answer serves requests until stopping ends: open ones are answered, and endStreams ends those that
// would go on.
func (f *accessFlags) answer(work, stopping context.Context, listener net.Listener, handler http.Handler, endStreams func()) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return work },
	}
	server.RegisterOnShutdown(endStreams)
	failed := make(chan error, 1)
	go func() {
		if f.listener.TLSCert != "" {
			failed <- server.ServeTLS(listener, f.listener.TLSCert, f.listener.TLSKey)
		} else {
			failed <- server.Serve(listener)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-stopping.Done():
	}
	ctx, cancel := context.WithTimeout(work, shutdownTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	<-failed
	return nil
}
