package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
# HELP skidway_queue_free_slots Of those slots, the ones that hold no job of any queue, within the queue's limit.
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

// series returns how many series of metrics there are.
func series(t *testing.T, registry *prometheus.Registry, names ...string) (counts []int) {
	t.Helper()
	for _, name := range names {
		n, err := testutil.GatherAndCount(registry, "skidway_"+name)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	return counts
}

// Three pools serve a queue each and hold a job of it.
func TestGaugesThatCannotBeReadAreOmitted(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := redistest.OpenOnce(t, proxy.URL)
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		name, pool := fmt.Sprint("q", i), fmt.Sprint("p", i)
		_, err := client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: name})
		if err != nil {
			t.Fatal(err)
		}
		info := &queue.PoolInfo{Name: pool, Queues: []string{name}, Concurrency: 2, State: "running"}
		if _, err := client.Beat(t.Context(), queue.PoolBeat{Pool: pool, Length: time.Minute, Info: info}); err != nil {
			t.Fatal(err)
		}
		q, err := client.ForPool(name)
		if err != nil {
			t.Fatal(err)
		}
		lease, err := q.NewLease(pool+".1", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics.NewQueues(client)); err != nil {
		t.Fatal(err)
	}
	gauges := []string{"queue_workers", "queue_slots", "queue_free_slots", "queue_paused"}
	if got := series(t, registry, gauges...); !slices.Equal(got, []int{3, 3, 3, 3}) {
		t.Fatalf("of %q there are %v series", gauges, got)
	}
	scrape := func(what, refused string, want []int) {
		for i, name := range gauges { // each is a scrape
			if refused != "" {
				proxy.RefuseCommands(1, refused, "ERR refused")
			}
			if got := series(t, registry, name)[0]; got != want[i] {
				t.Errorf("%s cannot be read: %d series of %s, want %d", what, got, name, want[i])
			}
			if n := proxy.Refusals(); n > 0 {
				t.Errorf("%s were read", what)
			}
		}
	}
	scrape("the pools", ":{queues}:pools", []int{0, 0, 0, 3})
	scrape("the list of open leases", "zrange", []int{3, 3, 0, 3})
	key := db.Prefix() + ":{q1:0}:leases"
	if _, err := db.Del(t.Context(), key).Result(); err != nil {
		t.Fatal(err)
	}
	if err := db.Set(t.Context(), key, "damaged", 0).Err(); err != nil {
		t.Fatal(err)
	}
	scrape("the leases of a queue", "", []int{3, 3, 2, 3})
}
