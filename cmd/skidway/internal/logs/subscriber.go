package logs

import (
	"context"
	"errors"
	"fmt"

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
		Long: `Removes a subscriber that is no longer used, so that files do not wait for it.
It deletes its counts: if there are any, --yes is needed.`,
		Example: `  skidway logs unsubscribe --channel web --subscriber old --yes`,
		Args:    cobra.NoArgs,
	}
	channelFlag(c, &channel)
	subscriberFlag(c, &subscriber)
	c.Flags().BoolVar(&yes, "yes", false, "delete the counts, too")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(c.Context(), a, distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			return remove(c.Context(), a, channel, subscriber, yes)
		})
	})
	return c
}

func reset(a *cli.App) *cobra.Command {
	var channel, subscriber string
	var yes bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Deletes the counts of a subscriber, which goes on from zero",
		Long: `Deletes what a subscriber has counted: its counts, the numbers of its lines, its
visitors, the sources that were imported into it, and the list of the files that
it has counted. If there is any of it, --yes is needed. The subscriber stays,
with its settings: files that are shipped again are counted again, and sources
can be imported again.

It is refused while a file is in Redis that is not counted. Workers may go on
running. A reset that was interrupted is completed by the next process that uses
the channel.`,
		Example: `  skidway logs reset --channel web --subscriber countries --yes`,
		Args:    cobra.NoArgs,
	}
	channelFlag(c, &channel)
	subscriberFlag(c, &subscriber)
	c.Flags().BoolVar(&yes, "yes", false, "delete the counts")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(c.Context(), a, distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			before, err := channel.Status(c.Context())
			if err == nil {
				err = confirmDeletion(before, subscriber, yes)
			}
			if err == nil {
				err = channel.Reset(c.Context(), subscriber)
			}
			switch {
			case errors.Is(err, distribute.ErrFilesInRedis):
				return fmt.Errorf("%w: 'skidway logs status --channel %s' shows them; wait until they are counted", err, channel.Name())
			case err != nil:
				return err
			}
			a.Console.Notice("reset subscriber %q: files that are shipped again are counted again", subscriber)
			return nil
		})
	})
	return c
}

// confirmDeletion returns an error if a subscriber has counts, and --yes is missing.
func confirmDeletion(status distribute.Status, subscriber string, yes bool) error {
	for _, s := range status.Subscribers {
		switch {
		case s.Name != subscriber || yes:
		case s.Sources > 0:
			return cli.WrongUsage("subscriber %q has counted %s lines and has %d imported sources, which would be deleted: give --yes", subscriber, humanize.Comma(s.Tally.Lines), s.Sources)
		case s.Tally.Lines > 0:
			return cli.WrongUsage("subscriber %q has counted %s lines, and its counts would be deleted: give --yes", subscriber, humanize.Comma(s.Tally.Lines))
		}
	}
	return nil
}

func remove(ctx context.Context, a *cli.App, channel *distribute.Channel, subscriber string, yes bool) error {
	before, err := channel.Status(ctx)
	if err != nil {
		return err
	}
	// One that is not there may have a rest that an interrupted removal left.
	if err := confirmDeletion(before, subscriber, yes); err != nil {
		return err
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
