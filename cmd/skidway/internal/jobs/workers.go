package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// Workers returns the command "workers".
func Workers(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "workers",
		Short: "Lists workers, makes them quiet and stops them",
		Long: `A worker is a process that runs jobs. A quiet worker takes no more jobs. A
worker that stops waits for its running jobs, for a limited time, and exits.`,
		Example: `  skidway workers list
  skidway workers quiet mailer-7`,
	})
	c.AddCommand(workersList(a), workersSignal(a, "quiet", "take no more jobs"), workersSignal(a, "stop", "stop"))
	return c
}

func workersList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [QUEUE]",
		Short: "Lists workers and what they run",
		Long: `Lists the workers of all queues, or of one: where they run, the queues that they
serve, the time left of their lease, and their running jobs with their times. A
worker is late when its lease is over but no other worker has noticed it yet.
The jobs of a dead worker are about to be given to others. A job that runs alone
was held when several workers died: no other job runs beside it, so that one
more death shows that it is the cause.`,
		Example: `  skidway workers list
  skidway workers list mail -o json`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openQueues, func(ctx context.Context, client *queue.Client, args []string) error {
		names, err := queueNames(ctx, client, args)
		if err != nil {
			return err
		}
		workers, err := readWorkers(ctx, a, client, names, true)
		if err != nil {
			return err
		}
		now, err := redisTime(ctx, client)
		if err != nil {
			return err
		}
		if len(workers) == 0 {
			a.Console.Notice("no worker is running: 'skidway worker --help' says how to start one")
		}
		view := workersView{now, workers}
		return a.Print(output.Word, view.table,
			func(out io.Writer) error { return cli.WriteCSV(out, workerView.CSV(workers)) }, view.json)
	})
}

// queueNames returns the queue in args, which must exist, or all queues.
func queueNames(ctx context.Context, client *queue.Client, args []string) ([]string, error) {
	if len(args) == 0 {
		return client.Queues(ctx)
	}
	q, err := existing(ctx, client, args[0])
	if err != nil {
		return nil, err
	}
	return []string{q.Name()}, nil
}

// A workersView prints workers.
type workersView struct {
	now     time.Time // by Redis's clock
	workers []*workerProcess
}

// maxShownJobs bounds the jobs of a worker in the table.
const maxShownJobs = 5

