package workers_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// The client is opened and the pool begins while one master of a Cluster is away. The queues of the
// others are served at once, and its own when it is back. While the master with the list of open
// leases is away no lease can be opened, so all queues wait for it.
func TestPoolBeginsWhileAMasterOfAClusterIsAway(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]bool{"one with queues": false, "the one with the lists": true} {
		if lists && !thorough {
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
			queues, away := manyQueues(12), master("{queues}")
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
			f.run(p)
			if !lists {
				for range living {
					await(f, started, "job of a queue of another master")
				}
			}
			f.must(away.Restart())
			for _, name := range its {
				for err := error(queue.ErrNoJob); err != nil; { // its slots are known again soon
					f.must(f.ctx.Err())
					_, err = f.client.Enqueue(f.ctx, queue.Raw("k", nil), &queue.Options{Queue: name})
				}
			}
			left := len(its)
			if lists {
				left = len(queues)
			}
			for range left {
				await(f, started, "job after the master is back")
			}
		})
	}
}
