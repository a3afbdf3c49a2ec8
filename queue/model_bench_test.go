package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// payload is the args of a benchmark's job: 100 bytes.
var payload = []byte(`{"pad":"` + strings.Repeat("x", 90) + `"}`)

func plainInserts(n int) []queue.NewJob {
	inserts := make([]queue.NewJob, n)
	for i := range inserts {
		inserts[i] = queue.NewJob{Args: queue.Raw("bench", payload), Options: queue.Options{Queue: modelQueue}}
	}
	return inserts
}

func add(b testing.TB, client *queue.Client, inserts []queue.NewJob) {
	for _, result := range client.EnqueueMany(context.Background(), inserts) {
		if result.Err != nil {
			b.Fatal(result.Err)
		}
	}
}

func speedClient(t testing.TB, db *rdb.DB) (*queue.Client, *queue.PoolQueue) {
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool(modelQueue)
	if err != nil {
		t.Fatal(err)
	}
	return client, q
}

func perJob(b *testing.B, jobs int) {
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

// One goroutine adds batches of 100; an operation is a batch.
func BenchmarkEnqueueMany100(b *testing.B) {
	b.ReportAllocs()
	client, _ := speedClient(b, redistest.DB(b))
	inserts := plainInserts(100)
	for b.Loop() {
		add(b, client, inserts)
	}
	perJob(b, 100*b.N)
}

// 64 goroutines per processor add single jobs; an operation is a job.
func BenchmarkEnqueueParallel(b *testing.B) {
	b.ReportAllocs()
	client, _ := speedClient(b, redistest.DB(b))
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.Enqueue(context.Background(), queue.Raw("bench", payload), &queue.Options{Queue: modelQueue}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	perJob(b, b.N)
}

// A worker fetches 100 jobs and finishes them; an operation is such a batch.
func BenchmarkFetchFinish100(b *testing.B) {
	b.ReportAllocs()
	client, q := speedClient(b, redistest.DB(b))
	lease, err := q.NewLease("bench", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	stocked(b, client, func() {
		fetched, err := lease.Fetch(context.Background(), queue.FetchLimits{Jobs: 100, Bytes: 1 << 20})
		if err != nil || len(fetched.Jobs) != 100 {
			b.Fatal(len(fetched.Jobs), err)
		}
		endings := make([]queue.Completion, len(fetched.Jobs))
		for i, job := range fetched.Jobs {
			endings[i].Job = job
		}
		if n, err := lease.Finish(context.Background(), endings); n != 100 || err != nil {
			b.Fatal(n, err)
		}
	})
}

// The same commands without the rest: XREADGROUP, and one script with XACK and XDEL.
func BenchmarkBareFetchFinish100(b *testing.B) {
	b.ReportAllocs()
	db := redistest.DB(b)
	client, _ := speedClient(b, db)
	key := db.Prefix() + ":{" + modelQueue + ":0}:2:normal:fresh"
	if err := db.XGroupCreateMkStream(context.Background(), key, "workers", "0").Err(); err != nil {
		b.Fatal(err)
	}
	done := redis.NewScript(`redis.call('XACK', KEYS[1], 'workers', unpack(ARGV)) return redis.call('XDEL', KEYS[1], unpack(ARGV))`)
	stocked(b, client, func() {
		read, err := db.XReadGroup(context.Background(), &redis.XReadGroupArgs{
			Group: "workers", Consumer: "bare", Streams: []string{key, ">"}, Count: 100, Block: -1,
		}).Result()
		if err != nil || len(read[0].Messages) != 100 {
			b.Fatal(err)
		}
		ids := make([]any, 100)
		for i, message := range read[0].Messages {
			ids[i] = message.ID
		}
		if n, err := done.Run(context.Background(), db, []string{key}, ids...).Int(); n != 100 || err != nil {
			b.Fatal(n, err)
		}
	})
}

// stocked measures fetching 100 jobs at a time, and keeps 100 jobs in the queue.
func stocked(b *testing.B, client *queue.Client, take func()) {
	const stock = 200
	inserts := plainInserts(100)
	left := 0
	for b.Loop() {
		if left == 0 {
			b.StopTimer()
			for left = range stock + 1 {
				if left < stock {
					add(b, client, inserts)
				}
			}
			b.StartTimer()
		}
		left--
		take()
	}
	perJob(b, 100*b.N)
}
