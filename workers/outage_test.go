package workers_test

import (
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

func TestRedisKilledTwiceInTheMiddleLosesAndRepeatsNoJob(t *testing.T) {
	t.Parallel()
	jobs := 2_000
	if thorough {
		jobs = 50_000
	}
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	url := server.URL(0)
	// The lease outlasts the outage: no worker dies, so no job runs twice.
	f := newFleet(t, redistest.Open(t, url), workerPlan{URL: url, Concurrency: 16, Lease: 10 * time.Second})
	f.enqueue(jobs, "plain", queue.Options{})
	f.enqueue(jobs/10, "fails-once", queue.Options{})
	for range 3 {
		f.start()
	}
	for part := range 2 {
		f.untilRun((part + 1) * jobs / 3)
		server.Kill()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	f.untilRun(len(f.jobs))
	f.untilSettled()
	f.stop()
	f.check(outcome{})
}
