package ops_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
	"skidway/workers/stats"
)

// hold makes a worker hold a job of a queue.
func (f *fixture) hold(pool, name string) {
	f.Helper()
	f.add(name, "a", "", queue.Options{})
	q, err := f.queues.ForPool(name)
	f.must(err)
	lease, err := q.NewLease(pool+".1", time.Minute)
	f.must(err)
	_, err = lease.Fetch(f.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1})
	f.must(err)
}

func TestSilentWorkerOfOneQueueDoesNotHideThoseOfOthers(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		f.hold("hung", "a")
		var names []string // they come after a
		for i := range 20 {
			names = append(names, fmt.Sprintf("b%02d", i))
			f.hold("good", names[i])
		}
		var running *ops.Running
		over := make(chan error, 1)
		go func() (err error) {
			defer func() { over <- err }()
			running, err = f.client.Running(t.Context(), "")
			return err
		}()
		for _, name := range names { // the worker reports when it is asked
			q, err := f.queues.Queue(name)
			f.must(err)
			for {
				n, err := f.db.Exists(t.Context(), q.Key("watched")).Result()
				f.must(err)
				if n == 1 {
					break
				}
			}
			f.must(stats.Report(t.Context(), f.queues, q, "good", []stats.RunningJob{{ID: name, For: time.Second}}))
		}
		f.must(<-over)
		if !slices.Equal(running.Silent, []string{"hung"}) || len(running.Jobs) != len(names) {
			t.Errorf("%d of %d jobs run, and %q are silent", len(running.Jobs), len(names), running.Silent)
		}
	})
}
