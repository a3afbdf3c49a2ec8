// Package logs has the commands below "skidway logs".
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/internal/rdb"
)

// Command returns the command "logs".
func Command(a *cli.App) *cobra.Command {
	logs := cli.Group(&cobra.Command{
		Use:   "logs",
		Short: "Ship, count and report log files",
		Long: `Ship log files through Redis, count them per country and day, and report.

A channel distributes files to its subscribers. A subscriber is one count to
make: it gets every file exactly once, however many workers serve it.`,
		Example: `  skidway logs count /var/log/nginx
  skidway logs status --channel web`,
	})
	logs.AddCommand(count(a), ship(a), work(a), report(a), status(a), sample(a), unsubscribe(a))
	return logs
}

// channelFlag adds the flag that names the channel.
func channelFlag(c *cobra.Command, channel *string) {
	c.Flags().StringVar(channel, "channel", "", "`NAME` of the channel")
	_ = c.MarkFlagRequired("channel")
}

// subscriberFlag adds the flag that names the one subscriber.
func subscriberFlag(c *cobra.Command, subscriber *string) {
	c.Flags().StringVar(subscriber, "subscriber", "", "`NAME` of the subscriber")
	_ = c.MarkFlagRequired("subscriber")
}

// opener is distribute.Open, which makes a channel that there is not, or
// distribute.OpenExisting.
type opener func(context.Context, *rdb.DB, string) (*distribute.Channel, error)

// withChannel opens the shared Redis and a channel in it for as long as f runs.
func withChannel(a *cli.App, ctx context.Context, open opener, name string, f func(*distribute.Channel) error) error {
	return a.WithRedis(ctx, ", or count in one process with 'skidway logs count'", func(db *rdb.DB) error {
		channel, err := open(ctx, db, name)
		if err != nil {
			return cli.InvalidAsUsage(err)
		}
		return f(channel)
	})
}
