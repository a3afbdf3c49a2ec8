package dash_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// Bounds of the time of an answer, which BenchmarkPages checks. Questions with a filter count jobs for 2 s.
const (
	maxAnswer   = 100 * time.Millisecond
	maxQuestion = 2*time.Second + maxAnswer
)

// BenchmarkPages measures each page with many jobs and queues, after the sampler has read all queues, and fails if the
// 99th percentile of the time of its answers is above the bound. SKIDWAY_BENCH_JOBS is the number of dead jobs (default
// 2,000); there are ten times as many waiting ones, in the same queue; -benchtime 10x is enough, because searches wait for
// their share of Redis's time. SKIDWAY_BENCH_QUEUES is the number of queues (default 50), SKIDWAY_BENCH_WORKERS that of
// workers (default 20), each of which holds a job. It reports the mean, the 99th percentile and the longest time of an
// answer.
func BenchmarkPages(b *testing.B) {
	f := setup(b, redistest.Open(b, redistest.Start(b).URL(0)))
	dead := f.crowd()
	f.man(number(f, "SKIDWAY_BENCH_WORKERS", "20"))
	chat := f.gather()
	f.awaitQueues()
	search := func(page, state, match string) string {
		query := url.Values{"queue": {"many"}, "state": {state}}
		if match != "" {
			query.Set("match", match)
		}
		return page + query.Encode()
	}
	const list, question = "/jobs?", "/jobs/question?do=retry&all=1&"
	for _, path := range []string{
		"/", "/queues", "/queues/many", "/queues/many?range=month", "/queues/queue-0000", search(list, "waiting", ""), search(list, "dead", ""),
		"/jobs?queue=queue-0000&state=active",
		search(list, "dead", `error contains "none"`), search(list, "waiting", `args.user == "none"`), "/jobs/" + dead, "/jobs/" + dead + "/copy",
		search(question, "dead", ""), "/jobs/question?do=retry&state=dead&id=" + dead, search(question, "dead", `error contains "none"`),
		"/errors", "/workers", "/operations", "/schedules", "/schedules/edit", "/schedules/edit?queue=mail&name=nightly", "/enqueue", "/channels", "/counts",
		"/chats", "/chats?chat=" + url.QueryEscape(chat), "/audit", "/redis", "/settings",
	} {
		b.Run(strings.ReplaceAll(path, "/", "_"), func(b *testing.B) {
			var times []time.Duration
			bound := maxAnswer
			for b.Loop() {
				if strings.Contains(path, "match=") { // all searches together have one part in twenty of Redis's time
					b.StopTimer()
					time.Sleep(2 * time.Second)
					b.StartTimer()
					if strings.Contains(path, "question") {
						bound = maxQuestion
					}
				}
				began := time.Now()
				a := f.getOnce(path)
				times = append(times, time.Since(began))
				if a.StatusCode != http.StatusOK {
					b.Fatalf("%d: %.300s", a.StatusCode, a.body)
				}
			}
			slices.Sort(times)
			p99 := times[len(times)*99/100]
			b.ReportMetric(float64(p99.Microseconds()), "µs-p99")
			b.ReportMetric(float64(times[len(times)-1].Microseconds()), "µs-max")
			if p99 > bound {
				b.Errorf("the 99th percentile is %s, want at most %s; the median is %s", p99, bound, times[len(times)/2])
			}
		})
	}
}

// number returns a number of the environment.
func number(tb testing.TB, name, preset string) int {
	tb.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), preset))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// man adds workers, each of which serves a queue of crowd and holds its job.
func (f *fixture) man(workers int) {
	f.Helper()
	for i := range workers {
		f.serve(queue.PoolInfo{Name: fmt.Sprintf("worker-%d", i), Host: "host", Concurrency: 10, Queues: []string{fmt.Sprintf("queue-%04d", i)}, State: "running"}, time.Hour)
	}
}

// crowd adds the jobs and queues of the benchmark, and returns the id of a dead job.
func (f *fixture) crowd() (dead string) {
	f.Helper()
	for i := range number(f, "SKIDWAY_BENCH_QUEUES", "50") - 1 {
		f.add(fmt.Sprintf("queue-%04d", i), "email.send", `{}`, queue.Options{})
	}
	f.add("many", "email.send", `{"user":"u0"}`, queue.Options{})
	key := f.redis.Prefix() + ":{many:0}:"
	field := func(name, value string) string { return fmt.Sprintf("%d:%s%d:%s", len(name), name, len(value), value) }
	record := "2n" + field("kind", "email.send") + field("args", `{"to":"ada@example.com","text":"`+strings.Repeat("x", 400)+`"}`) +
		field("errors", `[{"attempt":1,"time":"2026-11-20T10:00:00Z","error":"dial tcp 10.0.0.1:25: i/o timeout"}]`) + field("reason", "no more attempts")
	const chunk = 1000
	for first := 0; first < number(f, "SKIDWAY_BENCH_JOBS", "2000"); first += chunk {
		f.must(f.redis.Eval(f.Context(), `
			for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
				local id = string.format('d%x', 1795000000000000 + i)
				redis.call('HSET', KEYS[1], id, ARGV[3])
				redis.call('ZADD', KEYS[2], 1795000000000 + math.floor(i / 3), id)
				for _ = 1, 10 do redis.call('XADD', KEYS[3], '*', 'kind', 'email.send', 'args', ARGV[4]) end
			end
			return 1`, []string{key + "dead:jobs", key + "dead", key + "2:normal:fresh"}, first, chunk, record, `{"user":"u1"}`).Err())
	}
	return "many:0:" + fmt.Sprintf("d%x", 1795000000000000+1)
}

// awaitQueues blocks until the sampler has read all queues.
func (f *fixture) awaitQueues() {
	f.Helper()
	f.awaitPage("/", func(body string) bool { return !strings.Contains(body, " queues read") })
}

// BenchmarkViewers measures what viewers of the overview and of the workers cost Redis, in processor time
// as a share of all time. An operation is five seconds. SKIDWAY_BENCH_WORKERS is the number of workers
// (default 20), each of which holds a job.
func BenchmarkViewers(b *testing.B) {
	for _, c := range []struct {
		viewers int
		page    string
	}{{0, "/"}, {1, "/"}, {50, "/"}, {1, "/workers"}, {50, "/workers"}} {
		b.Run(strconv.Itoa(c.viewers)+strings.ReplaceAll(c.page, "/", "_"), func(b *testing.B) {
			f := setup(b, redistest.Open(b, redistest.Start(b).URL(0)))
			f.crowd()
			f.man(number(b, "SKIDWAY_BENCH_WORKERS", "20"))
			address := f.viewers()
			for range c.viewers {
				f.await(f.stream(address, c.page), "event: change")
			}
			before := f.processorTime()
			b.ResetTimer()
			for b.Loop() {
				time.Sleep(5 * time.Second)
			}
			b.ReportMetric(100*(f.processorTime()-before).Seconds()/b.Elapsed().Seconds(), "%-of-redis")
		})
	}
}

// processorTime returns the processor time that Redis has used.
func (f *fixture) processorTime() (used time.Duration) {
	f.Helper()
	text, err := f.redis.Info(f.Context(), "cpu").Result()
	f.must(err)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			f.must(err)
			used += time.Duration(seconds * float64(time.Second))
		}
	}
	return used
}
