package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
	"skidway/workers"
)

// A fleetWorker is a worker process as all its queues know it together.
type fleetWorker struct {
	workers.About
	leases []fleetLease
	jobs   []*queue.Job // that it has, at most runningShown of a queue
}

// A fleetLease is what one queue knows of it.
type fleetLease struct {
	queue *queue.Queue
	queue.WorkerInfo
}

// held is how many jobs it has in all.
func (w *fleetWorker) held() (n int) {
	for _, lease := range w.leases {
		n += lease.Held
	}
	return n
}

// dead reports whether no queue counts on it any more.
func (w *fleetWorker) dead() bool {
	return !slices.ContainsFunc(w.leases, func(l fleetLease) bool { return !l.Dead })
}

// alone is the job that it runs with no other beside it, "" for none.
func (w *fleetWorker) alone() string {
	for _, lease := range w.leases {
		if lease.Alone != "" && !lease.Dead {
			return lease.Alone
		}
	}
	return ""
}

// left is what its lease has left, where that is least.
func (w *fleetWorker) left() time.Duration {
	least := time.Duration(0)
	for i, lease := range w.leases {
		if i == 0 || lease.Lease < least {
			least = lease.Lease
		}
	}
	return least
}

// state is what it says of itself, unless it is dead or late.
func (w *fleetWorker) state() string {
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

// runningShown is how many active jobs of a queue are looked at.
const runningShown = 1000

// fleetOf gathers the workers of queues by name. Jobs are what each has in hand.
// Of several queues one that can't be read, such as one of a newer release, is
// told and passed over: the others are none the worse.
func fleetOf(a *cli.App, ctx context.Context, client *queue.Client, names []string, withJobs bool) ([]*fleetWorker, error) {
	byName, byLease := map[string]*fleetWorker{}, map[string]*fleetWorker{}
	for _, name := range names {
		err := gather(ctx, client, name, withJobs, byName, byLease)
		switch {
		case err == nil:
		case len(names) == 1 || ctx.Err() != nil || cli.Unreachable(err):
			return nil, err
		default:
			a.Console.Problem("", err) // which names it
		}
	}
	var fleet []*fleetWorker
	for _, worker := range byName {
		slices.SortFunc(worker.jobs, func(a, b *queue.Job) int { return a.Taken.Compare(b.Taken) })
		fleet = append(fleet, worker)
	}
	slices.SortFunc(fleet, func(a, b *fleetWorker) int { return strings.Compare(a.Name, b.Name) })
	return fleet, nil
}

// gather adds the workers of one queue, by their names and by their leases'.
func gather(ctx context.Context, client *queue.Client, name string, withJobs bool, byName, byLease map[string]*fleetWorker) error {
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
		about := workers.About{}
		_ = json.Unmarshal(lease.About, &about) // others describe themselves as they like
		about.Name = cmp.Or(about.Name, lease.Name)
		worker := byName[about.Name]
		if worker == nil {
			worker = &fleetWorker{About: about}
			byName[about.Name] = worker
		}
		worker.leases = append(worker.leases, fleetLease{q, lease})
		byLease[lease.Name] = worker
		held += lease.Held
	}
	if !withJobs || held == 0 {
		return nil
	}
	page, err := q.List(ctx, queue.Active, queue.ListOptions{Limit: runningShown})
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		if worker := byLease[job.Worker]; worker != nil {
			worker.jobs = append(worker.jobs, job)
		}
	}
	return nil
}
