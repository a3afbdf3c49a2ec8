package logs

import (
	"context"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

func unsubscribe(a *cli.App) *cobra.Command {
	var channel, subscriber string
	var yes bool
	c := &cobra.Command{
		Use:   "unsubscribe",
		Short: "Removes a subscriber with its counts",
		Long: `Removes a subscriber that never comes back, so that files no longer wait for
it. Its counts are deleted: if there are any, --yes is needed.`,
		Example: `  skidway logs unsubscribe --channel web --subscriber old --yes`,
		Args:    cobra.NoArgs,
	}
	channelFlag(c, &channel)
	subscriberFlag(c, &subscriber)
	c.Flags().BoolVar(&yes, "yes", false, "delete its counts too")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(a, c.Context(), distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			return remove(a, c.Context(), channel, subscriber, yes)
		})
	})
	return c
}

func remove(a *cli.App, ctx context.Context, channel *distribute.Channel, subscriber string, yes bool) error {
	before, err := channel.Status(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(before.Subscribers, func(s distribute.SubscriberStatus) bool { return s.Name == subscriber })
	var lines int64
	if at >= 0 { // else what an interrupted removal left is removed
		lines = before.Subscribers[at].Tally.Lines
	}
	if lines > 0 && !yes {
		return cli.WrongUsage("subscriber %q has counted %s lines, and its counts would be deleted: say --yes", subscriber, humanize.Comma(lines))
	}
	if err := channel.Unsubscribe(ctx, subscriber); err != nil {
		return err
	}
	after, err := channel.Status(ctx)
	if err != nil {
		return fmt.Errorf("removed, but %w", err)
	}
	a.Console.Notice("removed subscriber %q; files freed: %d, %s of Redis", subscriber,
		max(0, len(before.Open)-len(after.Open)), humanize.IBytes(uint64(max(0, before.Used-after.Used))))
	return nil
}
