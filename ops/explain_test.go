package ops

import (
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

func TestDiagnosisNamesTheReason(t *testing.T) {
	t.Parallel()
	now := time.Now()
	worker := func(state string, held int, info queue.WorkerInfo) *Worker {
		info.Held = held
		if info.Lease == 0 {
			info.Lease = time.Second
		}
		w := &Worker{PoolInfo: queue.PoolInfo{Name: "w", State: state, Concurrency: 4}, Leases: []WorkerLease{{"mail", info}}}
		if held > 0 {
			w.Jobs = []*queue.Job{{ID: "mail:0:n1-0", Kind: "slow", Taken: now.Add(-time.Hour)}}
		}
		return w
	}
	some := queue.Depth{Waiting: 3}
	free, full := worker("running", 1, queue.WorkerInfo{}), worker("running", 4, queue.WorkerInfo{})
	limited := worker("running", 1, queue.WorkerInfo{})
	limited.Queues, limited.Limits = []string{"mail"}, []int{1}
	for name, c := range map[string]struct {
		depth   queue.Depth
		workers []*Worker
		first   string
	}{
		"empty":         {queue.Depth{}, []*Worker{free}, "It is empty"},
		"all run":       {queue.Depth{Active: 1}, []*Worker{free}, "No job waits"},
		"drains":        {some, []*Worker{full, free}, "It has 2 workers with free slots"},
		"no worker":     {some, nil, "No worker serves it: start one"},
		"paused":        {queue.Depth{Waiting: some.Waiting, Paused: true}, []*Worker{free}, "It is paused"},
		"quiet":         {some, []*Worker{worker("quiet", 0, queue.WorkerInfo{})}, "Workers that are quiet or stopping take no more jobs (1)"},
		"full":          {some, []*Worker{full, full}, "All slots of its workers (8)"},
		"limited":       {some, []*Worker{limited}, "Its workers run as many jobs of it (1)"},
		"alone":         {some, []*Worker{worker("running", 1, queue.WorkerInfo{Solo: "mail:0:n1-0"})}, "Worker w runs job mail:0:n1-0 alone"},
		"late":          {some, []*Worker{worker("running", 0, queue.WorkerInfo{Lease: -time.Second})}, "Workers that did not renew their lease in time (1)"},
		"delayed":       {queue.Depth{Delayed: 2, NextDue: now.Add(time.Minute)}, []*Worker{free}, "All waiting jobs are delayed: the next one is due in 60s"},
		"overdue":       {queue.Depth{Delayed: 2, NextDue: now.Add(-time.Minute)}, []*Worker{free}, "Delayed jobs are overdue by 60s"},
		"dead, no more": {queue.Depth{Dead: 1}, []*Worker{free}, "It is empty"},
	} {
		fleet := Fleet{Workers: c.workers}
		found := explain(&QueueStatus{Name: "mail", Time: now, Depth: c.depth}, fleet.Serving("mail"))
		if len(found) == 0 || !strings.HasPrefix(found[0], c.first) {
			t.Errorf("%s: %q", name, found)
		}
	}
}
