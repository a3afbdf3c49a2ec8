package main

import "github.com/spf13/cobra"

func (a *app) logs() *cobra.Command {
	logs := group(&cobra.Command{
		Use:   "logs",
		Short: "Ship, count and report log files",
		Long: `Ship log files through Redis, count them per country and day, and report.

A channel distributes files to its subscribers. A subscriber is one count to
make: it gets every file exactly once, however many workers serve it.`,
		Example: `  skidway logs count /var/log/nginx
  skidway logs status --channel web`,
	})
	logs.AddCommand(a.count(), a.ship(), a.work(), a.report(), a.status(), a.sample(), a.unsubscribe())
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
