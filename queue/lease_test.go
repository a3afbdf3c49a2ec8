package queue_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func client(t testing.TB, db *rdb.DB, config queue.Config) *queue.Client {
	t.Helper()
	c, err := queue.NewClient(handle.New(db), &config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestJobsAreFetchedByPriorityAndThenInOrder(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		kinds := []string{"low", "first", "second", "high"}
		for i, p := range []queue.Priority{queue.Low, queue.Normal, queue.Normal, queue.High} {
			d.add(kinds[i], queue.Options{Priority: p})
		}
		d.add("due", queue.Options{At: time.Now().Add(-time.Hour)})
		var got []string
		for _, job := range d.fetch(d.lease("w"), 5) {
			got = append(got, job.Kind)
		}
		same(t, got, []string{"high", "due", "first", "second", "low"})
	})
}

func TestJobThatWasHandedBackIsNextAndKeepsItsID(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		first := d.add("first", queue.Options{})
		d.add("second", queue.Options{})
		l := d.lease("w")
		d.end(l, queue.AttemptReturned, d.fetch(l, 1)...)
		if job := d.fetch(l, 1)[0]; job.ID != first || job.Attempts != 0 {
			t.Errorf("next is %s with %d attempts, want %s", job.ID, job.Attempts, first)
		}
	})
}

func TestFailedJobIsDelayedWithItsError(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		l := d.lease("w")
		d.end(l, queue.AttemptRetry, d.fetch(l, 1)...)
		job := d.get(id)
		if job.State != queue.Delayed || job.Attempts != 1 || len(job.Errors) != 1 || job.Errors[0].Error != "because" {
			t.Errorf("the job is %+v", job)
		}
	})
}

func TestJobsOfDeadWorkerGoToOthersAndItsCallsAreRefused(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		zombie := d.lease("zombie")
		held := d.fetch(zombie, 1)
		d.must(db.ZAdd(t.Context(), d.key("leases"), redis.Z{Score: 1, Member: "zombie"}).Err())
		recovered, err := d.queue.Recover(t.Context(), 0, false)
		if err != nil || recovered.Returned != 1 {
			t.Fatalf("recovered %+v: %v", recovered, err)
		}
		if _, err := zombie.Finish(t.Context(), []queue.Completion{{Job: held[0]}}); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("the late finish ends with %v", err)
		}
		if _, err := zombie.Renew(t.Context()); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("the late heartbeat ends with %v", err)
		}
		if job := d.fetch(d.lease("w"), 1)[0]; job.ID != id || job.Quarantines != 1 {
			t.Errorf("given to another is %+v", job)
		}
	})
}

func TestRereadReturnsTheJobsOfAWorkerThatItDoesNotKnow(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for range 700 { // more than one step
			d.add("a", queue.Options{})
		}
		l := d.lease("w")
		known := d.fetch(l, 500)
		d.fetch(l, 200)
		var read []*queue.Job
		for more := true; more; {
			again, err := l.Reread(t.Context(), restarts(l), append(slices.Clip(known), read...), 256<<10)
			d.must(err)
			read, more = append(read, again.Jobs...), again.More
		}
		if len(read) != 200 {
			t.Errorf("read %d jobs again, want 200", len(read))
		}
	})
}

// A job that runs for long must not keep the args of those that were fetched with it.
func TestFetchedJobKeepsNoOtherOfItsBatchInMemory(t *testing.T) {
	d := setup(t, redistest.DB(t))
	for range 8 {
		d.add("a", queue.Options{})
	}
	jobs := d.fetch(d.lease("w"), 8)
	long, freed := jobs[0], make(chan struct{})
	runtime.AddCleanup(jobs[7], func(freed chan struct{}) { close(freed) }, freed)
	jobs = nil
	for tries := 0; ; tries++ {
		runtime.GC()
		select {
		case <-freed:
			runtime.KeepAlive(long)
			return
		case <-time.After(10 * time.Millisecond):
		}
		if tries == 100 {
			t.Fatal("a job that nothing refers to is still in memory")
		}
	}
}

// Entries that are no jobs cannot be made dead for a while. The caller must not read them
// in a loop.
func TestRereadEndsThoughMalformedEntriesStay(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	l := d.lease("w")
	_, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}) // sends the script, in which the word stands that is lost below
	d.must(err)
	for range 3 {
		d.must(d.db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"), Values: []string{"kind", "", "args", "large"}}).Err())
	}
	lost := proxy.LoseCommands("malformed")
	if _, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 3, Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	again, err := l.Reread(t.Context(), restarts(l), nil, 1)
	if err != nil || again.More || again.Malformed != 0 || len(again.Jobs) != 0 {
		t.Errorf("read %+v, %v", again, err)
	}
	if len(lost) < 2 {
		t.Errorf("%d commands were lost", len(lost))
	}
	proxy.LoseCommands("")
	for more := true; more; {
		again, err = l.Reread(t.Context(), restarts(l), nil, 1)
		d.must(err)
		if again.Malformed != 1 {
			t.Fatalf("read %+v", again)
		}
		more = again.More
	}
	if page, err := d.queue.List(t.Context(), queue.Dead, nil); err != nil || len(page.Jobs) != 3 {
		t.Errorf("dead are %+v, %v", page.Jobs, err)
	}
}

// The halvings of its group do not count for a job that is left alone, because its next death is
// the first that concerns it.
func TestQuarantinesAreCountedAnewInAGroupOfOne(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	for range 4 {
		d.add("job", queue.Options{})
	}
	var got []string
	for deaths, jobs := range []int{4, 2, 1, 1, 1} {
		if deaths == 1 || deaths == 2 { // the other half ends well
			sound := d.lease(fmt.Sprint("sound", deaths))
			d.end(sound, queue.AttemptSucceeded, d.fetch(sound, jobs)...)
		}
		zombie := fmt.Sprint("zombie", deaths)
		for _, job := range d.fetch(d.lease(zombie), jobs) {
			got = append(got, fmt.Sprint(job.Quarantines, job.Crashes))
		}
		d.must(d.db.ZAdd(t.Context(), d.key("leases"), redis.Z{Score: 1, Member: zombie}).Err())
		if _, err := d.queue.Recover(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[0 0 0 0 0 0 0 0 1 0 1 0 1 0 2 1 3 2]"; fmt.Sprint(got) != want {
		t.Errorf("quarantines and crashes of the jobs: %s, want %s", got, want)
	}
}

// It gets no lease, so nothing would delete what it leaves.
func TestWorkerThatGetsNoJobLeavesNoConsumer(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.add("a", queue.Options{})
		d.fetch(d.lease("busy"), 1)
		idle, err := d.lease("idle").Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1})
		if err != nil || len(idle.Jobs) > 0 {
			t.Fatalf("%+v %v", idle, err)
		}
		consumers, err := db.XInfoConsumers(t.Context(), d.key("2:normal:fresh"), "workers").Result()
		d.must(err)
		if len(consumers) != 1 || consumers[0].Name != "busy" {
			t.Errorf("the line has the consumers %+v, want busy only", consumers)
		}
	})
}