func (v *workersView) table(out io.Writer) error {
	for i, w := range v.workers {
		var text strings.Builder
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s  %s", cli.Printable(w.Name), w.state())
		if w.Host != "" {
			fmt.Fprintf(&text, "  pid %d on %s, up %s", w.PID, cli.Printable(w.Host), age(v.now.Sub(w.Started)))
		}
		fmt.Fprintf(&text, "\n  queues  %s\n", cli.Printable(joinNames(w.queueNames(), 8)))
		fmt.Fprintf(&text, "  jobs    %d", w.held())
		if w.Concurrency > 0 {
			fmt.Fprintf(&text, " of %d at once", w.Concurrency)
		}
		if w.Stuck > 0 {
			fmt.Fprintf(&text, ", and %d handlers that ignore their timeout", w.Stuck)
		}
		if !w.dead() {
			fmt.Fprintf(&text, "\n  lease   %s left", w.left().Round(100*time.Millisecond))
		} else {
			text.WriteString("\n  lease   over: its jobs are about to be given to others")
		}
		text.WriteString("\n")
		for n, job := range w.jobs {
			if n == maxShownJobs {
				fmt.Fprintf(&text, "  and %d more\n", w.held()-n)
				break
			}
			solo := ""
			if job.ID == w.solo() {
				solo = "  alone"
			}
			fmt.Fprintf(&text, "  %6s  %s  %s%s\n", age(v.now.Sub(job.Taken)), job.ID, cli.Printable(job.Kind), solo)
		}
		if _, err := io.WriteString(out, text.String()); err != nil {
			return err
		}
	}
	return nil
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

var workerView = cli.View[*workerProcess]{
	{Key: "worker", Value: func(w *workerProcess) any { return w.Name }},
	{Key: "state", Value: func(w *workerProcess) any { return w.state() }},
	{Key: "host", Value: func(w *workerProcess) any { return w.Host }, Omit: true},
	{Key: "pid", Value: func(w *workerProcess) any { return w.PID }, Omit: true},
	{Key: "started", Value: func(w *workerProcess) any { return w.Started }, Omit: true},
	{Key: "concurrency", Value: func(w *workerProcess) any { return w.Concurrency }, Omit: true},
	{Key: "stuck", Value: func(w *workerProcess) any { return w.Stuck }, Omit: true, Only: "json"},
	{Key: "jobs", Value: func(w *workerProcess) any { return w.held() }},
	{Key: "lease_seconds", Value: func(w *workerProcess) any { return w.left().Seconds() }},
	{Key: "alone", Value: func(w *workerProcess) any { return w.solo() }, Omit: true},
	{Key: "queues", Value: func(w *workerProcess) any { return w.queueNames() }},
}

func (v *workersView) json(out io.Writer) error {
	objects := []cli.Object{}
	for _, w := range v.workers {
		running := []cli.Object{}
		for _, job := range w.jobs {
			running = append(running, cli.Object{
				{Key: "id", Value: job.ID}, {Key: "kind", Value: job.Kind}, {Key: "seconds", Value: v.now.Sub(job.Taken).Seconds()},
			})
		}
		objects = append(objects, append(workerView.Object(w), cli.Field{Key: "running", Value: running}))
	}
	return cli.WriteJSON(out, map[string]any{"workers": objects})
}

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

// workersSignal returns "workers quiet" and "workers stop".
func workersSignal(a *cli.App, do, done string) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     do + " NAME...|--all",
		Short:   "Makes workers take no more jobs",
		Long:    "Makes workers, by name or all of them, take no more jobs. Running jobs go on. To\nundo it, restart the worker.",
		Example: "  skidway workers quiet mailer-7\n  skidway workers quiet --all",
	}
	if do == "stop" {
		c.Short = "Stops workers"
		c.Long = `Stops workers, by name or all of them. They take no more jobs, wait for running
jobs for a limited time (worker.drain and worker.grace), and exit. Unfinished
jobs go back to the front of their queue.`
		c.Example = "  skidway workers stop mailer-7\n  skidway workers stop --all"
	}
	c.Flags().BoolVar(&all, "all", false, "all workers of all queues")
	c.RunE = cli.Action(func(c *cobra.Command, names []string) error {
		if all == (len(names) > 0) {
			return cli.WrongUsage("give NAMEs of workers or --all")
		}
		return cli.With(c.Context(), a, openQueues, func(client *queue.Client) error {
			return signalWorkers(c.Context(), a, client, names, do, done)
		})
	})
	return c
}

// signalWorkers signals the workers with these names; nil means all.
func signalWorkers(ctx context.Context, a *cli.App, client *queue.Client, names []string, do, done string) error {
	queues, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	workers, err := readWorkers(ctx, a, client, queues, false)
	if err != nil {
		return err
	}
	living := map[string]*workerProcess{}
	var known []string
	for _, worker := range workers {
		if !worker.dead() {
			living[worker.Name] = worker
			known = append(known, worker.Name)
		}
	}
	if len(names) == 0 {
		names = known
	}
	if len(known) == 0 {
		return errors.New("no worker is running")
	}
	return each(a, "workers", names, func(name string) (string, error) {
		worker := living[name]
		if worker == nil {
			return "", fmt.Errorf("there is no worker %s, only %s", name, joinNames(known, 10))
		}
		return "was told to " + done, signalWorker(ctx, client, worker, queues, queue.Signal{Kind: queue.SignalKind(do), Worker: name})
	})
}

// maxSignalled bounds the queues through which a worker is signalled: one is enough, unless the
// worker has just begun or stopped to serve it.
const maxSignalled = 3

// signalWorker sends a signal to a worker through some of its queues.
func signalWorker(ctx context.Context, client *queue.Client, worker *workerProcess, queues []string, signal queue.Signal) error {
	var served []string
	for _, name := range append(worker.queueNames(), queues...) {
		if queue.CheckQueueName(name) == nil && worker.serves(name) && len(served) < maxSignalled && !slices.Contains(served, name) {
			served = append(served, name)
		}
	}
	if len(served) == 0 {
		return fmt.Errorf("worker %s can't be reached: no queue matches its patterns yet", worker.Name)
	}
	for _, name := range served {
		q, err := client.ForPool(name)
		if err == nil {
			err = q.Signal(ctx, signal)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
