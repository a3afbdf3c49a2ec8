package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

// A topCmd is the command "logs top": of a channel, or of files, which it counts.
type topCmd struct {
	counter
	channel, subscriber string
	every               cli.Span
	once                bool
}

func top(a *cli.App) *cobra.Command {
	t := &topCmd{counter: counter{App: a, formats: formatCount{}, top: 10}, every: cli.Span(time.Second)}
	c := &cobra.Command{
		Use:   "top --channel CHANNEL|PATH...",
		Short: "Shows live what is counted: lines/s, countries, status, crawlers",
		Long: `Shows what the workers of a subscriber count: lines and lines/s, countries,
status and crawlers of the newest days, the files that are being counted, and
the window. On a terminal it redraws the view in place, until Ctrl-C. Elsewhere,
or with --once, it prints one view.

Of a channel it only reads: nothing waits for it. It has what the subscriber's
own workers have committed, every 5 seconds at most, of the newest days: up to
31, and fewer if they have 10,000 cells together. Of a day and cut it has the
1,000 largest cells; sums that lack others are marked ≥. lines/s are those of
the last 10 seconds, and in a single view those of --every. If no cut has
countries, status or crawlers, their table is missing.

Given paths instead, it counts these files in this process, as 'logs count'
does, shows the counts meanwhile, and at the end those of all lines, with the
closing line. Without --by it counts day,country, day,status and day,crawler.`,
		Example: `  skidway logs top --channel web
  skidway logs top --channel web --subscriber countries --every 5s
  skidway logs top --channel web --once -o json
  skidway logs top /var/log/nginx
  skidway logs top --by day,country,status_class --top 20 'logs/*.gz'`,
		Args: cobra.ArbitraryArgs,
	}
	flags := c.Flags()
	flags.StringVar(&t.channel, "channel", "", "`NAME` of the channel")
	flags.StringVar(&t.subscriber, "subscriber", "", "`NAME` of the subscriber (default: the first one)")
	flags.Var(&t.every, "every", "time between two readings")
	flags.BoolVar(&t.once, "once", false, "print one view, on a terminal too")
	flags.Var(&t.counter.top, "top", "number of rows of each table, the highest first; 0: all")
	t.output = cli.OutputFlag(a, c)
	t.counting.addFlags(c)
	t.inputs.addFlags(c)
	flags.Lookup("by").Usage = "`DIMENSIONS` to count by; up to four times (default: day,country and day,status and day,crawler)"
	flags.Var(&t.window, "window", "size of the files that are in Redis at once")
	c.RunE = cli.Action(t.run)
	return c
}

// ofChannel are the flags that fit to a channel; the others are for files.
var ofChannel = []string{"channel", "subscriber", "every", "once", "top", "output", "csv-raw"}

func (t *topCmd) run(c *cobra.Command, paths []string) error {
	t.live = &liveView{App: t.App, format: t.output.Word, channel: t.channel, rows: int(t.counter.top), every: time.Duration(t.every)}
	if !t.once && (t.output.Word == "" || t.output.Word == "table") {
		t.live.screen = t.Screen()
	}
	if t.channel == "" {
		return t.count(c, paths)
	}
	if len(paths) > 0 {
		return cli.WrongUsage("--channel and PATH: give one of them")
	}
	var wrong error
	c.Flags().Visit(func(flag *pflag.Flag) {
		if wrong == nil && c.InheritedFlags().Lookup(flag.Name) == nil && !slices.Contains(ofChannel, flag.Name) {
			wrong = cli.WrongUsage("--%s is for files: of a channel, the subscriber decides", flag.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	return withChannel(c.Context(), t.App, distribute.OpenExisting, t.channel, func(channel *distribute.Channel) error {
		return t.follow(c.Context(), channel)
	})
}

// count counts files, with a live view.
func (t *topCmd) count(c *cobra.Command, paths []string) error {
	if err := t.args("--channel, or PATH: name a channel, or the files or directories to count")(c, paths); err != nil {
		return cli.AsUsage(err)
	}
	if t.subscriber != "" {
		return cli.WrongUsage("--subscriber needs --channel")
	}
	if t.by == nil && !t.noGeo {
		t.by = cutList{{"day", "country"}, {"day", "status"}, {"day", "crawler"}}
	}
	paths, err := t.read(c, paths)
	if err != nil {
		return err
	}
	defer t.live.close() // however it ends, the cursor comes back
	return t.counter.run(c.Context(), paths)
}

// follow shows a channel.
func (t *topCmd) follow(ctx context.Context, channel *distribute.Channel) error {
	if err := t.choose(ctx, channel); err != nil {
		return err
	}
	read := func(ctx context.Context) error {
		live, err := channel.Live(ctx, t.subscriber)
		if errors.Is(err, distribute.ErrNoSubscriber) {
			return fmt.Errorf("subscriber %q: %w: 'skidway logs status --channel %s' lists those there are", t.subscriber, err, t.channel)
		}
		if err == nil {
			t.live.add(live, nil)
			t.live.rate.add(live.Now, live.Subscriber.Tally.Lines)
		}
		return err
	}
	if t.live.screen != nil {
		defer t.live.screen.Close()
		if err := t.live.screen.Open(); err != nil {
			return err
		}
		return t.FollowEvery(ctx, time.Duration(t.every), func(ctx context.Context) error {
			if err := read(ctx); err != nil {
				return err
			}
			return t.live.draw()
		})
	}
	if err := read(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(t.every)): // for the lines of a second
	}
	if err := read(ctx); err != nil {
		return err
	}
	return t.live.print()
}

// choose chooses the first subscriber, if none is named.
func (t *topCmd) choose(ctx context.Context, channel *distribute.Channel) error {
	if t.subscriber != "" {
		return nil
	}
	all, err := channel.Subscribers(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("channel %q has no subscriber: start 'skidway logs work --channel %s --subscriber NAME'", t.channel, t.channel)
	}
	t.subscriber = all[0].Name
	var others []string
	for _, s := range all[1:] {
		others = append(others, s.Name)
	}
	if len(others) > 0 {
		t.live.others = "  others: " + strings.Join(others, ", ")
	}
	return nil
}
