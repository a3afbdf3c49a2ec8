package logs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

// worker is the command "logs work".
type worker struct {
	*cli.App
	counting
	channel, subscriber string
	untilDone           bool
	lease               cli.Span
}

func work(a *cli.App) *cobra.Command {
	w := &worker{App: a, lease: cli.Span(distribute.DefaultLease)}
	c := &cobra.Command{
		Use:   "work",
		Short: "Counts the files of a channel for a subscriber",
		Long: `Counts the files of a channel for a subscriber, and waits for more.

Any number of workers, on any number of machines, may serve one subscriber:
each file is counted once. When a worker dies, another takes its files over. The
subscriber is created if there is none; --format, --by and --tz are fixed then,
and a worker that has others is refused.

With --until-done it ends when all that was shipped is counted; it may be
started before the shipping. Without, Ctrl-C ends it.`,
		Example: `  skidway logs work --channel web --subscriber countries
  skidway logs work --channel web --subscriber countries --until-done
  skidway logs work --channel web --subscriber days --by day --tz UTC`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &w.channel)
	subscriberFlag(c, &w.subscriber)
	w.addFlags(c)
	c.Flags().BoolVar(&w.untilDone, "until-done", false, "end when all that is shipped is counted")
	c.Flags().Var(&w.lease, "lease", "how long after its last sign of life this process is taken for dead")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return w.open(c.Context()) })
	return c
}

func (w *worker) open(ctx context.Context) error {
	aggregation, err := w.aggregation(w.Console)
	if err != nil {
		return err
	}
	return withChannel(w.App, ctx, distribute.Open, w.channel, func(channel *distribute.Channel) error {
		return w.run(ctx, channel, aggregation)
	})
}

func (w *worker) run(ctx context.Context, channel *distribute.Channel, aggregation distribute.Aggregation) error {
	ctx, stop, end := w.Console.Listen(ctx)
	defer end()
	worker, err := distribute.NewWorker(ctx, channel, w.subscriber, aggregation, distribute.WorkerConfig{
		Workers: int(w.workers), Lease: time.Duration(w.lease), UntilDone: w.untilDone, Quit: stop.Quit, Notify: func(e distribute.Event) { tellEvent(w.Console, e) },
	})
	if err != nil {
		return cli.InvalidAsUsage(err)
	}
	w.Console.Notice("counting the files of channel %q for subscriber %q", channel.Name(), w.subscriber)
	started := time.Now()
	hide := w.Console.ShowLines(worker.Progress)
	result, err := worker.Work(ctx)
	hide()
	w.Console.Notice("%s", closingLine(result.Tally, time.Since(started)))
	if err != nil {
		return err
	}
	if w.untilDone && stop.Stopped() {
		return cli.ErrStoppedEarly
	}
	return verdict(outcomes{distribute.Shipped: 1}, result.Tally)
}
