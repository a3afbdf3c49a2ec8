package messages

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

// A chatView prints one of somebody's chats.
type chatView struct {
	Chat   string    `json:"chat"`
	Kind   chat.Kind `json:"kind,omitempty"`
	Unread uint64    `json:"unread"`
	Missed uint64    `json:"missed"`
	Last   uint64    `json:"last"`
	Error  string    `json:"error,omitempty"`
}

func chatList(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "list",
		Short: "Shows the chats that one is in, with unread counts",
		Long: `Shows the chats that one is in: how many messages are unread, how many the
chat's limits deleted before they were read, and the number of the last one.`,
		Example: `  skidway chat list --as bob -o table`,
		Args:    cobra.NoArgs,
	}
	asFlag(c, &as)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withGroup(a, c.Context(), func(g *chat.Group) error {
			chats, err := g.Unread(c.Context(), as)
			if err != nil {
				return err
			}
			return printChats(a, output.Word, chats)
		})
	})
	return c
}

func printChats(a *cli.App, format string, chats []chat.Membership) error {
	views := make([]chatView, len(chats))
	t := &cli.Table{Heads: []string{"CHAT", "KIND", "UNREAD", "MISSED", "LAST"}, Right: []bool{false, false, true, true, true}}
	rows := [][]string{{"chat", "kind", "unread", "missed", "last", "error"}}
	failed := false
	for i, m := range chats {
		v := chatView{m.Chat, m.Kind, m.Unread, m.Missed, m.Last, ""}
		if m.Err != nil {
			v.Error, failed = m.Err.Error(), true
			a.Console.Problem("chat "+m.Chat, m.Err)
		}
		views[i] = v
		cells := []string{v.Chat, string(v.Kind), cli.Digits(v.Unread), cli.Digits(v.Missed), cli.Digits(v.Last)}
		rows = append(rows, append(cells, v.Error))
		t.Add(append([]string{cli.Printable(v.Chat)}, cells[1:]...)...)
	}
	err := a.Print(format, t.Write,
		func(out io.Writer) error { return cli.WriteCSV(out, rows) },
		func(out io.Writer) error { return cli.WriteJSON(out, views) })
	if failed {
		err = errors.Join(err, errors.New("not all chats could be read"))
	}
	return err
}

func chatLimit(a *cli.App) *cobra.Command {
	var limits chatLimits
	var none bool
	c := &cobra.Command{
		Use:   "limit ID",
		Short: "Changes what a chat keeps for slow members",
		Long: `Changes the limits of a chat that are given, and leaves the others as they are.
Without limits a chat keeps each message until all members have read it. What a
limit lets go is deleted at once, read or not.`,
		Example: `  skidway chat limit news --keep 1000 --keep-age 720h
  skidway chat limit news --none --keep-bytes 10MiB`,
		Args: cli.ExactlyOne("ID"),
	}
	limits.add(c)
	c.Flags().BoolVar(&none, "none", false, "first lift all limits that there are")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		// Not NFlag: it counts --redis and -q, too.
		if !slices.ContainsFunc([]string{"keep", "keep-bytes", "keep-age", "drop-away", "none"}, c.Flags().Changed) {
			return cli.WrongUsage("nothing to change: give --keep, --keep-bytes, --keep-age, --drop-away or --none")
		}
		return withGroup(a, c.Context(), func(g *chat.Group) error {
			info, err := g.Info(c.Context(), args[0])
			if err != nil {
				return err
			}
			if none {
				info.Limits = chat.Limits{}
			}
			return g.SetLimits(c.Context(), args[0], limits.change(c, info.Limits))
		})
	})
	return c
}

// An infoView prints what is known of a chat.
type infoView struct {
	Chat    string    `json:"chat"`
	Kind    chat.Kind `json:"kind"`
	Created time.Time `json:"created"`
	Members uint64    `json:"members"`
	Last    uint64    `json:"last"`
	Oldest  uint64    `json:"oldest"`
	Kept    uint64    `json:"kept"`
	Bytes   uint64    `json:"bytes"`

	Keep      uint64  `json:"keep,omitempty"`
	KeepBytes uint64  `json:"keep_bytes,omitempty"`
	KeepAge   float64 `json:"keep_age_seconds,omitempty"`
	DropAway  float64 `json:"drop_away_seconds,omitempty"`
}

func chatInfo(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "info ID",
		Short:   "Shows what a chat holds, and its limits",
		Long:    "Shows what a chat is, the messages that it keeps, and its limits.",
		Example: `  skidway chat info lunch -o table`,
		Args:    cli.ExactlyOne("ID"),
	}
	output := cli.OutputFlag(c)
	c.RunE = chatAction(a, func(ctx context.Context, g *chat.Group, id string) error {
		i, err := g.Info(ctx, id)
		if err != nil {
			return err
		}
		v := infoView{
			id, i.Kind, i.Created.UTC(), i.Members, i.Last, i.Oldest, i.Kept, i.Bytes,
			i.Limits.Messages, i.Limits.Bytes, i.Limits.Age.Seconds(), i.Limits.Away.Seconds(),
		}
		return a.Print(output.Word,
			func(out io.Writer) error { return infoTable(id, i).Write(out) },
			func(out io.Writer) error { return cli.WriteCSV(out, infoRows(id, i)) },
			func(out io.Writer) error { return cli.WriteJSON(out, v) })
	})
	return c
}

// infoRows has one figure a line.
func infoRows(id string, i chat.Info) [][]string {
	rows := [][]string{
		{"figure", "value"}, {"chat", id}, {"kind", string(i.Kind)}, {"created", cli.Stamp(i.Created)},
		{"members", cli.Digits(i.Members)}, {"last", cli.Digits(i.Last)}, {"oldest", cli.Digits(i.Oldest)},
		{"kept", cli.Digits(i.Kept)}, {"bytes", cli.Digits(i.Bytes)},
	}
	limit := func(name, value string, set bool) {
		if set {
			rows = append(rows, []string{name, value})
		}
	}
	limit("keep", cli.Digits(i.Limits.Messages), i.Limits.Messages > 0)
	limit("keep_bytes", cli.Digits(i.Limits.Bytes), i.Limits.Bytes > 0)
	limit("keep_age", i.Limits.Age.String(), i.Limits.Age > 0)
	limit("drop_away", i.Limits.Away.String(), i.Limits.Away > 0)
	return rows
}

func infoTable(id string, i chat.Info) *cli.Table {
	t := &cli.Table{Heads: []string{"chat", cli.Printable(id)}, Right: []bool{false, false}}
	for _, row := range infoRows(id, i)[2:] {
		value := cli.Printable(row[1])
		switch row[0] {
		case "created":
			value = i.Created.Local().Format(time.DateTime)
		case "bytes":
			value = humanize.IBytes(i.Bytes)
		case "keep_bytes":
			value = humanize.IBytes(i.Limits.Bytes)
		}
		t.Add(strings.ReplaceAll(row[0], "_", " "), value)
	}
	return t
}
