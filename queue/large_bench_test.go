package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/queue"
)

// BenchmarkLargeJobs takes 16 jobs with args of 700 KiB through what writes them again. It
// reports for each step for how long its scripts held Redis: the median, and the longest.
func BenchmarkLargeJobs(b *testing.B) {
	const jobs = 16
	d := setup(b, redistest.Open(b, redistest.Start(b).URL(0)))
	d.must(d.db.ConfigSet(b.Context(), "slowlog-log-slower-than", "0").Err())
	d.must(d.db.ConfigSet(b.Context(), "slowlog-max-len", "10000").Err()) // commands of scripts are logged too
	took := map[string][]time.Duration{}
	step := func(name string, do func()) {
		d.must(d.db.Do(b.Context(), "slowlog", "reset").Err())
		do()
		logs, err := d.db.SlowLogGet(b.Context(), -1).Result()
		d.must(err)
		for _, log := range logs {
			if strings.HasPrefix(log.Args[0], "eval") {
				took[name] = append(took[name], log.Duration)
			}
		}
	}
	args := []byte(strings.Repeat("x", 700<<10))
	move := func() {
		for moved := 0; moved < jobs; {
			result, err := d.queue.MoveDue(b.Context(), "m")
			d.must(err)
			moved += result.Jobs
		}
	}
	fetch := func(l *queue.Lease) (held []*queue.Job) {
		for len(held) < jobs {
			fetched, err := l.Fetch(b.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1, Quarantined: 1})
			d.must(err)
			held = append(held, fetched.Jobs...)
		}
		return held
	}
	end := func(l *queue.Lease, disposition queue.Disposition, held []*queue.Job) {
		var ends []queue.Completion
		for _, job := range held {
			ends = append(ends, queue.Completion{Job: job, Disposition: disposition, Reason: "because"})
		}
		n, err := l.Finish(b.Context(), ends)
		if d.must(err); n != jobs {
			b.Fatalf("finished %d", n)
		}
	}
	round := 0
	for b.Loop() {
		round++
		l := d.lease(fmt.Sprint("w", round))
		var ids []string
		for range jobs {
			id, err := d.client.Enqueue(b.Context(), queue.Raw("k", args), &queue.Options{Queue: "q"})
			d.must(err)
			ids = append(ids, id)
		}
		var held []*queue.Job
		step("fetch", func() { held = fetch(l) })
		step("return", func() { end(l, queue.AttemptReturned, held) })
		held = fetch(l)
		step("retry", func() { end(l, queue.AttemptRetry, held) })
		held = fetch(l)
		step("snooze", func() { end(l, queue.AttemptSnoozed, held) })
		step("move", move)
		held = fetch(l)
		step("die", func() { end(l, queue.AttemptDead, held) })
		step("retry-dead", func() {
			for _, id := range ids {
				d.must(d.client.Retry(b.Context(), id))
			}
		})
		fetch(l)
		_, err := l.Close(b.Context())
		d.must(err)
		step("recover", func() {
			for more := true; more; {
				result, err := d.queue.Recover(b.Context(), 0, false)
				d.must(err)
				more = result.More
			}
		})
		l = d.lease(fmt.Sprint("v", round))
		step("fetch-handed-back", func() { held = fetch(l) })
		step("succeed", func() { end(l, queue.AttemptSucceeded, held) })
	}
	for name, times := range took {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-"+name)
		b.ReportMetric(float64(times[len(times)-1].Microseconds()), "µs-longest-"+name)
	}
}

// BenchmarkLargeValues takes a value of 700 KiB from one key to another, in each way that Redis
// has. It reports for how long the command held Redis: the median.
func BenchmarkLargeValues(b *testing.B) {
	db := redistest.Open(b, redistest.Start(b).URL(0))
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	value := strings.Repeat("x", 700<<10)
	for name, way := range map[string]struct{ before, call []any }{
		"hset":       {nil, []any{"hset", "{v}to", "f", value}},
		"xadd":       {nil, []any{"xadd", "{v}to", "*", "f", value}},
		"argv":       {nil, []any{"eval", "return 1", 0, value}},
		"argv-twice": {nil, []any{"eval", "local text = ARGV[1] .. 'x' return 1", 0, value}},
		"hget-xadd":  {[]any{"hset", "{v}from", "f", value}, []any{"eval", "return redis.call('XADD', KEYS[2], '*', 'f', redis.call('HGET', KEYS[1], 'f'))", 2, "{v}from", "{v}to"}},
		"lmove":      {[]any{"rpush", "{v}from", value}, []any{"eval", "redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'LEFT') return 1", 2, "{v}from", "{v}to"}},
		"copy":       {[]any{"set", "{v}from", value}, []any{"eval", "return redis.call('COPY', KEYS[1], KEYS[2])", 2, "{v}from", "{v}to"}},
		"rename":     {[]any{"set", "{v}from", value}, []any{"eval", "redis.call('RENAME', KEYS[1], KEYS[2]) return 1", 2, "{v}from", "{v}to"}},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				must(db.ConfigSet(b.Context(), "slowlog-log-slower-than", "-1").Err())
				must(db.Del(b.Context(), "{v}from", "{v}to").Err())
				if way.before != nil {
					must(db.Do(b.Context(), way.before...).Err())
				}
				must(db.Do(b.Context(), "slowlog", "reset").Err())
				must(db.ConfigSet(b.Context(), "slowlog-log-slower-than", "0").Err())
				must(db.Do(b.Context(), way.call...).Err())
				logs, err := db.SlowLogGet(b.Context(), -1).Result()
				must(err)
				of := slices.IndexFunc(logs, func(log redis.SlowLog) bool { return log.Args[0] == way.call[0] })
				took = append(took, logs[of].Duration)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-held")
		})
	}
}
