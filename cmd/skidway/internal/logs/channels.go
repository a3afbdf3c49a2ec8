package logs

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

func channels(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "channels",
		Short: "Lists and deletes channels",
		Long: `Lists the channels: the files that each remembers and has in Redis, its
subscribers, the memory of its files and of its window, and when it was created
and last used. A channel is created by the first command that ships to it or
counts for it, and stays until it is deleted.`,
		Example: `  skidway logs channels
  skidway logs channels delete web`,
		Args: cobra.NoArgs,
	}
	output := cli.OutputFlag(a, c)
	c.AddCommand(channelsDelete(a))
	return cli.Run(a, c, asDB, func(ctx context.Context, db *skidway.DB, _ []string) error {
		list, err := distribute.Channels(ctx, db)
		if err != nil {
			return err
		}
		return cli.PrintView(a, output.Word, channelView, list, nil)
	})
}

func asDB(db *skidway.DB) (*skidway.DB, error) { return db, nil }

var channelView = cli.View[distribute.ChannelInfo]{
	{Key: "name", Head: "CHANNEL", Value: func(c distribute.ChannelInfo) any { return c.Name }, Cell: func(c distribute.ChannelInfo) string { return cli.Cut(c.Name, 16) }},
	channelNumber("remembered", "FILES", humanize.Comma, func(c distribute.ChannelInfo) int64 { return c.Files }),
	channelNumber("open", "IN REDIS", humanize.Comma, func(c distribute.ChannelInfo) int64 { return c.Open }),
	channelNumber("subscribers", "SUBSCRIBERS", humanize.Comma, func(c distribute.ChannelInfo) int64 { return c.Subscribers }),
	channelNumber("used", "BYTES", channelSize, func(c distribute.ChannelInfo) int64 { return c.Bytes }),
	channelNumber("window", "WINDOW", channelSize, func(c distribute.ChannelInfo) int64 { return c.Window }),
	{
		Key: "created", Head: "CREATED", Wide: true, Value: func(c distribute.ChannelInfo) any { return c.Created.UTC() },
		Cell: func(c distribute.ChannelInfo) string { return cli.LocalTime(c.Created) },
	},
	{
		Key: "last_used", Head: "LAST USED", Wide: true, Omit: true, Value: func(c distribute.ChannelInfo) any { return c.Used.UTC() },
		Cell: func(c distribute.ChannelInfo) string { return cli.LocalTime(c.Used) },
	},
}

func channelSize(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

func channelNumber(key, head string, text func(int64) string, value func(distribute.ChannelInfo) int64) cli.Column[distribute.ChannelInfo] {
	return cli.Column[distribute.ChannelInfo]{
		Key: key, Head: head, Right: true, Value: func(c distribute.ChannelInfo) any { return value(c) },
		Cell: func(c distribute.ChannelInfo) string { return text(value(c)) },
	}
}

func channelsDelete(a *cli.App) *cobra.Command {
	var yes, force bool
	c := &cobra.Command{
		Use:   "delete CHANNEL",
		Short: "Deletes a channel with its files and counts",
		Long: `Deletes a channel with the files that are in Redis, the records of files that
were counted, its subscribers and their counts. It asks for confirmation;
without a terminal, --yes is needed.

A channel is not deleted while a shipper is alive, nor within a minute after a
worker was. --force deletes it still: its shippers and workers then fail. A
channel that an older Skidway wrote can be deleted, too.`,
		Example: `  skidway logs channels delete web
  skidway logs channels delete web --force --yes`,
		Args: cli.Args("CHANNEL"),
	}
	cli.YesFlag(c, &yes)
	c.Flags().BoolVar(&force, "force", false, "delete a channel that is in use, too")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withChannel(c.Context(), a, distribute.OpenToDelete, args[0], func(channel *distribute.Channel) error {
			return deleteChannel(a, c, channel, yes, force)
		})
	})
	return c
}

func deleteChannel(a *cli.App, c *cobra.Command, channel *distribute.Channel, yes, force bool) error {
	status, err := channel.Status(c.Context())
	if err != nil {
		return err
	}
	if !yes {
		var lines int64
		for _, s := range status.Subscribers {
			lines += s.Tally.Lines
		}
		if err := a.Confirm(c, fmt.Sprintf("Delete channel %s with %d files in Redis, %d subscribers and the counts of %s lines?",
			channel.Name(), len(status.Open), len(status.Subscribers), humanize.Comma(lines))); err != nil {
			return err
		}
	}
	if err := cli.BeginChange(c.Context(), 0); err != nil {
		return err
	}
	if err := channel.Delete(c.Context(), force); err != nil {
		return err
	}
	return a.PrintLine(channel.Name() + " deleted")
}
