package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/queue"
)

// A Worker is a worker process, with the leases that it has of the queues of which it holds
// jobs.
type Worker struct {
	queue.PoolInfo
	Listed bool // it is in the list of pools
	Leases []WorkerLease
	Jobs   []*queue.Job // that it holds, the longest held first, at most 1,000 of a queue
}

// A WorkerLease is the lease of a worker on one queue.
type WorkerLease struct {
	Queue string
	queue.WorkerInfo
}

// QueueNames returns the names and patterns of the queues that the worker serves, and if they
// are not known those of the queues of which it holds jobs.
func (w *Worker) QueueNames() (names []string) {
	if len(w.Queues) > 0 {
		return w.Queues
	}
	for _, lease := range w.Leases {
		names = append(names, lease.Queue)
	}
	return slices.Compact(names)
}

// Held returns the number of jobs that the worker holds.
func (w *Worker) Held() (n int) {
	for _, lease := range w.Leases {
		n += lease.Held
	}
	return n
}

// heldBy returns the number of jobs that the worker holds, by queue.
func (w *Worker) heldBy() map[string]int {
	held := map[string]int{}
	for _, lease := range w.Leases {
		held[lease.Queue] += lease.Held
	}
	return held
}

// Dead reports whether the worker has expired, and all its leases.
func (w *Worker) Dead() bool {
	return !(w.Listed && w.Expires >= 0) && !slices.ContainsFunc(w.Leases, func(l WorkerLease) bool { return !l.Dead })
}

// TakesJobsOf reports whether the worker takes jobs of a queue.
func (w *Worker) TakesJobsOf(name string) bool {
	return !w.Dead() && (w.Serves(name) || slices.ContainsFunc(w.Leases, func(l WorkerLease) bool { return l.Queue == name && !l.Dead }))
}

// Solo returns the id of the job that the worker runs solo, "" for none.
func (w *Worker) Solo() string {
	for _, lease := range w.Leases {
		if lease.Solo != "" && !lease.Dead {
			return lease.Solo
		}
	}
	return ""
}

// Left returns the time until the worker, or the first of its leases, expires.
func (w *Worker) Left() time.Duration {
	var left []time.Duration
	if w.Listed {
		left = append(left, w.Expires)
	}
	for _, lease := range w.Leases {
		if !lease.Dead {
			left = append(left, lease.Lease)
		}
	}
	if len(left) == 0 {
		return 0
	}
	return slices.Min(left)
}

// Condition returns the state that the worker has reported, unless it is "dead" or "late".
func (w *Worker) Condition() string {
	switch {
	case w.Dead():
		return "dead"
	case w.Left() < 0:
		return "late"
	case w.State == "":
		return "running"
	}
	return w.State
}

// A Fleet is the workers of all processes.
type Fleet struct {
	Now     time.Time // after the last read, by Redis's clock
	Workers []*Worker // in the order of their names

	// Unreadable are why queues can't be read, such as one of a newer release. Jobs of these
	// are not among those of the workers.
	Unreadable []error

	queues []string // all of them
}

// FleetOptions select what [Client.Fleet] reads. The zero value selects everything.
type FleetOptions struct {
	Queue       string // only the workers of this queue, which must exist; "" means all
	WithoutJobs bool   // leave Worker.Jobs empty

	// Active is the queues whose leases and jobs are read; nil means all. Workers hold nothing of a
	// queue without open leases and active jobs: a caller that knows those saves a read of each other.
	Active []string
}

// maxRunning bounds the active jobs of a queue that are read.
const maxRunning = 1000

