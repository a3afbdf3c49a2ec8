package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/metrics"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestScrapeReportsPoolsAndQueues(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	var m *metrics.Metrics
	client, err := queue.NewClient(handle.New(db), &queue.Config{Middleware: []queue.Middleware{
		func(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
			return m.Enqueue(ctx, jobs, next)
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m = metrics.New(client)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	if err := registry.Register(metrics.NewQueues(client)); err != nil {
		t.Fatal(err)
	}
	pool := workers.NewPool(client, &workers.Config{Hooks: m.Hooks(), Queues: []workers.Queue{{Name: "q"}}, Concurrency: 10})
	remove := m.AddPool(pool)
	ended := make(chan string, 10)
	pool.HandleRaw("good", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
	pool.HandleRaw("bad", func(context.Context, *queue.Job) error { return workers.Dead(errors.New("no")) }, workers.Kind{})
	for _, kind := range []string{"good", "good", "bad"} {
		id, err := client.Enqueue(t.Context(), queue.Raw(kind, nil), &queue.Options{Queue: "q"})
		if err != nil {
			t.Fatal(err)
		}
		ended <- id
	}
	close(ended)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- pool.Run(ctx) }()
	for id := range ended {
		if _, err := client.Wait(t.Context(), id); err != nil && !errors.Is(err, queue.ErrNoJob) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	want := `
# HELP skidway_jobs_dead_total Jobs that failed for good.
# TYPE skidway_jobs_dead_total counter
skidway_jobs_dead_total{kind="bad",queue="q"} 1
# HELP skidway_jobs_done_total Jobs that succeeded.
# TYPE skidway_jobs_done_total counter
skidway_jobs_done_total{kind="good",queue="q"} 2
# HELP skidway_jobs_enqueued_total Jobs that this process has added.
# TYPE skidway_jobs_enqueued_total counter
skidway_jobs_enqueued_total{kind="bad",queue="q"} 1
skidway_jobs_enqueued_total{kind="good",queue="q"} 2
# HELP skidway_jobs_failed_total Attempts that failed.
# TYPE skidway_jobs_failed_total counter
skidway_jobs_failed_total{kind="bad",queue="q"} 1
# HELP skidway_jobs_unrecorded Jobs that ran in this process and whose end Redis has not confirmed.
# TYPE skidway_jobs_unrecorded gauge
skidway_jobs_unrecorded 0
# HELP skidway_jobs_unrecorded_max Number of unrecorded jobs at which this process starts no more.
# TYPE skidway_jobs_unrecorded_max gauge
skidway_jobs_unrecorded_max 540
# HELP skidway_queue_free_slots Of those slots, the ones that hold no job of any queue.
# TYPE skidway_queue_free_slots gauge
skidway_queue_free_slots{queue="q"} 0
# HELP skidway_queue_paused 1 while the queue is paused.
# TYPE skidway_queue_paused gauge
skidway_queue_paused{queue="q"} 0
# HELP skidway_queue_slots Slots of the workers that serve the queue and are neither quiet nor stopping.
# TYPE skidway_queue_slots gauge
skidway_queue_slots{queue="q"} 0
# HELP skidway_queue_workers Living workers that serve the queue.
# TYPE skidway_queue_workers gauge
skidway_queue_workers{queue="q"} 0
# HELP skidway_redis_up 0 if Redis did not answer this process.
# TYPE skidway_redis_up gauge
skidway_redis_up 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "skidway_jobs_dead_total", "skidway_jobs_done_total",
		"skidway_jobs_enqueued_total", "skidway_jobs_failed_total", "skidway_jobs_unrecorded", "skidway_jobs_unrecorded_max",
		"skidway_queue_free_slots", "skidway_queue_paused", "skidway_queue_slots", "skidway_queue_workers", "skidway_redis_up"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"skidway_queue_jobs": 9, "skidway_job_wait_seconds": 2, "skidway_job_duration_seconds": 2} {
		if n, err := testutil.GatherAndCount(registry, name); err != nil || n != want {
			t.Errorf("%s has %d series, want %d: %v", name, n, want, err)
		}
	}
	remove()
	want = "# HELP skidway_jobs_unrecorded_max Number of unrecorded jobs at which this process starts no more.\n" +
		"# TYPE skidway_jobs_unrecorded_max gauge\nskidway_jobs_unrecorded_max 0\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "skidway_jobs_unrecorded_max"); err != nil {
		t.Error(err)
	}
}

func TestScrapeWithoutRedisReportsThatItIsDown(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	for _, collector := range []prometheus.Collector{metrics.New(client), metrics.NewQueues(client)} {
		if err := registry.Register(collector); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	want := "# HELP skidway_queues_up 0 if the queues could not be read.\n# TYPE skidway_queues_up gauge\nskidway_queues_up 0\n" +
		"# HELP skidway_redis_up 0 if Redis did not answer this process.\n# TYPE skidway_redis_up gauge\nskidway_redis_up 0\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "skidway_queues_up", "skidway_redis_up"); err != nil {
		t.Error(err)
	}
}

func TestQueuesThatCannotBeReadDoNotMakeRedisDown(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: fmt.Sprint("q", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		db.SAdd(t.Context(), "skidway:{queues}", "no name!").Err(), db.HSet(t.Context(), "skidway:{q7:0}:meta", "format", "999").Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics.NewQueues(client)); err != nil {
		t.Fatal(err)
	}
	want := "# HELP skidway_queues_up 0 if the queues could not be read.\n# TYPE skidway_queues_up gauge\nskidway_queues_up 1\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "skidway_queues_up"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "skidway_queue_paused"); err != nil || n != 49 {
		t.Errorf("%d queues were read, %v, want all others", n, err)
	}
}
