package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"skidway/distribute"
)

// worker is the command "logs work".
type worker struct {
	*app
	counting
	channel, subscriber string
	untilDone           bool
	lease               span
}

func (a *app) work() *cobra.Command {
	w := &worker{app: a, lease: span(distribute.DefaultLease)}
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
	c.RunE = action(func(c *cobra.Command, _ []string) error { return w.open(c.Context()) })
	return c
}

func (w *worker) open(ctx context.Context) error {
	aggregation, err := w.aggregation(w.console)
	if err != nil {
		return err
	}
	return w.withChannel(ctx, distribute.Open, w.channel, func(channel *distribute.Channel) error {
		return w.run(ctx, channel, aggregation)
	})
}

func (w *worker) run(ctx context.Context, channel *distribute.Channel, aggregation distribute.Aggregation) error {
	ctx, stop, end := w.console.listen(ctx)
	defer end()
	worker, err := distribute.NewWorker(ctx, channel, w.subscriber, aggregation, distribute.WorkerConfig{
		Workers: int(w.workers), Lease: time.Duration(w.lease), UntilDone: w.untilDone, Quit: stop.quit, Notify: w.console.event,
	})
	if err != nil {
		return valueError(err)
	}
	w.console.notice("counting the files of channel %q for subscriber %q", channel.Name(), w.subscriber)
	started := time.Now()
	hide := w.console.showLines(worker.Progress)
	result, err := worker.Work(ctx)
	hide()
	w.console.notice("%s", closingLine(result.Tally, time.Since(started)))
	if err != nil {
		return err
	}
	if w.untilDone && stop.stopped() {
		return errStoppedEarly
	}
	return verdict(outcomes{distribute.Shipped: 1}, result.Tally)
}