// Fleet returns the workers: the pools in the list of pools, and those that hold jobs. Nil
// options mean the defaults.
func (c *Client) Fleet(ctx context.Context, options *FleetOptions) (*Fleet, error) {
	if options == nil {
		options = &FleetOptions{}
	}
	names, err := c.QueueNames(ctx, options.Queue)
	if err != nil {
		return nil, err
	}
	pools, err := c.queues.Pools(ctx)
	if err != nil {
		return nil, err
	}
	fleet := &Fleet{queues: names}
	if options.Active != nil {
		active := map[string]bool{}
		for _, name := range options.Active {
			active[name] = true
		}
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !active[name] })
	}
	byName := map[string]*Worker{}
	for _, pool := range pools {
		byName[pool.Name] = &Worker{PoolInfo: pool, Listed: true}
	}
	held := make([]heldJobs, len(names))
	err = forEach(ctx, names, func(ctx context.Context, i int) error {
		held[i].leases, held[i].jobs, held[i].err = c.held(ctx, names[i], !options.WithoutJobs)
		if err := held[i].err; err != nil && (len(fleet.queues) == 1 || ctx.Err() != nil || unreachable(err)) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := held[i].err; err != nil {
			fleet.Unreadable = append(fleet.Unreadable, err)
			continue
		}
		for _, lease := range held[i].leases {
			pool := lease.Pool()
			if byName[pool] == nil {
				byName[pool] = &Worker{PoolInfo: queue.PoolInfo{Name: pool}}
			}
			byName[pool].Leases = append(byName[pool].Leases, WorkerLease{name, lease})
		}
		for _, job := range held[i].jobs {
			if worker := byName[queue.WorkerInfo{Name: job.Worker}.Pool()]; worker != nil {
				worker.Jobs = append(worker.Jobs, job)
			}
		}
	}
	maps.DeleteFunc(byName, func(_ string, w *Worker) bool {
		return len(w.Leases) == 0 && (w.Dead() || options.Queue != "" && !w.TakesJobsOf(fleet.queues[0]))
	})
	fleet.Workers = slices.SortedFunc(maps.Values(byName), func(a, b *Worker) int { return strings.Compare(a.Name, b.Name) })
	for _, worker := range fleet.Workers {
		slices.SortFunc(worker.Jobs, func(a, b *queue.Job) int { return a.Taken.Compare(b.Taken) })
	}
	fleet.Now, err = c.Now(ctx, "")
	return fleet, err
}

// Fleet returns the living workers as they were read last, without their jobs.
func (o *Overview) Fleet() *Fleet {
	fleet := &Fleet{Now: o.Now}
	for _, q := range o.Queues {
		fleet.queues = append(fleet.queues, q.Name)
	}
	for _, pool := range o.Workers {
		worker := &Worker{PoolInfo: pool, Listed: true}
		for name, held := range o.heldBy[pool.Name] {
			worker.Leases = append(worker.Leases, WorkerLease{name, queue.WorkerInfo{Name: pool.Name, Held: held, Lease: pool.Expires}})
		}
		fleet.Workers = append(fleet.Workers, worker)
	}
	return fleet
}

// heldJobs is what workers hold of one queue, or why that can't be read.
type heldJobs struct {
	leases []queue.WorkerInfo
	jobs   []*queue.Job
	err    error
}

// held returns the leases of a queue and, if withJobs is set, the jobs under them.
func (c *Client) held(ctx context.Context, name string, withJobs bool) (leases []queue.WorkerInfo, jobs []*queue.Job, err error) {
	q, err := c.queues.Queue(name)
	if err != nil {
		return nil, nil, err
	}
	if leases, err = q.Workers(ctx); err != nil {
		return nil, nil, err
	}
	if !withJobs || !slices.ContainsFunc(leases, func(l queue.WorkerInfo) bool { return l.Held > 0 }) {
		return leases, nil, nil
	}
	page, err := q.List(ctx, queue.Active, &queue.ListOptions{Limit: maxRunning})
	if err != nil {
		return nil, nil, err
	}
	return leases, page.Jobs, nil
}

// Serving returns the workers that take jobs of a queue.
func (f *Fleet) Serving(name string) (found []*Worker) {
	for _, worker := range f.Workers {
		if worker.TakesJobsOf(name) {
			found = append(found, worker)
		}
	}
	return found
}

