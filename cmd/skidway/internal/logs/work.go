package logs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

// A worker is the command "logs work".
type worker struct {
	*cli.App
	counting
	channel     string
	subscribers []string // each with its own settings, if it has any
	untilDone   bool
	memory      cli.Size
	lease       cli.Span
}

func work(a *cli.App) *cobra.Command {
	w := &worker{App: a, lease: cli.Span(distribute.DefaultLease)}
	c := &cobra.Command{
		Use:   "work",
		Short: "Counts the files of a channel for a subscriber",
		Long: `Counts the files of a channel for a subscriber, and waits for more.

Any number of workers, on any number of machines, can count for one subscriber:
each file is counted once. When a worker dies, another one takes over its files.
The subscriber is created if it does not exist. --format, --by, --where,
--measure, --visitors, --max-cells, --keep, --tz, --log-tz and --trusted-proxies
are fixed then: workers with other values are refused.

With --keep 400d only 400 days are kept, in the zone of --tz, or else in UTC, by
the clock of Redis: older ones are deleted, and their lines expire.

With several --subscriber, each file is downloaded and decompressed once for all
of them. The flags are the settings of all. Those of one subscriber can follow
its name, as 'NAME by=day tz=UTC', the last one as 'where=status >= 500'.

With --until-done it ends when all shipped files are counted; it may start
before the shipper. Otherwise it runs until Ctrl-C.`,
		Example: `  skidway logs work --channel web --subscriber countries
  skidway logs work --channel web --subscriber countries --until-done
  skidway logs work --channel web --subscriber days --by day --tz UTC
  skidway logs work --channel web --subscriber year --by day,path --keep 400d
  skidway logs work --channel web --subscriber errors --where 'status >= 500'
  skidway logs work --channel web --subscriber countries \
      --subscriber 'days by=day tz=UTC'`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &w.channel)
	c.Flags().StringArrayVar(&w.subscribers, "subscriber", nil, "`NAME` of a subscriber, and its own settings; may be repeated")
	_ = c.MarkFlagRequired("subscriber")
	w.addFlags(c)
	w.addKeepFlag(c)
	c.Flags().BoolVar(&w.untilDone, "until-done", false, "end when all shipped files are counted")
	memoryFlag(c, &w.memory)
	c.Flags().Var(&w.lease, "lease", "time after the last heartbeat until this process counts as dead")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return w.open(c.Context()) })
	return c
}

// A served subscriber has its settings.
type served struct {
	name        string
	aggregation distribute.Aggregation
}

func (w *worker) open(ctx context.Context) error {
	var all []served
	var warnings []string
	for _, text := range w.subscribers {
		name, own, err := w.settings(text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(s served) bool { return s.name == name }) {
			return cli.WrongUsage("--subscriber %s is there twice", name)
		}
		aggregation, odd, err := own.aggregation()
		if err != nil {
			return err
		}
		all, warnings = append(all, served{name, aggregation}), append(warnings, odd...)
	}
	printWarnings(w.Console, warnings...)
	return withChannel(ctx, w.App, distribute.Open, w.channel, func(channel *distribute.Channel) error {
		return w.run(ctx, channel, all)
	})
}

// ownSettings are the flags that can be set for one subscriber.
var ownSettings = []string{"asn", "by", "format", "geoip", "keep", "log-tz", "max-cells", "measure", "tz", "trusted-proxies", "visitors", "where"}

// settings parses the name of a subscriber, and the settings that follow it. The others are
// those of the flags.
func (w *worker) settings(text string) (name string, own *counting, err error) {
	text, where, _ := strings.Cut(text, " where=")
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", nil, cli.WrongUsage("--subscriber needs a name")
	}
	own = new(counting)
	c := &cobra.Command{}
	own.addFlags(c)
	own.addKeepFlag(c)
	*own = w.counting
	own.by = nil // or those that follow are added
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		if found && w.noGeo && slices.Contains([]string{"asn", "by", "geoip"}, key) {
			return "", nil, cli.WrongUsage("--subscriber '%s': %s is not possible with --no-geo", text, key)
		}
		if !found || !slices.Contains(ownSettings, key) {
			return "", nil, cli.WrongUsage("--subscriber '%s': %s is no setting: give KEY=VALUE of %s", text, word, strings.Join(ownSettings, ", "))
		}
		if err := c.Flags().Set(key, value); err != nil {
			return "", nil, cli.WrongUsage("--subscriber '%s': %w", text, err)
		}
	}
	if own.by == nil {
		own.by = w.by
	}
	own.where = cmp.Or(where, own.where)
	return words[0], own, nil
}

