package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		Short: "Group chats whose messages wait for their readers",
		Long: `Group chats whose messages wait until every member has read them.

The messages of a chat have the ids 1, 2, 3... A message is deleted when every
member has read it, or when it exceeds the limits of the chat. A chat ends when
its last member leaves, unless it is a channel.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat read --as bob --follow
  skidway chat send lunch --as bob "gladly"`,
	})
	c.AddCommand(chatCreate(a), chatSend(a), chatRead(a), chatJoin(a), chatLeave(a),
		chatMembers(a), chatList(a), chatDrop(a), chatLimit(a), chatInfo(a))
	return c
}

// chatLimits are the flags with the limits of a chat.
type chatLimits struct {
	messages  cli.Number
	bytes     cli.Size
	age, away cli.Span
}

func (l *chatLimits) add(c *cobra.Command) {
	c.Flags().Var(&l.messages, "keep", "number of messages to keep at most, read or not")
	c.Flags().Var(&l.bytes, "keep-bytes", "size of all messages to keep at most")
	c.Flags().Var(&l.age, "keep-age", "age of messages to keep at most")
	c.Flags().Var(&l.away, "drop-away", "time after which inactive members are dropped")
	for _, flag := range []string{"keep-age", "drop-away"} {
		c.Flags().Lookup(flag).DefValue = "" // no limit
	}
}

// change returns limits with those of the command line in place.
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
		Long: `Creates a chat and prints its id, the next free number unless --id is given. The
creator (--as) is a member and sends MESSAGE, if given ("-" reads standard
input). A chat ends when its last member leaves, and only members can send; with
--channel it stays without members, and anyone can send.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat create --as ann --channel --keep 1000 --keep-age 720h`,
		Args: cli.ArgsOr(quoteHint, "[ARG]"),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&id, "id", "", "`ID` of the chat (default: the next free number)")
	c.Flags().StringArrayVar(&members, "member", nil, "`NAME` of another member; may be repeated")
	c.Flags().BoolVar(&channel, "channel", false, "keep the chat when it has no members")
	limits.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		members = append(members, as)
		slices.Sort(members)
		options := group.CreateOptions{Members: slices.Compact(members), Limits: limits.change(c, group.Limits{})}
		if channel {
			options.Kind = group.Channel
		}
		return cli.With(c.Context(), a, openGroups, func(g *group.Client) error { return createChat(a, c, g, id, as, options, args) })
	})
	return c
}

func createChat(a *cli.App, c *cobra.Command, g *group.Client, id, as string, options group.CreateOptions, args []string) error {
	var first chat.Content
	if len(args) > 0 { // read the whole message before the chat exists
		content, err := new(contentFlags).content(c, args)
		if err != nil {
			return err
		}
		switch size := len(content.Body); { // the chat would exist when Send refuses it
		case size == 0:
			return cli.WrongUsage("MESSAGE is empty: leave it out to send none")
		case size > chat.MaxBody:
			return cli.WrongUsage("MESSAGE has more than %d bytes", chat.MaxBody)
		}
		first = content
	}
	id, err := g.Create(c.Context(), id, &options)
	if err != nil {
		return err
	}
	if err := a.PrintLine(id); err != nil {
		return fmt.Errorf("created chat %q, but can't print its id: %w", id, err)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := g.Send(c.Context(), id, as, first); err != nil {
		return fmt.Errorf("created chat %q, but its first message may not have been sent: %w", id, err)
	}
	return nil
}

func chatSend(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "send ID [MESSAGE]",
		Short: "Sends a message and prints its id",
		Long: `Sends a message to a chat and prints the id of the message. MESSAGE "-" reads
standard input. With --url, MESSAGE is optional.`,
		Example: `  skidway chat send lunch --as ann "noon?"
  skidway chat send lunch --as ann --type image --url https://example.com/a.png
  date | skidway chat send lunch --as ann -`,
		Args: cli.Args("ID", "[ARG]"),
	}
	asFlag(c, &as)
	return send(a, c, openGroups, func(c *cobra.Command, g *group.Client, id string, content chat.Content) (uint64, error) {
		return g.Send(c.Context(), id, as, content)
	})
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
		Short: "Lists the chats of a member, with unread counts",
		Long: `Lists the chats of a member: the number of unread messages, the number of
messages that limits deleted before they were read, and the id of the last one.`,
		Example: `  skidway chat list --as bob -o table`,
		Args:    cobra.NoArgs,
	}
	asFlag(c, &as)
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openGroups, func(ctx context.Context, g *group.Client, _ []string) error {
		chats, err := g.Unread(ctx, as)
		if err != nil {
			return err
		}
		return printChats(a, output.Word, chats)
	})
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
		Short: "Changes the limits of a chat",
		Long: `Changes the limits of a chat that are given, and keeps the others. Without
limits a chat keeps each message until all members have read it. Messages beyond
a limit are deleted at once, read or not.`,
		Example: `  skidway chat limit news --keep 1000 --keep-age 720h
  skidway chat limit news --none --keep-bytes 10MiB`,
		Args: cli.Args("ID"),
	}
	limits.add(c)
	c.Flags().BoolVar(&none, "none", false, "remove all existing limits first")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		// Not NFlag: it counts --redis and -q, too.
		if !slices.ContainsFunc([]string{"keep", "keep-bytes", "keep-age", "drop-away", "none"}, c.Flags().Changed) {
			return cli.WrongUsage("nothing to change: give --keep, --keep-bytes, --keep-age, --drop-away or --none")
		}
		return cli.With(c.Context(), a, openGroups, func(g *group.Client) error {
			return g.ChangeLimits(c.Context(), args[0], func(before group.Limits) group.Limits {
				if none {
					before = group.Limits{}
				}
				return limits.change(c, before)
			})
		})
	})
	return c
}