// Within returns the workers that take or hold jobs of some queues, without their other queues
// and the jobs and leases of these.
func (f *Fleet) Within(names []string) *Fleet {
	within := &Fleet{Now: f.Now, queues: names}
	for _, worker := range f.Workers {
		one := *worker
		one.Queues = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !worker.Serves(name) })
		one.Leases = slices.DeleteFunc(slices.Clone(worker.Leases), func(l WorkerLease) bool { return !slices.Contains(names, l.Queue) })
		one.Jobs = slices.DeleteFunc(slices.Clone(worker.Jobs), func(job *queue.Job) bool { return !slices.Contains(names, job.Queue) })
		if len(one.Queues) > 0 || len(one.Leases) > 0 {
			within.Workers = append(within.Workers, &one)
		}
	}
	return within
}

// Living returns the workers that are not dead.
func (f *Fleet) Living() []*Worker {
	return slices.DeleteFunc(slices.Clone(f.Workers), (*Worker).Dead)
}

// maxSignalled bounds the queues through which a worker is signalled: one is enough, unless the
// worker has just begun or stopped to serve it.
const maxSignalled = 3

// ErrUnreachableWorker is the error for a signal to a worker that serves no queue.
var ErrUnreachableWorker = errors.New("the worker can't be reached")

// Signal makes a worker of a fleet quiet ([queue.SignalQuiet]) or stops it ([queue.SignalStop]),
// through some of its queues. The error is [ErrUnreachableWorker] if it serves none.
func (c *Client) Signal(ctx context.Context, fleet *Fleet, worker *Worker, kind queue.SignalKind) error {
	var served []string
	for _, name := range append(slices.Clone(worker.QueueNames()), fleet.queues...) {
		if queue.CheckQueueName(name) == nil && worker.TakesJobsOf(name) && len(served) < maxSignalled && !slices.Contains(served, name) {
			served = append(served, name)
		}
	}
	if len(served) == 0 {
		return fmt.Errorf("%w: worker %s: no queue matches its patterns yet", ErrUnreachableWorker, worker.Name)
	}
	for _, name := range served {
		q, err := c.queues.ForPool(name)
		if err == nil {
			err = q.Signal(ctx, queue.Signal{Kind: kind, Worker: worker.Name})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A KindCount is the number of jobs of a kind that a worker holds.
type KindCount struct {
	Kind  string
	Count int
}

// HeldKinds returns the kinds of the jobs that the worker holds, the most frequent first.
func (w *Worker) HeldKinds() (kinds []KindCount) {
	counts := map[string]int{}
	for _, job := range w.Jobs {
		counts[job.Kind]++
	}
	for kind, n := range counts {
		kinds = append(kinds, KindCount{kind, n})
	}
	slices.SortFunc(kinds, func(a, b KindCount) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Kind, b.Kind)) })
	return kinds
}

// Full reports whether the worker holds as many jobs as it may run at a time.
func (w *Worker) Full() bool { return w.Concurrency > 0 && w.Held() >= w.Concurrency }

// ByTrouble returns the workers by how urgent they are: dead, late, full, those that
// hold jobs, idle.
func (f *Fleet) ByTrouble() []*Worker {
	place := func(w *Worker) int {
		switch condition := w.Condition(); {
		case condition == "dead":
			return 0
		case condition == "late":
			return 1
		case w.Full():
			return 2
		case w.Held() > 0:
			return 3
		}
		return 4
	}
	return slices.SortedStableFunc(slices.Values(f.Workers), func(a, b *Worker) int { return place(a) - place(b) })
}

// Longest returns the jobs that workers have held for longest, at most limit of them, and the
// number of all that were read.
func (f *Fleet) Longest(limit int) (jobs []*queue.Job, all int) {
	for _, w := range f.Workers {
		jobs = append(jobs, w.Jobs...)
	}
	slices.SortFunc(jobs, func(a, b *queue.Job) int { return cmp.Or(a.Taken.Compare(b.Taken), strings.Compare(a.ID, b.ID)) })
	return jobs[:min(limit, len(jobs))], len(jobs)
}

// Versions returns the versions of living workers that are known, that of most workers first.
func (f *Fleet) Versions() []string {
	counts := map[string]int{}
	for _, w := range f.Workers {
		if w.Version != "" && !w.Dead() {
			counts[w.Version]++
		}
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(b, a)) })
}
