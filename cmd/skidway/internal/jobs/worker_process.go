package jobs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// A workerProcess is a worker process, with the leases that it has of the queues of which it
// holds jobs.
type workerProcess struct {
	queue.PoolInfo
	listed bool // it is in the list of pools
	leases []workerLease
	jobs   []*queue.Job // in its hands, at most maxRunning of a queue
}

// A workerLease is the lease of a worker on one queue.
type workerLease struct {
	queue string
	queue.WorkerInfo
}

// queueNames returns the names and patterns of the queues that it serves, and without them
// the queues of which it holds jobs.
func (w *workerProcess) queueNames() (names []string) {
	if len(w.Queues) > 0 {
		return w.Queues
	}
	for _, lease := range w.leases {
		names = append(names, lease.queue)
	}
	return slices.Compact(names)
}

// held returns the number of jobs that it has.
func (w *workerProcess) held() (n int) {
	for _, lease := range w.leases {
		n += lease.Held
	}
	return n
}

// dead reports whether it has expired, and all its leases.
func (w *workerProcess) dead() bool {
	return !(w.listed && w.Expires >= 0) && !slices.ContainsFunc(w.leases, func(l workerLease) bool { return !l.Dead })
}

// serves reports whether it takes jobs of a queue.
func (w *workerProcess) serves(name string) bool {
	return !w.dead() && (w.Serves(name) || slices.ContainsFunc(w.leases, func(l workerLease) bool { return l.queue == name && !l.Dead }))
}

// solo returns the job that it runs solo, "" for none.
func (w *workerProcess) solo() string {
	for _, lease := range w.leases {
		if lease.Solo != "" && !lease.Dead {
			return lease.Solo
		}
	}
	return ""
}

// left returns the time until it, or the first of its leases, expires.
func (w *workerProcess) left() time.Duration {
	var left []time.Duration
	if w.listed {
		left = append(left, w.Expires)
	}
	for _, lease := range w.leases {
		if !lease.Dead {
			left = append(left, lease.Lease)
		}
	}
	if len(left) == 0 {
		return 0
	}
	return slices.Min(left)
}

// state returns the state that it has reported, unless it is dead or late.
func (w *workerProcess) state() string {
	switch {
	case w.dead():
		return "dead"
	case w.left() < 0:
		return "late"
	case w.State == "":
		return "running"
	}
	return w.State
}

// maxRunning bounds the active jobs of a queue that are read.
const maxRunning = 1000

// readWorkers returns the workers of queues, in the order of their names: the pools that serve
// them, and those that hold jobs. Of several queues it reports those that cannot be read, such
// as one of a newer release, and goes on with the others.
func readWorkers(ctx context.Context, a *cli.App, client *queue.Client, names []string, withJobs bool) ([]*workerProcess, error) {
	pools, err := client.Pools(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]*workerProcess{}
	for _, pool := range pools {
		byName[pool.Name] = &workerProcess{PoolInfo: pool, listed: true}
	}
	for _, name := range names {
		err := gather(ctx, client, name, withJobs, byName)
		switch {
		case err == nil:
		case len(names) == 1 || ctx.Err() != nil || cli.Unreachable(err):
			return nil, err
		default:
			a.Console.Problem("", err) // the error has the name
		}
	}
	maps.DeleteFunc(byName, func(_ string, w *workerProcess) bool {
		return len(w.leases) == 0 && (w.dead() || len(names) == 1 && !w.serves(names[0]))
	})
	workers := slices.SortedFunc(maps.Values(byName), func(a, b *workerProcess) int { return strings.Compare(a.Name, b.Name) })
	for _, worker := range workers {
		slices.SortFunc(worker.jobs, func(a, b *queue.Job) int { return a.Taken.Compare(b.Taken) })
	}
	return workers, nil
}

// poolOf returns the name of the pool that has a lease.
func poolOf(lease string) string {
	if dot := strings.LastIndexByte(lease, '.'); dot > 0 {
		return lease[:dot]
	}
	return lease
}

// gather adds the leases of one queue to the workers that have them.
func gather(ctx context.Context, client *queue.Client, name string, withJobs bool, byName map[string]*workerProcess) error {
	q, err := client.Queue(name)
	if err != nil {
		return err
	}
	leases, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	held := 0
	for _, lease := range leases {
		pool := poolOf(lease.Name)
		if byName[pool] == nil {
			byName[pool] = &workerProcess{PoolInfo: queue.PoolInfo{Name: pool}}
		}
		byName[pool].leases = append(byName[pool].leases, workerLease{name, lease})
		held += lease.Held
	}
	if !withJobs || held == 0 {
		return nil
	}
	page, err := q.List(ctx, queue.Active, &queue.ListOptions{Limit: maxRunning})
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		if worker := byName[poolOf(job.Worker)]; worker != nil {
			worker.jobs = append(worker.jobs, job)
		}
	}
	return nil
}
