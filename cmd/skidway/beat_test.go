package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// A hookServer counts the requests of the jobs of a schedule.
type hookServer struct {
	*httptest.Server
	mu     sync.Mutex
	counts map[string]int // by the id of the job
}

func newHookServer(t testing.TB) *hookServer {
	t.Helper()
	b := &hookServer{counts: map[string]int{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, _, _ := strings.Cut(r.Header.Get("Idempotency-Key"), ".")
		b.mu.Lock()
		defer b.mu.Unlock()
		b.counts[id]++
	}))
	t.Cleanup(b.Close)
	return b
}

// requests returns how many requests a job has sent.
func (b *hookServer) requests(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[id]
}

const beatConfig = `
revision: %d
worker: {lease: 1s, concurrency: 4}
queues:
  - name: beats
schedules:
  - name: beat
    cron: %q
    job: {queue: beats, kind: http.request, args: {url: %q}, retain: 2h}
`

// A beat is processes with a schedule that fires every second.
type beat struct {
	*processes
	hook   *hookServer
	events *eventLog
	jobs   []string // ids of the jobs that the schedule has added
	from   time.Time
}

func newBeat(t testing.TB, workers int) *beat {
	t.Helper()
	hook := newHookServer(t)
	b := &beat{processes: newProcesses(t, fmt.Sprintf(beatConfig, 1, "* * * * * *", hook.URL)), hook: hook}
	b.events = b.eventLog("beats")
	for range workers {
		b.worker()
	}
	b.from = time.Now()
	return b
}

func TestEachDueSecondHasOneJobThoughWorkersAreKilled(t *testing.T) {
	t.Parallel()
	beats := []*beat{newBeat(t, 2), newBeat(t, 5)}
	restartWorkers(t, redistest.Random(t), max(time.Minute, redistest.LongForm), beats)
	for _, b := range beats {
		b.end(time.Now())
		b.check()
		b.stop()
	}
}

// restartWorkers ends workers at random times, about half of them when schedules fire,
// and starts new ones.
func restartWorkers(t testing.TB, random *rand.Rand, period time.Duration, beats []*beat) {
	t.Helper()
	killed, dismissed := 0, 0
	for over := time.After(period); ; {
		wait := time.Duration(random.Int64N(int64(2 * time.Second)))
		if random.IntN(2) == 0 {
			now := time.Now()
			wait = now.Truncate(time.Second).Add(time.Second + time.Duration(random.IntN(20))*time.Millisecond).Sub(now)
		}
		select {
		case <-over:
			t.Logf("%d workers killed, %d stopped", killed, dismissed)
			return
		case <-time.After(wait):
		}
		b, ended := beats[random.IntN(len(beats))], 1
		if random.IntN(4) == 0 {
			ended = len(b.workers) // no worker runs for a while
		}
		for range ended {
			if p := b.workers[random.IntN(len(b.workers))]; random.IntN(3) > 0 {
				b.kill(p)
				killed++
			} else {
				b.terminate(p)
				dismissed++
			}
		}
		for range ended {
			b.worker()
		}
	}
}

// end removes the schedule when all seconds up to a time have fired.
func (b *beat) end(to time.Time) {
	b.Helper()
	fired := func() time.Time {
		id := b.events.until(queue.EventEnqueued)
		b.jobs = append(b.jobs, id)
		due, _ := b.due(id)
		return due
	}
	for fired().Before(to) {
	}
	b.must("cron", "remove", "beat")
	total, _, err := b.events.queue.Counters(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	for int64(len(b.jobs)) < total.Enqueued {
		fired()
	}
}

// check waits until all jobs have run, and expects one for each second from the first
// to the last.
func (b *beat) check() {
	b.Helper()
	ids := map[int64]string{} // by second
	for _, id := range b.jobs {
		job, err := b.client.Wait(b.Context(), id)
		if err != nil || job.Outcome != queue.Succeeded || b.hook.requests(id) == 0 {
			b.Errorf("job %s sent no request: %+v, %v", id, job, err)
		}
		due, _ := b.due(id)
		if other, there := ids[due.Unix()]; there {
			b.Errorf("two jobs for %s: %s and %s", due, other, id)
		}
		ids[due.Unix()] = id
	}
	seconds := slices.Sorted(maps.Keys(ids))
	first, last := seconds[0], seconds[len(seconds)-1]
	if latest := b.from.Add(5 * time.Second); first > latest.Unix() {
		b.Errorf("the first job is for %s, though all workers were ready at %s", time.Unix(first, 0), b.from)
	}
	for second := first; second < last; second++ {
		if ids[second] == "" {
			b.Errorf("no job for %s", time.Unix(second, 0).UTC())
		}
	}
	b.settled("beats", int64(len(b.jobs)))
}
