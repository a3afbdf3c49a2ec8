package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
func fleetOf(ctx context.Context, a *cli.App, client *queue.Client, names []string, withJobs bool) ([]*fleetWorker, error) {
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
	page, err := q.List(ctx, queue.Active, &queue.ListOptions{Limit: runningShown})
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

// workersTell makes "workers quiet" and "workers stop".
func workersTell(a *cli.App, do string) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     do + " NAME...|--all",
		Short:   "Tells workers to take no more jobs",
		Long:    "Tells workers, by name or all of them, to take no more jobs. What they have\nthey end. There is no way back but to start them again.",
		Example: "  skidway workers quiet mailer-7\n  skidway workers quiet --all",
	}
	if do == "stop" {
		c.Short = "Tells workers to end"
		c.Long = `Tells workers, by name or all of them, to take no more jobs, to end those that
they have within the time that they were given, and to exit. What has not ended
by then goes back to the front of its queue.`
		c.Example = "  skidway workers stop mailer-7\n  skidway workers stop --all"
	}
	c.Flags().BoolVar(&all, "all", false, "all workers of all queues")
	c.RunE = cli.Action(func(c *cobra.Command, names []string) error {
		if all == (len(names) > 0) {
			return cli.WrongUsage("give NAMEs of workers or --all")
		}
		return withQueues(c.Context(), a, func(client *queue.Client) error {
			return tellWorkers(c.Context(), a, client, do, names)
		})
	})
	return c
}

func tellWorkers(ctx context.Context, a *cli.App, client *queue.Client, do string, names []string) error {
	queues, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	fleet, err := fleetOf(ctx, a, client, queues, false)
	if err != nil {
		return err
	}
	living := map[string]*fleetWorker{}
	var known []string
	for _, worker := range fleet {
		if !worker.dead() {
			living[worker.Name] = worker
			known = append(known, worker.Name)
		}
	}
	if len(names) == 0 {
		names = known
	}
	if len(known) == 0 {
		return errors.New("no worker is there")
	}
	return each(a, "workers", names, func(name string) (string, error) {
		worker := living[name]
		if worker == nil {
			return "", fmt.Errorf("there is no worker %s: there are %s", name, some(known, 10))
		}
		for _, lease := range worker.leases { // any one is heard, all are surer
			if err := lease.queue.Signal(ctx, queue.Signal{Do: do, Worker: lease.Name}); err != nil {
				return "", err
			}
		}
		return "was told to " + map[string]string{"quiet": "take no more jobs", "stop": "stop"}[do], nil
	})
}
