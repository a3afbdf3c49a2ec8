package serve

import (
	"context"
	"fmt"
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
func withHealth(c Config, flags *Flags, withMetrics bool, next http.Handler) (http.Handler, error) {
	paths := map[string]http.Handler{
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }),
		"/readyz":  c.Ready,
	}
	if c.Ready == nil {
		paths["/readyz"] = readiness(c.DB)
	}
	paths["/readyz"] = withRefusals(paths["/readyz"], flags)
	if withMetrics {
		queues, err := queue.NewClient(c.DB, nil)
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

// withRefusals adds a line for each file that is refused, because of which a server is not less
// ready: it goes on with what the file had before.
func withRefusals(ready http.Handler, flags *Flags) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ready.ServeHTTP(w, r)
		if users := flags.gate.Users; users != nil && users.Err() != nil {
			_, _ = fmt.Fprintln(w, "the file of users is refused: see the log")
		}
		if hooks := flags.hooks; hooks != nil && hooks.Err() != nil {
			_, _ = fmt.Fprintln(w, "the file of hooks is refused: see the log")
		}
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
