package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

// Chat returns the command "chat".
func Chat(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "chat",
		Short: "Group chats that wait for their readers",
		Long: `Group chats whose messages wait for their readers: who is away misses nothing.

Messages have numbers 1, 2, 3... in their chat. A message is deleted when every
member has read it, or when the chat's limits say so. A chat ends with its last
member, unless it is a channel.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat read --as bob --follow
  skidway chat send lunch --as bob "gladly"`,
	})
	c.AddCommand(chatCreate(a), chatSend(a), chatRead(a), chatJoin(a), chatLeave(a),
		chatMembers(a), chatList(a), chatDrop(a), chatLimit(a), chatInfo(a))
	return c
}

// chatAction is an action on the group chats. Its first argument names one.
func chatAction(a *cli.App, f func(ctx context.Context, g *group.Client, id string) error) func(*cobra.Command, []string) error {
	return cli.Action(func(c *cobra.Command, args []string) error {
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error { return f(c.Context(), g, args[0]) })
	})
}

// chatLimits are the flags for limits of a chat.
type chatLimits struct {
	messages  cli.Number
	bytes     cli.Size
	age, away cli.Span
}

func (l *chatLimits) add(c *cobra.Command) {
	c.Flags().Var(&l.messages, "keep", "keep at most so many messages, read or not")
	c.Flags().Var(&l.bytes, "keep-bytes", "keep messages of at most so many bytes in all")
	c.Flags().Var(&l.age, "keep-age", "keep messages for at most so long")
	c.Flags().Var(&l.away, "drop-away", "drop members who neither read nor send for so long")
	for _, flag := range []string{"keep-age", "drop-away"} {
		c.Flags().Lookup(flag).DefValue = "" // no limit
	}
}

// change gives limits with those that were given on the command line.
func (l *chatLimits) change(c *cobra.Command, limits group.Limits) group.Limits {
	if c.Flags().Changed("keep") {
		limits.Messages = uint64(l.messages)
	}
	if c.Flags().Changed("keep-bytes") {
		limits.Bytes = uint64(l.bytes)
	}
	if c.Flags().Changed("keep-age") {
		limits.Age = time.Duration(l.age)
	}
	if c.Flags().Changed("drop-away") {
		limits.Away = time.Duration(l.away)
	}
	return limits
}

func chatCreate(a *cli.App) *cobra.Command {
	var id, as string
	var members []string
	var channel bool
	var limits chatLimits
	c := &cobra.Command{
		Use:   "create [MESSAGE]",
		Short: "Creates a chat and prints its id",
		Long: `Creates a chat and prints its id, the next free number unless --id is given. Who
creates it is a member, too, and sends MESSAGE ("-" for standard input) if there
is one. It ends with its last member, and only members can send; with --channel
it outlives them, and everybody can send.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat create --as ann --channel --keep 1000 --keep-age 720h`,
		Args: cli.ArgsOr(quoteHint, "[ARG]"),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&id, "id", "", "the chat's `ID` (default: the next free number)")
	c.Flags().StringArrayVar(&members, "member", nil, "`NAME` of another member; can be repeated")
	c.Flags().BoolVar(&channel, "channel", false, "keep the chat when nobody is in it")
	limits.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		options := group.CreateOptions{Members: firstMembers(as, members), Limits: limits.change(c, group.Limits{})}
		if channel {
			options.Kind = group.Channel
		}
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error { return create(a, c, g, id, as, options, args) })
	})
	return c
}

// firstMembers gives who creates a chat and the others, each once.
func firstMembers(as string, others []string) []string {
	members := append([]string{as}, others...)
	slices.Sort(members)
	return slices.Compact(members)
}

