package logs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

func window(a *cli.App) *cobra.Command {
	var channel string
	c := &cobra.Command{
		Use:   "window [SIZE]",
		Short: "Shows or sets the window of a channel",
		Long: `Shows the window of a channel, which is the memory that its files may use in
Redis at once, and the files in it: what each uses, and the subscribers that it
waits for. With a SIZE it sets the window first, for all shippers, also those
that run. Files that are in Redis stay: if they use more than the new window,
shippers wait until enough of them is counted. The least is 1 MiB.`,
		Example: `  skidway logs window --channel web
  skidway logs window --channel web 2GiB`,
		Args: cli.Args("[SIZE]"), ValidArgsFunction: cobra.NoFileCompletions,
	}
	channelFlag(c, &channel)
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return withChannel(cli.NotAudited(c.Context()), a, distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
				return showWindow(c.Context(), a, channel, output.Word)
			})
		}
		var size cli.Size
		if err := size.Set(args[0]); err != nil {
			return cli.WrongUsage("SIZE %q: %w", args[0], err)
		}
		return withDBAndChannel(c.Context(), a, distribute.OpenExisting, channel, func(db *skidway.DB, channel *distribute.Channel) error {
			if err := channel.SetWindow(c.Context(), int64(size)); err != nil {
				return cli.InvalidAsUsage(err)
			}
			if err := checkMemory(c.Context(), a, db); err != nil { // the window is set all the same
				a.Console.Notice("warning: the memory of Redis could not be checked: %v", err)
			}
			return showWindow(c.Context(), a, channel, output.Word)
		})
	})
	return c
}

// showWindow prints the window of a channel and the files in it.
func showWindow(ctx context.Context, a *cli.App, channel *distribute.Channel, format string) error {
	s, err := channel.Status(ctx)
	if err != nil {
		return err
	}
	v := &statusView{channel.Name(), s}
	view := v.windowView()
	return a.Print(format, func(out io.Writer) error {
		var text strings.Builder
		fmt.Fprintln(&text, "window", windowLine(v.Used, v.Window))
		if v.ShippersWaiting > 0 {
			fmt.Fprintf(&text, "shippers that wait for room: %d\n", v.ShippersWaiting)
		} else if v.Full() {
			fmt.Fprintln(&text, "the window has no room for another segment")
		}
		v.files(&text, view)
		_, err := io.WriteString(out, text.String())
		return err
	}, func(out io.Writer) error {
		return cli.WriteCSV(out, append(windowFigures(v.channel, v.Used, v.Window), v.fileFigures(view)...))
	}, func(out io.Writer) error {
		return cli.WriteJSON(out, cli.Object{
			{Key: "channel", Value: v.channel}, windowObject(v.Used, v.Window), {Key: "full", Value: v.Full()}, {Key: "shippers_waiting", Value: v.ShippersWaiting},
			{Key: "files", Value: view.Objects(v.Open)},
		})
	})
}

// windowView shows what files use of the window.
func (v *statusView) windowView() cli.View[distribute.OpenFile] {
	return cli.View[distribute.OpenFile]{
		fileName,
		{
			Key: "held", Head: "HELD", Right: true, Value: func(f distribute.OpenFile) any { return f.Held },
			Cell: func(f distribute.OpenFile) string { return channelSize(f.Held) },
		},
		v.waitsColumn(),
	}
}
