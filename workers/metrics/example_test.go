package metrics_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/metrics"
)

type Greet struct{ Name string }

func (Greet) Kind() string { return "greet" }

// A program serves the registry by promhttp.HandlerFor. Here the counters of the
// process are printed.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	m := metrics.New(client)
	hooks := m.Hooks()
	count := hooks.Ended
	hooks.Ended = func(job *queue.Job, report workers.Report) {
		count(job, report)
		stop()
	}
	pool := workers.NewPool(client, &workers.Config{Hooks: hooks, Logger: slog.New(slog.DiscardHandler)})
	workers.Handle(pool, func(context.Context, *workers.Job[Greet]) error { return nil })
	if _, err := client.Enqueue(ctx, Greet{"Ada"}, nil); err != nil {
		log.Fatal(err)
	}
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if counter := metric.GetCounter(); counter != nil && len(metric.GetLabel()) == 2 && metric.GetLabel()[0].GetName() == "kind" {
				fmt.Println(family.GetName(), metric.GetLabel()[0].GetValue(), counter.GetValue())
			}
		}
	}
	// Output:
	// skidway_jobs_done_total greet 1
	// skidway_jobs_started_total greet 1
}