func create(a *cli.App, c *cobra.Command, g *group.Client, id, as string, options group.CreateOptions, args []string) error {
	var first chat.Content
	if len(args) > 0 { // read it all before there is a chat
		content, err := new(contentFlags).content(c, args)
		if err != nil {
			return err
		}
		if len(content.Body) > chat.MaxBody { // for the chat it would be too late
			return cli.WrongUsage("MESSAGE has more than %d bytes", chat.MaxBody)
		}
		first = content
	}
	id, err := g.Create(c.Context(), id, options)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Out, id); err != nil {
		return fmt.Errorf("created chat %q, but can't print its id: %w", id, err)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := g.Send(c.Context(), id, as, first); err != nil {
		return fmt.Errorf("created chat %q, but not surely sent its first message: %w", id, err)
	}
	return nil
}

func chatSend(a *cli.App) *cobra.Command {
	var as string
	var flags contentFlags
	c := &cobra.Command{
		Use:   "send ID [MESSAGE]",
		Short: "Sends a message and prints its number",
		Long: `Sends a message to a chat and prints its number. MESSAGE "-" is read from
standard input; with --url it can be left out.`,
		Example: `  skidway chat send lunch --as ann "noon?"
  skidway chat send lunch --as ann --type image --url https://example.com/a.png
  date | skidway chat send lunch --as ann -`,
		Args: cli.Args("ID", "[ARG]"),
	}
	asFlag(c, &as)
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error {
			number, err := g.Send(c.Context(), args[0], as, content)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, number)
			return err
		})
	})
	return c
}

var membershipView = cli.View[group.Membership]{
	{Key: "chat", Head: "CHAT", Value: func(m group.Membership) any { return m.Chat }},
	{Key: "kind", Head: "KIND", Value: func(m group.Membership) any { return m.Kind }, Omit: true},
	{Key: "unread", Head: "UNREAD", Right: true, Value: func(m group.Membership) any { return m.Unread }},
	{Key: "missed", Head: "MISSED", Right: true, Value: func(m group.Membership) any { return m.Missed }},
	{Key: "last", Head: "LAST", Right: true, Value: func(m group.Membership) any { return m.Last }},
	{Key: "error", Value: func(m group.Membership) any { return cli.ErrorText(m.Err) }, Omit: true},
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
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error {
			chats, err := g.Unread(c.Context(), as)
			if err != nil {
				return err
			}
			return printChats(a, output.Word, chats)
		})
	})
	return c
}

func printChats(a *cli.App, format string, chats []group.Membership) error {
	var failed error
	for _, m := range chats {
		if m.Err != nil {
			a.Console.Problem("chat "+m.Chat, m.Err)
			failed = errors.New("not all chats could be read")
		}
	}
	return errors.Join(cli.PrintView(a, format, membershipView, chats, nil), failed)
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
		Args: cli.Args("ID"),
	}
	limits.add(c)
	c.Flags().BoolVar(&none, "none", false, "first lift all limits that there are")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		// Not NFlag: it counts --redis and -q, too.
		if !slices.ContainsFunc([]string{"keep", "keep-bytes", "keep-age", "drop-away", "none"}, c.Flags().Changed) {
			return cli.WrongUsage("nothing to change: give --keep, --keep-bytes, --keep-age, --drop-away or --none")
		}
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error {
			info, err := g.Info(c.Context(), args[0])
			if err != nil {
				return err
			}
			if none {
				info.Limits = group.Limits{}
			}
			return g.SetLimits(c.Context(), args[0], limits.change(c, info.Limits))
		})
	})
	return c
}

// An infoView prints what is known of a chat.
type infoView struct {
	Chat    string     `json:"chat"`
	Kind    group.Kind `json:"kind"`
	Created time.Time  `json:"created"`
	Members uint64     `json:"members"`
	Last    uint64     `json:"last"`
	Oldest  uint64     `json:"oldest"`
	Kept    uint64     `json:"kept"`
	Bytes   uint64     `json:"bytes"`

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
		Args:    cli.Args("ID"),
	}
	output := cli.OutputFlag(c)
	c.RunE = chatAction(a, func(ctx context.Context, g *group.Client, id string) error {
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
func infoRows(id string, i group.Info) [][]string {
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

func infoTable(id string, i group.Info) *cli.Table {
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
