// Package logs has the commands below "skidway logs".
package logs

import (
	"context"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/samplelog"
)

// Command returns the command "logs".
func Command(a *cli.App) *cobra.Command {
	logs := cli.Group(&cobra.Command{
		Use:   "logs",
		Short: "Ships, counts and reports log files",
		Long: `Ships log files through Redis, counts them per country and day, and reports.

A channel distributes files to its subscribers. A subscriber is one count: it
gets every file exactly once, however many workers count for it.`,
		Example: `  skidway logs count /var/log/nginx
  skidway logs status --channel web`,
	})
	logs.AddCommand(count(a), ship(a), work(a), report(a), status(a), top(a), channels(a), export(a), importSources(a), formats(a), explain(a), sample(a), reset(a), unsubscribe(a), window(a))
	return logs
}

// channelFlag adds the flag that names the channel.
func channelFlag(c *cobra.Command, channel *string) {
	c.Flags().StringVar(channel, "channel", "", "`NAME` of the channel")
	_ = c.MarkFlagRequired("channel")
}

// subscriberFlag adds the flag that names the subscriber.
func subscriberFlag(c *cobra.Command, subscriber *string) {
	c.Flags().StringVar(subscriber, "subscriber", "", "`NAME` of the subscriber")
	_ = c.MarkFlagRequired("subscriber")
}

// An opener is distribute.Open, which creates a channel that does not exist,
// distribute.OpenExisting or distribute.OpenToDelete.
type opener func(context.Context, *skidway.DB, string) (*distribute.Channel, error)

// withChannel opens the shared Redis and a channel in it for as long as f runs.
func withChannel(ctx context.Context, a *cli.App, open opener, name string, f func(*distribute.Channel) error) error {
	return withDBAndChannel(ctx, a, open, name, func(_ *skidway.DB, channel *distribute.Channel) error { return f(channel) })
}

// withDBAndChannel is withChannel for a function that needs the Redis, too.
func withDBAndChannel(ctx context.Context, a *cli.App, open opener, name string, f func(*skidway.DB, *distribute.Channel) error) error {
	return a.WithRedis(ctx, ", or count in one process with 'skidway logs count'", func(db *skidway.DB) error {
		channel, err := open(ctx, db, name)
		if err != nil {
			return cli.InvalidAsUsage(err)
		}
		return f(db, channel)
	})
}

// sameFile is the part of a help text on which files are taken for one.
const sameFile = `Two files are the same file, whatever their names and compression, if one begins
as the other does: in the first 64 KiB of content behind leading NUL bytes, or
in the whole lines of the shorter one. Only what the longer one has more is
counted. So a rotated log and its copies are counted once, and so are equal logs
of two servers; --force counts each file by itself.`

func sample(a *cli.App) *cobra.Command {
	lines, files, days := cli.Number(samplelog.DefaultLines), cli.Number(samplelog.DefaultFiles), cli.Number(samplelog.DefaultDays)
	var seed uint64
	c := &cobra.Command{
		Use:   "sample DIR",
		Short: "Writes made-up logs for a try",
		Long: `Writes made-up access logs to a directory, which it creates if needed, and
prints the paths of the files. They are plain text, gzip and zstd, cover several
days, and have clients from many countries and a few lines that cannot be
parsed. The same seed writes the same lines. It never overwrites a file.`,
		Example: `  skidway logs sample demo --lines 200000 --seed 1
  skidway logs sample demo --lines 5000000 --seed 7 --files 8 --days 30`,
		Args: cli.Args("DIR: name the directory to write to"),
	}
	flags := c.Flags()
	flags.Var(&lines, "lines", "number of lines in all files together")
	flags.Var(&files, "files", "number of files")
	flags.Var(&days, "days", "number of days that the lines cover")
	flags.Uint64Var(&seed, "seed", 0, "seed of the lines, any `NUMBER`")
	c.RunE = cli.Action(func(_ *cobra.Command, args []string) error {
		if lines == 0 || files == 0 || days == 0 {
			return cli.WrongUsage("--lines, --files and --days start at 1")
		}
		paths, err := samplelog.Write(args[0], samplelog.Options{Lines: int(lines), Files: int(files), Days: int(days), Seed: seed})
		if err != nil {
			return err
		}
		if err := a.PrintLine(strings.Join(paths, "\n")); err != nil {
			return err
		}
		a.Console.Notice("%s lines, %s", humanize.Comma(int64(lines)), humanize.IBytes(uint64(stream.Bytes(paths))))
		return nil
	})
	return c
}