func (w *worker) run(ctx context.Context, channel *distribute.Channel, all []served) error {
	ctx, stopping, end := w.Console.Listen(ctx)
	defer end()
	worker, err := distribute.NewWorker(ctx, channel, all[0].name, all[0].aggregation, &distribute.WorkerConfig{
		Workers: int(w.workers), Lease: time.Duration(w.lease), UntilDone: w.untilDone, MaxWindow: int64(w.memory),
		Notify: func(e distribute.Event) {
			if len(all) > 1 && e.File != "" && e.Subscriber != "" {
				e.File += " (" + e.Subscriber + ")"
			}
			printEvent(w.Console, e)
		},
	})
	for _, s := range all[1:] {
		if err == nil {
			err = worker.AddSubscriber(ctx, s.name, s.aggregation)
		}
	}
	if err != nil {
		return cli.InvalidAsUsage(err)
	}
	defer context.AfterFunc(stopping, worker.Stop)()
	for _, s := range all {
		w.Console.Notice("counting the files of channel %q for subscriber %q", channel.Name(), s.name)
	}
	started := time.Now()
	hide := w.Console.ShowLines(worker.Progress)
	result, err := worker.Work(ctx)
	hide()
	for _, s := range all {
		settings, _ := cuts.ParseSettings(s.aggregation.Settings()) // which are those of a Counting
		line := closingLine(result.Subscribers[s.name], settings, time.Since(started))
		if len(all) > 1 {
			line += " subscriber=" + s.name
		}
		w.Console.Notice("%s", line)
	}
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
	geoip, asn    string
	noGeo         bool
	by            cutList
	where         string
	measures      []string
	visitors      []string
	maxCells      cli.Number
	keep          string // days, of a subscriber
	zone, logZone cli.Zone
	proxies       string
	workers       cli.Number
}

func (k *counting) addFlags(c *cobra.Command) {
	flags := c.Flags()
	k.formatFlags.addFlags(c)
	flags.StringVar(&k.geoip, "geoip", "", "country database, a `FILE` in MMDB format (default: the embedded one)")
	flags.StringVar(&k.asn, "asn", "", "database of networks for the dimension asn, a `FILE` in MMDB format")
	flags.BoolVar(&k.noGeo, "no-geo", false, "count by day alone, without a country database")
	flags.Var(&k.by, "by", "`DIMENSIONS` to count by, such as day,country,status; up to four times (default: day,country)")
	flags.StringVar(&k.where, "where", "", "`FILTER` of the lines to count, such as 'status >= 500'")
	flags.StringSliceVar(&k.measures, "measure", nil, "`WHAT` to add up beside requests: bytes, duration or bytes,duration")
	flags.StringSliceVar(&k.visitors, "visitors", nil, "also count visitors by `WHAT`: day, or day,country")
	flags.Var(&k.maxCells, "max-cells", "number of cells of one day and --by, above which the smallest count as (other); 0: 100,000")
	flags.Var(&k.zone, "tz", "time zone of the days (default: that of each line)")
	flags.Var(&k.logZone, "log-tz", "time zone of times that lines have without one (default: as written)")
	flags.StringVar(&k.proxies, "trusted-proxies", "", "proxies before the server, as `N|CIDR`, to choose from lists of addresses (default: the first public one)")
	flags.Var(&k.workers, "workers", "number of files to count at once; 0: one per processor")
	c.MarkFlagsMutuallyExclusive("no-geo", "geoip")
	c.MarkFlagsMutuallyExclusive("no-geo", "asn")
	c.MarkFlagsMutuallyExclusive("no-geo", "by")
	cli.Complete(c, "by", cuts.Names()...)
	cli.Complete(c, "visitors", "day", "day,country")
	cli.Complete(c, "measure", "requests", "bytes", "duration", "bytes,duration")
}

