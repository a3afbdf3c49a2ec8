package workers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// The client is opened and the pool begins while one master of a Cluster is away, which may be that
// with the list of open leases. The queues of the others are served at once, and its own when it is
// back. A worker that opened a lease meanwhile, and died, is not in the list: its job runs again all
// the same, soon after the master is back.
func TestPoolBeginsWhileAMasterOfAClusterIsAway(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]bool{"one with queues": false, "the one with the lists": true} {
		if !lists && !thorough {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, masterOf := redistest.OwnCluster(t)
			before := newFixture(t, redistest.Open(t, url))
			master := func(tag string) *redistest.Server {
				slot, err := before.db.ClusterKeySlot(t.Context(), tag).Result()
				before.must(err)
				return masterOf(slot)
			}
			queues, away := manyQueues(16), master("{queues}")
			if !lists {
				other := slices.IndexFunc(queues, func(q workers.Queue) bool { return master("{"+q.Name+":0}") != away })
				away = master("{" + queues[other].Name + ":0}")
			}
			var living, its []string
			for _, q := range queues {
				if master("{"+q.Name+":0}") == away {
					its = append(its, q.Name)
					continue
				}
				before.add("k", queue.Options{Queue: q.Name})
				living = append(living, q.Name)
			}
			away.Kill()

			f := newFixture(t, redistest.Open(t, url))
			p := f.pool(workers.Config{Lease: 2 * time.Second, Queues: queues})
			started := make(chan string, len(queues))
			p.HandleRaw("k", func(_ context.Context, job *queue.Job) error { started <- job.Queue; return nil }, workers.Kind{})
			f.abandonIn(living[0], time.Second)
			f.run(p)
			began := time.Now()
			for range living[1:] {
				await(f, started, "job of a queue of another master")
			}
			// The queues of the master that is away rest together: not each of them delays the others.
			failed, rests := 0, int(time.Since(began)/workers.RestFor)
			for _, name := range its {
				failed += strings.Count(f.kept.String(), `msg="fetching jobs failed" queue=`+name+" ")
			}
			if failed > rests+2 {
				t.Errorf("%d fetches failed in %s", failed, time.Since(began))
			}
			f.must(away.Restart())
			for _, name := range its {
				for err := error(queue.ErrNoJob); err != nil; { // its slots are known again soon
					f.must(f.ctx.Err())
					_, err = f.client.Enqueue(f.ctx, queue.Raw("k", nil), &queue.Options{Queue: name})
				}
			}
			for range len(its) + 1 {
				await(f, started, "job after the master is back, or of the dead worker")
			}
		})
	}
}

// abandonIn takes the only job of a queue as a worker would that dies then.
func (f *fixture) abandonIn(name string, length time.Duration) {
	f.Helper()
	q, err := f.client.ForPool(name)
	f.must(err)
	lease, err := q.NewLease("dead", length)
	f.must(err)
	fetched, err := lease.Fetch(f.ctx, queue.FetchLimits{Jobs: 1, Bytes: 1})
	f.must(err)
	if len(fetched.Jobs) != 1 {
		f.Fatalf("the worker that is to die has fetched %d jobs", len(fetched.Jobs))
	}
}
