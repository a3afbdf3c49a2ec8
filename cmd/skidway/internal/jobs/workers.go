package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
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
	return cli.Run(a, c, openOps, func(ctx context.Context, client *ops.Client, args []string) error {
		fleet, err := readFleet(ctx, a, client, &ops.FleetOptions{Queue: firstOf(args)})
		if err != nil {
			return err
		}
		if len(fleet.Workers) == 0 {
			a.Console.Notice("no worker is running: 'skidway worker --help' says how to start one")
		}
		view := workersView{fleet}
		return a.Print(output.Word, view.table,
			func(out io.Writer) error { return cli.WriteCSV(out, workerView.CSV(fleet.Workers)) }, view.json)
	})
}

// readFleet returns the workers, and reports the queues that can't be read.
func readFleet(ctx context.Context, a *cli.App, client *ops.Client, options *ops.FleetOptions) (*ops.Fleet, error) {
	fleet, err := client.Fleet(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, problem := range fleet.Unreadable {
		a.Console.Problem("", problem) // it has the name
	}
	return fleet, nil
}

// A workersView prints workers.
type workersView struct{ *ops.Fleet }

// maxShownJobs bounds the jobs of a worker in the table.
const maxShownJobs = 5

func (v *workersView) table(out io.Writer) error {
	for i, w := range v.Workers {
		var text strings.Builder
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s  %s", cli.Printable(w.Name), w.Condition())
		if w.Host != "" {
			fmt.Fprintf(&text, "  pid %d on %s, up %s", w.PID, cli.Printable(w.Host), ops.Age(v.Now.Sub(w.Started)))
		}
		fmt.Fprintf(&text, "\n  queues  %s\n", cli.Printable(ops.JoinNames(w.QueueNames(), 8)))
		fmt.Fprintf(&text, "  jobs    %d", w.Held())
		if w.Concurrency > 0 {
			fmt.Fprintf(&text, " of %d at once", w.Concurrency)
		}
		if w.Stuck > 0 {
			fmt.Fprintf(&text, ", and %d handlers that ignore their timeout", w.Stuck)
		}
		if !w.Dead() {
			fmt.Fprintf(&text, "\n  lease   %s left", w.Left().Round(100*time.Millisecond))
		} else {
			text.WriteString("\n  lease   over: its jobs are about to be given to others")
		}
		text.WriteString("\n")
		for n, job := range w.Jobs {
			if n == maxShownJobs {
				fmt.Fprintf(&text, "  and %d more\n", w.Held()-n)
				break
			}
			solo := ""
			if job.ID == w.Solo() {
				solo = "  alone"
			}
			fmt.Fprintf(&text, "  %6s  %s  %s%s\n", ops.Age(v.Now.Sub(job.Taken)), job.ID, cli.Printable(job.Kind), solo)
		}
		if _, err := io.WriteString(out, text.String()); err != nil {
			return err
		}
	}
	return nil
}

var workerView = cli.View[*ops.Worker]{
	{Key: "worker", Value: func(w *ops.Worker) any { return w.Name }},
	{Key: "state", Value: func(w *ops.Worker) any { return w.Condition() }},
	{Key: "host", Value: func(w *ops.Worker) any { return w.Host }, Omit: true},
	{Key: "pid", Value: func(w *ops.Worker) any { return w.PID }, Omit: true},
	{Key: "started", Value: func(w *ops.Worker) any { return w.Started }, Omit: true},
	{Key: "concurrency", Value: func(w *ops.Worker) any { return w.Concurrency }, Omit: true},
	{Key: "stuck", Value: func(w *ops.Worker) any { return w.Stuck }, Omit: true, Only: "json"},
	{Key: "jobs", Value: func(w *ops.Worker) any { return w.Held() }},
	{Key: "lease_seconds", Value: func(w *ops.Worker) any { return w.Left().Seconds() }},
	{Key: "alone", Value: func(w *ops.Worker) any { return w.Solo() }, Omit: true},
	{Key: "queues", Value: func(w *ops.Worker) any { return w.QueueNames() }},
}

func (v *workersView) json(out io.Writer) error {
	objects := []cli.Object{}
	for _, w := range v.Workers {
		running := []cli.Object{}
		for _, job := range w.Jobs {
			running = append(running, cli.Object{
				{Key: "id", Value: job.ID}, {Key: "kind", Value: job.Kind}, {Key: "seconds", Value: v.Now.Sub(job.Taken).Seconds()},
			})
		}
		objects = append(objects, append(workerView.Object(w), cli.Field{Key: "running", Value: running}))
	}
	return cli.WriteJSON(out, map[string]any{"workers": objects})
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
		return cli.With(c.Context(), a, openOps, func(client *ops.Client) error {
			return signalWorkers(c.Context(), a, client, names, do, done)
		})
	})
	return c
}

// signalWorkers signals the workers with these names; nil means all.
func signalWorkers(ctx context.Context, a *cli.App, client *ops.Client, names []string, do, done string) error {
	fleet, err := readFleet(ctx, a, client, &ops.FleetOptions{WithoutJobs: true})
	if err != nil {
		return err
	}
	living := map[string]*ops.Worker{}
	var known []string
	for _, worker := range fleet.Living() {
		living[worker.Name] = worker
		known = append(known, worker.Name)
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
			return "", fmt.Errorf("there is no worker %s, only %s", name, ops.JoinNames(known, 10))
		}
		return "was told to " + done, client.Signal(ctx, fleet, worker, queue.SignalKind(do))
	})
}