// addKeepFlag adds the flag for subscribers, which go on.
func (k *counting) addKeepFlag(c *cobra.Command) {
	c.Flags().StringVar(&k.keep, "keep", "", "`DAYS` that are kept, today included, such as 400d (default: all)")
}

// A cutList is a flag with dimensions that may be repeated.
type cutList [][]string

// Set implements pflag.Value.
func (l *cutList) Set(text string) error {
	names := strings.Split(text, ",")
	if _, err := cuts.ParseCut(names); err != nil {
		return err
	}
	*l = append(*l, names)
	return nil
}

// has reports whether there is a dimension of one of some kinds; without dimensions, that of day
// and country.
func (l cutList) has(kinds ...cuts.Kind) bool {
	if len(l) == 0 {
		l = cutList{{cuts.Day.String(), cuts.Country.String()}}
	}
	return slices.ContainsFunc(l, func(names []string) bool {
		return slices.ContainsFunc(kinds, func(k cuts.Kind) bool { return slices.Contains(names, k.String()) })
	})
}

// String implements pflag.Value.
func (l *cutList) String() string {
	var texts []string
	for _, names := range *l {
		texts = append(texts, strings.Join(names, ","))
	}
	return strings.Join(texts, " ")
}

// Type implements pflag.Value.
func (l *cutList) Type() string { return "strings" }

// aggregation opens the databases of addresses, and returns what is odd about it.
func (k *counting) aggregation() (aggregation *distribute.Counting, warnings []string, err error) {
	format, err := k.name()
	if err != nil {
		return nil, nil, err
	}
	proxies, err := accesslog.ParseTrustedProxies(k.proxies)
	if err != nil {
		return nil, nil, cli.WrongUsage("--trusted-proxies: %w", err)
	}
	var countries *geo.DB
	var networks *geo.Networks
	if k.noGeo {
		k.by = cutList{{"day"}}
	}
	where, err := cuts.ParseLineFilter(k.where)
	if err != nil {
		return nil, nil, cli.WrongUsage("--where: %w", err)
	}
	byPlace := where.Uses(cuts.Places()...) || slices.Contains(k.visitors, cuts.Country.String())
	if k.noGeo && byPlace {
		return nil, nil, cli.WrongUsage("country, continent and asn are not possible with --no-geo: leave them out of --where and --visitors")
	}
	if byPlace || k.by.has(cuts.Places()...) {
		if countries, err = k.countries(); err != nil {
			return nil, nil, err
		}
		warnings = countries.Build().Warnings(time.Now())
	}
	if where.Uses(cuts.ASN) || k.by.has(cuts.ASN) {
		if networks, err = k.networks(); err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, networks.Build().Warnings(time.Now())...)
	}
	keep, err := parseDays("keep", k.keep)
	if err != nil {
		return nil, nil, err
	}
	aggregation, err = distribute.NewCounting(&distribute.CountingConfig{
		By: k.by, Where: k.where, Measures: k.measures, Visitors: k.visitors, MaxCells: int(k.maxCells), Keep: keep, Format: format, Zone: k.zone.Location, LogZone: k.logZone.Location, Proxies: proxies, Countries: countries, Networks: networks,
	})
	if err != nil {
		return nil, nil, cli.AsUsage(err) // the database was opened, so a flag is wrong
	}
	return aggregation, warnings, nil
}

// printWarnings prints different warnings about country databases.
func printWarnings(console *cli.Console, warnings ...string) {
	slices.Sort(warnings)
	for _, warning := range slices.Compact(warnings) {
		console.Notice("warning: country database %s", warning)
	}
}

func (k *counting) countries() (*geo.DB, error) {
	if k.geoip == "" {
		return geo.Default()
	}
	return geo.Open(k.geoip)
}

func (k *counting) networks() (*geo.Networks, error) {
	if k.asn == "" {
		return nil, cli.WrongUsage("asn needs --asn FILE, a database of networks in MMDB format such as GeoLite2-ASN.mmdb")
	}
	return geo.OpenNetworks(k.asn)
}
