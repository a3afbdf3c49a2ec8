package ops_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// Limits of a search that matches nothing, among 1,000,000 dead and 10,000,000 waiting jobs.
const (
	maxPage    = 100 * time.Millisecond
	maxCommand = time.Millisecond
	maxPingP99 = 2 * time.Millisecond
)

// BenchmarkSearchThatMatchesNothing measures a page that reads until a bound ends it, beside
// PINGs on another connection. SKIDWAY_BENCH_JOBS is the number of dead jobs (default 20,000);
// there are ten times as many waiting ones. It reports the time of a page (an operation), that of
// the longest page, the longest command and the 99th percentile of PING, and fails if one of them is
// above its limit, as it may be where other work is done on the machine.
func BenchmarkSearchThatMatchesNothing(b *testing.B) {
	dead, err := strconv.Atoi(cmp.Or(os.Getenv("SKIDWAY_BENCH_JOBS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	f := setup(b, redistest.Open(b, redistest.Start(b).URL(0)))
	f.add("q", "a", "", queue.Options{})
	fill(f, dead, 10)
	for state, match := range map[queue.State]string{queue.Dead: `error contains "none"`, queue.Waiting: `args.user == "none"`} {
		b.Run(string(state), func(b *testing.B) {
			_, err := f.client.Search(b.Context(), "q", ops.SearchOptions{State: state}) // Redis compiles the scripts once
			f.must(err)
			f.watchSlow(b)
			stop, ended, pings := make(chan struct{}), make(chan struct{}), []time.Duration{}
			go func() {
				defer close(ended)
				for {
					select {
					case <-stop:
						return
					default:
						began := time.Now()
						_ = f.db.Ping(b.Context()).Err()
						pings = append(pings, time.Since(began))
					}
				}
			}()
			cursor, examined, longest := "", 0, time.Duration(0)
			for b.Loop() {
				began := time.Now()
				page, err := f.client.Search(b.Context(), "q", ops.SearchOptions{State: state, Match: match, Cursor: cursor})
				f.must(err)
				cursor, examined, longest = page.Next, examined+page.Examined, max(longest, time.Since(began))
			}
			close(stop)
			<-ended
			slices.Sort(pings)
			ping := pings[len(pings)*99/100]
			b.ReportMetric(float64(examined)/float64(b.N), "jobs/op")
			b.ReportMetric(float64(longest.Microseconds()), "µs-longest-page")
			b.ReportMetric(float64(ping.Microseconds()), "µs-ping-p99")
			if command := f.reportSlow(b); longest >= maxPage || command > maxCommand || ping >= maxPingP99 {
				b.Errorf("longest page %s (limit %s), longest command %s (%s), 99 %% of PINGs %s (%s)", longest, maxPage, command, maxCommand, ping, maxPingP99)
			}
		})
	}
}

// fill adds dead jobs of some 700 bytes, and some waiting ones for each.
func fill(f *fixture, dead, waiting int) {
	f.Helper()
	key := f.db.Prefix() + ":{q:0}:"
	args := `{"to":"ada@example.com","text":"` + strings.Repeat("x", 400) + `"}`
	errs := `[{"attempt":1,"time":"2026-11-20T10:00:00Z","error":"dial tcp 10.0.0.1:25: i/o timeout"}]`
	field := func(name, value string) string { return fmt.Sprintf("%d:%s%d:%s", len(name), name, len(value), value) }
	record := func(kind string) string {
		return "2n" + field("kind", kind) + field("args", args) + field("errors", errs) + field("reason", "no more attempts")
	}
	records := []string{record("rare.send"), record("email.send")}
	const chunk = 1000
	for first := 0; first < dead; first += chunk {
		_, err := f.db.Pipelined(f.Context(), func(pipe redis.Pipeliner) error {
			for i := first; i < first+chunk; i++ {
				id := fmt.Sprintf("d%x", 1_795_000_000_000_000+i)
				pipe.HSet(f.Context(), key+"dead:jobs", id, records[min(1, i%10)])
				pipe.ZAdd(f.Context(), key+"dead", redis.Z{Score: float64(1_795_000_000_000 + i/3), Member: id})
				for range waiting {
					pipe.XAdd(f.Context(), &redis.XAddArgs{Stream: key + "2:normal:fresh", Values: []string{"kind", "email.send", "args", `{"user":"u` + id + `"}`}})
				}
			}
			return nil
		})
		f.must(err)
	}
}

// BenchmarkOperation measures a retry of one in ten dead jobs, chosen by kind, and a purge of the
// waiting ones. SKIDWAY_BENCH_JOBS is the number of dead jobs (default 20,000). It reports jobs
// changed in a second, Redis's processor time for each and its part in scripts, the longest command
// and the 99th percentile of commands above 300 µs.
func BenchmarkOperation(b *testing.B) {
	dead, err := strconv.Atoi(cmp.Or(os.Getenv("SKIDWAY_BENCH_JOBS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	for _, change := range []ops.Change{
		{Queue: "q", Do: "retry", State: queue.Dead, Match: `kind == "rare.send"`},
		{Queue: "q", Do: "delete", State: queue.Waiting},
	} {
		b.Run(change.Do, func(b *testing.B) {
			f := setup(b, redistest.Open(b, redistest.Start(b).URL(0)))
			for b.Loop() {
				b.StopTimer()
				f.must(f.db.FlushDB(b.Context()).Err())
				f.add("q", "a", "", queue.Options{})
				fill(f, dead, map[string]int{"delete": 10}[change.Do])
				f.watchSlow(b)
				f.must(f.db.ConfigResetStat(b.Context()).Err())
				busy := f.redisTime()
				b.StartTimer()
				asked, err := f.client.Operations().Ask(b.Context(), change)
				f.must(err)
				counted := b.Elapsed()
				run, err := f.client.Operations().Begin(b.Context(), asked)
				f.must(err)
				f.must(run.Run(b.Context(), func(queue.Operation) {}))
				b.ReportMetric(counted.Seconds(), "s-counting")
				b.ReportMetric(float64(run.Operation.Changed), "jobs/op")
				b.ReportMetric(float64(run.Operation.Step), "steps/op")
				changed := float64(run.Operation.Changed)
				b.ReportMetric(float64((f.redisTime()-busy).Microseconds())/changed, "µs-redis/job")
				b.ReportMetric(f.scriptTime()/changed, "µs-scripts/job")
			}
			f.reportSlow(b)
		})
	}
}

// redisTime returns the processor time that Redis has used.
func (f *fixture) redisTime() (used time.Duration) {
	f.Helper()
	text, err := f.db.Info(f.Context(), "cpu").Result()
	f.must(err)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_main_thread") {
			seconds, err := strconv.ParseFloat(value, 64)
			f.must(err)
			used += time.Duration(seconds * float64(time.Second))
		}
	}
	return used
}

// scriptTime returns the µs that scripts have taken since the statistics were reset.
func (f *fixture) scriptTime() (µs float64) {
	f.Helper()
	text, err := f.db.Info(f.Context(), "commandstats").Result()
	f.must(err)
	_, rest, _ := strings.Cut(text, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec=")
	rest, _, _ = strings.Cut(rest, ",")
	µs, err = strconv.ParseFloat(rest, 64)
	f.must(err)
	return µs
}

// watchSlow makes Redis list the commands above 300 µs from now on.
func (f *fixture) watchSlow(b *testing.B) {
	b.Helper()
	f.must(f.db.ConfigSet(b.Context(), "slowlog-log-slower-than", "300").Err())
	f.must(f.db.ConfigSet(b.Context(), "slowlog-max-len", "100000").Err())
	f.must(f.db.Do(b.Context(), "slowlog", "reset").Err())
}

// reportSlow reports and returns the longest command, and reports the longest but for one in a hundred
// of those above 300 µs.
func (f *fixture) reportSlow(b *testing.B) (longest time.Duration) {
	b.Helper()
	logs, err := f.db.SlowLogGet(b.Context(), -1).Result()
	f.must(err)
	var took []time.Duration
	for _, log := range logs {
		took = append(took, log.Duration)
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		longest = took[n-1]
		b.ReportMetric(float64(longest.Microseconds()), "µs-longest-above-300")
		b.ReportMetric(float64(took[n*99/100].Microseconds()), "µs-p99-above-300")
		b.ReportMetric(float64(n), "above-300")
	}
	return longest
}