// An infoRow is a chat with its id.
type infoRow struct {
	id string
	group.Info
}

var infoView = cli.View[infoRow]{
	{Key: "chat", Value: func(i infoRow) any { return i.id }},
	{Key: "kind", Head: "kind", Value: func(i infoRow) any { return i.Kind }},
	{
		Key: "created", Head: "created", Value: func(i infoRow) any { return i.Created.UTC() },
		Cell: func(i infoRow) string { return i.Created.Local().Format(time.DateTime) },
	},
	{Key: "members", Head: "members", Value: func(i infoRow) any { return i.Members }},
	{Key: "last", Head: "last", Value: func(i infoRow) any { return i.Last }},
	{Key: "oldest", Head: "oldest", Value: func(i infoRow) any { return i.Oldest }},
	{Key: "kept", Head: "kept", Value: func(i infoRow) any { return i.Kept }},
	{
		Key: "bytes", Head: "bytes", Value: func(i infoRow) any { return i.Bytes },
		Cell: func(i infoRow) string { return humanize.IBytes(i.Bytes) },
	},
	{Key: "keep", Head: "keep", Value: func(i infoRow) any { return i.Limits.Messages }, Omit: true},
	{
		Key: "keep_bytes", Head: "keep bytes", Value: func(i infoRow) any { return i.Limits.Bytes }, Omit: true,
		Cell: func(i infoRow) string { return humanize.IBytes(i.Limits.Bytes) },
	},
	{Key: "keep_age", Head: "keep age", Value: func(i infoRow) any { return i.Limits.Age }, Omit: true, Only: "csv"},
	{Key: "keep_age_seconds", Value: func(i infoRow) any { return i.Limits.Age.Seconds() }, Omit: true, Only: "json"},
	{Key: "drop_away", Head: "drop away", Value: func(i infoRow) any { return i.Limits.Away }, Omit: true, Only: "csv"},
	{Key: "drop_away_seconds", Value: func(i infoRow) any { return i.Limits.Away.Seconds() }, Omit: true, Only: "json"},
}

func chatInfo(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "info ID",
		Short:   "Shows the messages and the limits of a chat",
		Long:    "Shows the kind of a chat, how many messages it keeps, and its limits.",
		Example: `  skidway chat info lunch -o table`,
		Args:    cli.Args("ID"),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openGroups, func(ctx context.Context, g *group.Client, args []string) error {
		info, err := g.Info(ctx, args[0])
		if err != nil {
			return err
		}
		return cli.PrintFigures(a, output.Word, infoView, infoRow{args[0], info}, "figure", "chat", cli.Printable(args[0]))
	})
}
