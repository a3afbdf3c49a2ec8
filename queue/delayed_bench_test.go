package queue_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A stepMeter adds up the time for which Redis used the processor in each step of a
// benchmark, and the memory that the step took.
type stepMeter struct {
	*testing.B
	db     *rdb.DB
	micros map[string]float64
	bytes  map[string]float64
}

// usage returns the time for which Redis has used the processor, in µs, and its memory.
func (m *stepMeter) usage() (micros, bytes float64) {
	info, err := m.db.Info(m.Context(), "everything").Result()
	if err != nil {
		m.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, _ := strconv.ParseFloat(text, 64) // of other lines it is not used
		switch name {
		case "used_cpu_user_main_thread", "used_cpu_sys_main_thread":
			micros += 1e6 * value
		case "used_memory":
			bytes = value
		}
	}
	return micros, bytes
}

func (m *stepMeter) measure(step string, do func()) {
	micros, bytes := m.usage()
	do()
	microsAfter, bytesAfter := m.usage()
	m.micros[step] += microsAfter - micros
	m.bytes[step] += bytesAfter - bytes
}

// BenchmarkDelayed adds 50,000 jobs that are due at one time or at random times, moves,
// fetches and finishes them; an operation is all of this. It reports Redis's time per job for
// each step, and the memory of a delayed job.
func BenchmarkDelayed(b *testing.B) {
	const jobs = 50_000
	for name, span := range map[string]int64{"one time": 1, "random times": 3_600_000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			db := redistest.DB(b)
			client, q := speedClient(b, db)
			m := &stepMeter{b, db, map[string]float64{}, map[string]float64{}}
			for b.Loop() {
				m.measure("add", func() { addDelayed(b, client, jobs, span) })
				key := db.Prefix() + ":{" + modelQueue + ":0}:delayed"
				makeDue := &redis.ZStore{Keys: []string{key}, Weights: []float64{1e-6}}
				if err := db.ZUnionStore(b.Context(), key, makeDue).Err(); err != nil {
					b.Fatal(err)
				}
				m.measure("move", func() { moveAll(b, q, jobs) })
				m.fetchFinish(q, jobs)
			}
			for step, micros := range m.micros {
				b.ReportMetric(micros/float64(jobs*b.N), step+"-µs/job")
			}
			b.ReportMetric(m.bytes["add"]/float64(jobs*b.N), "bytes/job")
		})
	}
}

// addDelayed adds jobs, a hundred a call, that are due after an hour and a random part of
// span ms.
func addDelayed(b *testing.B, client *queue.Client, jobs int, span int64) {
	due := time.Now().Add(time.Hour)
	for range jobs / 100 {
		inserts := plainInserts(100)
		for i := range inserts {
			inserts[i].Options.At = due.Add(time.Duration(rand.Int64N(span)) * time.Millisecond)
		}
		add(b, client, inserts)
	}
}

func moveAll(b *testing.B, q *queue.PoolQueue, jobs int) {
	for moved := 0; moved < jobs; {
		step, err := q.MoveDue(b.Context(), "mover")
		if err != nil {
			b.Fatal(err)
		}
		moved += step.Jobs
	}
}

// fetchFinish fetches jobs and finishes them with success, a hundred a call.
func (m *stepMeter) fetchFinish(q *queue.PoolQueue, jobs int) {
	lease, err := q.NewLease("bench", time.Hour)
	if err != nil {
		m.Fatal(err)
	}
	for range jobs / 1000 {
		var batches [10][]queue.Completion
		m.measure("fetch", func() {
			for i := range batches {
				fetched, err := lease.Fetch(m.Context(), queue.FetchLimits{Jobs: 100, Bytes: 1 << 20})
				if err != nil || len(fetched.Jobs) != 100 {
					m.Fatal(len(fetched.Jobs), err)
				}
				for _, job := range fetched.Jobs {
					batches[i] = append(batches[i], queue.Completion{Job: job})
				}
			}
		})
		m.measure("finish", func() {
			for _, endings := range batches {
				if n, err := lease.Finish(m.Context(), endings); n != 100 || err != nil {
					m.Fatal(n, err)
				}
			}
		})
	}
}
