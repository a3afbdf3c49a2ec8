package logs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
)

// A worker is the command "logs work".
type worker struct {
	*cli.App
	counting
	channel, subscriber string
	untilDone           bool
	memory              cli.Size
	lease               cli.Span
}

func work(a *cli.App) *cobra.Command {
	w := &worker{App: a, lease: cli.Span(distribute.DefaultLease)}
	c := &cobra.Command{
		Use:   "work",
		Short: "Counts the files of a channel for a subscriber",
		Long: `Counts the files of a channel for a subscriber, and waits for more.

Any number of workers, on any number of machines, can count for one subscriber:
each file is counted once. When a worker dies, another one takes over its files.
The subscriber is created if it does not exist. --format, --by, --tz, --log-tz
and --trusted-proxies are fixed then: workers with other values are refused.

With --until-done it ends when all shipped files are counted; it may start
before the shipper. Otherwise it runs until Ctrl-C.`,
		Example: `  skidway logs work --channel web --subscriber countries
  skidway logs work --channel web --subscriber countries --until-done
  skidway logs work --channel web --subscriber days --by day --tz UTC`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &w.channel)
	subscriberFlag(c, &w.subscriber)
	w.addFlags(c)
	c.Flags().BoolVar(&w.untilDone, "until-done", false, "end when all shipped files are counted")
	memoryFlag(c, &w.memory)
	c.Flags().Var(&w.lease, "lease", "time after the last heartbeat until this process counts as dead")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return w.open(c.Context()) })
	return c
}

func (w *worker) open(ctx context.Context) error {
	aggregation, err := w.aggregation(w.Console)
	if err != nil {
		return err
	}
	return withChannel(ctx, w.App, distribute.Open, w.channel, func(channel *distribute.Channel) error {
		return w.run(ctx, channel, aggregation)
	})
}

func (w *worker) run(ctx context.Context, channel *distribute.Channel, aggregation distribute.Aggregation) error {
	ctx, stopping, end := w.Console.Listen(ctx)
	defer end()
	worker, err := distribute.NewWorker(ctx, channel, w.subscriber, aggregation, &distribute.WorkerConfig{
		Workers: int(w.workers), Lease: time.Duration(w.lease), UntilDone: w.untilDone, MaxWindow: window(w.memory, int(w.workers)),
		Notify: func(e distribute.Event) { printEvent(w.Console, e) },
	})
	if err != nil {
		return cli.InvalidAsUsage(err)
	}
	defer context.AfterFunc(stopping, worker.Stop)()
	w.Console.Notice("counting the files of channel %q for subscriber %q", channel.Name(), w.subscriber)
	started := time.Now()
	hide := w.Console.ShowLines(worker.Progress)
	result, err := worker.Work(ctx)
	hide()
	w.Console.Notice("%s", closingLine(result.Tally, time.Since(started)))
	if err != nil {
		return err
	}
	if w.untilDone && stopping.Err() != nil {
		return cli.ErrStoppedEarly
	}
	return verdict(outcomes{distribute.Shipped: 1}, result.Tally)
}

// counting has the flags of commands that count lines.
type counting struct {
	formatFlags
	geoip         string
	noGeo         bool
	by            []string
	zone, logZone cli.Zone
	proxies       string
	workers       cli.Number
}

func (k *counting) addFlags(c *cobra.Command) {
	flags := c.Flags()
	k.formatFlags.addFlags(c)
	flags.StringVar(&k.geoip, "geoip", "", "country database, a `FILE` in MMDB format (default: the embedded one)")
	flags.BoolVar(&k.noGeo, "no-geo", false, "count by day alone, without a country database")
	flags.StringSliceVar(&k.by, "by", []string{"day", "country"}, "`WHAT` to count by: day, country or both")
	flags.Var(&k.zone, "tz", "time zone of the days (default: that of each line)")
	flags.Var(&k.logZone, "log-tz", "time zone of times that lines have without one (default: as written)")
	flags.StringVar(&k.proxies, "trusted-proxies", "", "proxies before the server, as `N|CIDR`, to choose from lists of addresses (default: the first public one)")
	flags.Var(&k.workers, "workers", "number of files to count at once; 0: one per processor")
	c.MarkFlagsMutuallyExclusive("no-geo", "geoip")
	c.MarkFlagsMutuallyExclusive("no-geo", "by")
	cli.Complete(c, "by", "day", "country", "day,country")
}

// aggregation opens the country database, and warns if it is old.
func (k *counting) aggregation(console *cli.Console) (*distribute.CountryDay, error) {
	format, err := k.name()
	if err != nil {
		return nil, err
	}
	proxies, err := accesslog.ParseTrustedProxies(k.proxies)
	if err != nil {
		return nil, cli.WrongUsage("--trusted-proxies: %w", err)
	}
	var countries *geo.DB
	if k.noGeo {
		k.by = []string{"day"}
	} else if countries, err = k.countries(); err != nil {
		return nil, err
	}
	aggregation, err := distribute.NewCountryDay(&distribute.CountryDayConfig{
		By: k.by, Format: format, Zone: k.zone.Location, LogZone: k.logZone.Location, Proxies: proxies, Countries: countries,
	})
	if err != nil {
		return nil, cli.AsUsage(err) // the database was opened, so a flag is wrong
	}
	if k.noGeo {
		return aggregation, nil
	}
	if warning := staleWarning(countries.Build(), time.Now()); warning != "" {
		console.Notice("warning: country database %s", warning)
	}
	return aggregation, nil
}

// staleWarning returns what to tell the user about a database that is stale, else "".
func staleWarning(b geo.Build, now time.Time) string {
	const month = 365 * 24 * time.Hour / 12
	switch {
	case !b.Stale(now):
		return ""
	case b.Date.IsZero():
		return b.Name + " does not say when it was built: check that it is recent"
	}
	return fmt.Sprintf("%s is %d months old: addresses that moved since count for their old country; use a newer .mmdb file",
		b, now.Sub(b.Date)/month)
}

func (k *counting) countries() (*geo.DB, error) {
	if k.geoip == "" {
		return geo.Default()
	}
	return geo.Open(k.geoip)
}
