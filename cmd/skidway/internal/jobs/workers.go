package jobs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Workers returns the command "workers".
func Workers(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "workers",
		Short: "Shows workers, and tells them to be quiet or to stop",
		Long: `Workers are the processes that run jobs. A quiet one takes no more; one that
stops ends what it has, within the time that it was given, and exits.`,
		Example: `  skidway workers list
  skidway workers quiet mailer-7`,
	})
	c.AddCommand(workersList(a), workersTell(a, "quiet"), workersTell(a, "stop"))
	return c
}

func workersList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [QUEUE]",
		Short: "Lists workers and what they run",
		Long: `Lists the workers of all queues, or of one: where they run, what they serve,
what is left of their lease, and the jobs that they have and since when. A
worker is late when its lease is over and nobody has noticed yet; a dead one has
jobs that are about to be given to others. A job that runs alone was in the
hands of a worker that died: nothing else runs beside it, so that it is known
who did it if that happens again.`,
		Example: `  skidway workers list
  skidway workers list mail -o json`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeQueues(a),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withRedis(c.Context(), a, func(db *rdb.DB, client *queue.Client) error {
			names, err := namesOf(c.Context(), client, args)
			if err != nil {
				return err
			}
			fleet, err := fleetOf(c.Context(), a, client, names, true)
			if err != nil {
				return err
			}
			now, err := db.Time(c.Context()).Result()
			if err != nil {
				return err
			}
			if len(fleet) == 0 {
				a.Console.Notice("no worker is there: 'skidway worker --help' tells how to start one")
			}
			view := fleetView{now, fleet}
			return a.Print(output.Word, view.table,
				func(out io.Writer) error { return cli.WriteCSV(out, workerView.CSV(fleet)) }, view.json)
		})
	})
	return c
}

// namesOf gives the queue that is named in args, which must be there, or all.
func namesOf(ctx context.Context, client *queue.Client, args []string) ([]string, error) {
	if len(args) == 0 {
		return client.Queues(ctx)
	}
	q, err := existing(ctx, client, args[0])
	if err != nil {
		return nil, err
	}
	return []string{q.Name()}, nil
}

// A fleetView prints workers.
type fleetView struct {
	now   time.Time // by Redis's clock
	fleet []*fleetWorker
}

// jobsShown is how many jobs of a worker the table shows.
const jobsShown = 5

func (v *fleetView) table(out io.Writer) error {
	for i, w := range v.fleet {
		var text strings.Builder
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s  %s", cli.Printable(w.Name), w.state())
		if w.Host != "" {
			fmt.Fprintf(&text, "  pid %d on %s, up %s", w.PID, cli.Printable(w.Host), age(v.now.Sub(w.Started)))
		}
		fmt.Fprintf(&text, "\n  queues  %s\n", cli.Printable(some(w.queueNames(), 8)))
		fmt.Fprintf(&text, "  jobs    %d", w.held())
		if w.Concurrency > 0 {
			fmt.Fprintf(&text, " of %d at once", w.Concurrency)
		}
		if w.Stuck > 0 {
			fmt.Fprintf(&text, ", and %d whose handlers don't return", w.Stuck)
		}
		if !w.dead() {
			fmt.Fprintf(&text, "\n  lease   %s left", w.left().Round(100*time.Millisecond))
		} else {
			text.WriteString("\n  lease   over: its jobs are about to be given to others")
		}
		text.WriteString("\n")
		for n, job := range w.jobs {
			if n == jobsShown {
				fmt.Fprintf(&text, "  and %d more\n", w.held()-n)
				break
			}
			alone := ""
			if job.ID == w.alone() {
				alone = "  alone"
			}
			fmt.Fprintf(&text, "  %6s  %s  %s%s\n", age(v.now.Sub(job.Taken)), job.ID, cli.Printable(job.Kind), alone)
		}
		if _, err := io.WriteString(out, text.String()); err != nil {
			return err
		}
	}
	return nil
}

func (w *fleetWorker) queueNames() (names []string) {
	for _, lease := range w.leases {
		names = append(names, lease.queue.Name())
	}
	return slices.Compact(names)
}

var workerView = cli.View[*fleetWorker]{
	{Key: "worker", Value: func(w *fleetWorker) any { return w.Name }},
	{Key: "state", Value: func(w *fleetWorker) any { return w.state() }},
	{Key: "host", Value: func(w *fleetWorker) any { return w.Host }, Omit: true},
	{Key: "pid", Value: func(w *fleetWorker) any { return w.PID }, Omit: true},
	{Key: "started", Value: func(w *fleetWorker) any { return w.Started }, Omit: true},
	{Key: "concurrency", Value: func(w *fleetWorker) any { return w.Concurrency }, Omit: true},
	{Key: "stuck", Value: func(w *fleetWorker) any { return w.Stuck }, Omit: true, Only: "json"},
	{Key: "jobs", Value: func(w *fleetWorker) any { return w.held() }},
	{Key: "lease_seconds", Value: func(w *fleetWorker) any { return w.left().Seconds() }},
	{Key: "alone", Value: func(w *fleetWorker) any { return w.alone() }, Omit: true},
	{Key: "queues", Value: func(w *fleetWorker) any { return w.queueNames() }},
}

// runningJSON is a job that a worker has.
type runningJSON struct {
	ID      string  `json:"id"`
	Kind    string  `json:"kind"`
	Seconds float64 `json:"seconds"`
}

func (v *fleetView) json(out io.Writer) error {
	objects := []cli.Object{}
	for _, w := range v.fleet {
		running := []runningJSON{}
		for _, job := range w.jobs {
			running = append(running, runningJSON{job.ID, job.Kind, v.now.Sub(job.Taken).Seconds()})
		}
		objects = append(objects, append(workerView.Object(w), cli.Field{Key: "running", Value: running}))
	}
	return cli.WriteJSON(out, map[string]any{"workers": objects})
}
