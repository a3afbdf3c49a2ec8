package workers_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/queue"
)

func TestOnePoisonJobAmongAThousandEndsAsOneDeadJob(t *testing.T) {
	t.Parallel()
	f := newServerFleet(t, workerPlan{Concurrency: 8, Lease: 400 * time.Millisecond})
	f.enqueue(500, "plain", queue.Options{})
	poison := f.enqueue(1, "poison", queue.Options{})[0]
	f.enqueue(499, "plain", queue.Options{})

	// Each of two machines starts its worker again when that has died.
	var machines sync.WaitGroup
	var starting sync.Mutex
	stopped := false
	start := func() *workerProcess {
		starting.Lock()
		defer starting.Unlock()
		if stopped {
			return nil
		}
		return f.start()
	}
	for range 2 {
		machines.Go(func() {
			for p := start(); p != nil; p = start() {
				<-p.ended
			}
		})
	}
	f.untilRun(1000)
	f.untilSettled()
	starting.Lock()
	stopped = true
	f.stop()
	starting.Unlock()
	machines.Wait()

	f.check(outcome{dead: 1})
	job, err := f.client.Get(f.ctx, poison)
	if err != nil {
		t.Fatal(err)
	}
	if job.State != queue.Dead || job.Crashes != queue.DefaultCrashes || !strings.Contains(job.Reason, "its worker died") {
		t.Errorf("the poison job is %s after %d crashes: %q", job.State, job.Crashes, job.Reason)
	}
	t.Logf("%d starts of workers", len(f.workers))
}
