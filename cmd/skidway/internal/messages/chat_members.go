package messages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

func chatJoin(a *cli.App) *cobra.Command {
	var as string
	var fromStart bool
	c := &cobra.Command{
		Use:   "join ID",
		Short: "Adds a member to a chat",
		Long: `Adds a member, who reads the messages from now on, or with --from-start all that
the chat still keeps. Nothing changes for a member who joins again.`,
		Example: `  skidway chat join lunch --as cem
  skidway chat join news --as cem --from-start`,
		Args: cli.Args("ID"),
	}
	asFlag(c, &as)
	c.Flags().BoolVar(&fromStart, "from-start", false, "begin with the oldest message of the chat")
	return cli.Run(a, c, openGroups, func(ctx context.Context, g *group.Client, args []string) error {
		start := group.FromNow
		if fromStart {
			start = group.FromOldest
		}
		return g.Join(ctx, args[0], as, start)
	})
}

func chatLeave(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "leave ID",
		Short: "Ends a membership",
		Long: `Ends a membership. Messages that all other members have read are deleted. When
the last member leaves, the chat ends, unless it is a channel.`,
		Example: `  skidway chat leave lunch --as cem`,
		Args:    cli.Args("ID"),
	}
	asFlag(c, &as)
	return cli.Run(a, c, openGroups, func(ctx context.Context, g *group.Client, args []string) error {
		if err := checkMember(ctx, g, args[0], as); err != nil {
			return err
		}
		return g.Leave(ctx, args[0], as)
	})
}

// checkMember returns an error if member is not in the chat, so that a mistyped name
// is noticed: for the library leaving twice is no error.
func checkMember(ctx context.Context, g *group.Client, id, member string) error {
	_, err := g.Pending(ctx, id, member, 0, 1)
	return err
}

func chatDrop(a *cli.App) *cobra.Command {
	return cli.Run(a, &cobra.Command{
		Use:   "drop ID [MEMBER]",
		Short: "Drops a member, or a whole chat",
		Long: `Drops a member who never comes back, so that messages no longer wait for it.
With the last member the chat ends, unless it is a channel. Without MEMBER it
deletes the chat and all its messages. Anyone can do this. It deletes nothing if
the key of the chat in Redis has something else.`,
		Example: `  skidway chat drop lunch cem
  skidway chat drop lunch`,
		Args: cli.Args("ID", "[ARG]"),
	}, openGroups, func(ctx context.Context, g *group.Client, args []string) error {
		before, err := g.Info(ctx, args[0])
		var corrupt *chat.CorruptError
		switch {
		case isForeign(err):
			return fmt.Errorf("nothing was deleted: the keys in Redis hold something that is not a chat: %w", err)
		case len(args) == 1 && errors.As(err, &corrupt):
			a.Console.Problem("chat "+args[0], err)
			err = nil
		}
		if err != nil {
			return err
		}
		if len(args) == 1 {
			return dropChat(ctx, a, g, args[0], before)
		}
		return dropMember(ctx, a, g, args[0], args[1], before)
	})
}

// isForeign reports whether an error is that of keys that no release has written: of another type of Redis, or
// a hash without the version that each chat has.
func isForeign(err error) bool {
	var corrupt *chat.CorruptError
	if errors.As(err, &corrupt) {
		return corrupt.Where == "v"
	}
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE") // Redis may put the place in a script before it
}

func dropChat(ctx context.Context, a *cli.App, g *group.Client, id string, was group.Info) error {
	if err := g.Delete(ctx, id); err != nil {
		return err
	}
	if was.Kind == "" { // it could not be read
		a.Console.Notice("deleted chat %q", id)
		return nil
	}
	a.Console.Notice("deleted chat %q with %d messages and %d members", id, was.Kept, was.Members)
	return nil
}

func dropMember(ctx context.Context, a *cli.App, g *group.Client, id, member string, was group.Info) error {
	if err := checkMember(ctx, g, id, member); err != nil {
		return err
	}
	if err := g.Leave(ctx, id, member); err != nil {
		return err
	}
	if was.Members == 1 && was.Kind == group.People {
		a.Console.Notice("dropped %q, the last member, and with it chat %q", member, id)
		return nil
	}
	now, err := g.Info(ctx, id)
	if err != nil {
		return fmt.Errorf("dropped %q, but %w", member, err)
	}
	a.Console.Notice("dropped %q from chat %q; messages deleted: %d", member, id, was.Kept-min(now.Kept, was.Kept))
	return nil
}

var memberView = cli.View[group.Member]{
	{Key: "member", Head: "MEMBER", Value: func(m group.Member) any { return m.Name }},
	{Key: "cursor", Head: "READ", Right: true, Value: func(m group.Member) any { return m.Cursor }},
	{Key: "unread", Head: "UNREAD", Right: true, Value: func(m group.Member) any { return m.Unread }},
	{Key: "missed", Head: "MISSED", Right: true, Value: func(m group.Member) any { return m.Missed }},
	{Key: "seen", Head: "SEEN", Value: func(m group.Member) any { return m.Seen.UTC() }, Cell: lastSeen, Omit: true},
}

func lastSeen(m group.Member) string {
	if m.Seen.IsZero() {
		return ""
	}
	return cli.LocalTime(m.Seen)
}

func chatMembers(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "members ID",
		Short: "Lists the members of a chat",
		Long: `Lists the members of a chat: the last message that each has read, the number of
unread messages, the number of messages that limits deleted before they were
read, and when the member last read or sent.`,
		Example: `  skidway chat members lunch -o table`,
		Args:    cli.Args("ID"),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openGroups, func(ctx context.Context, g *group.Client, args []string) error {
		members, err := g.Members(ctx, args[0])
		if err != nil {
			return err
		}
		return cli.PrintView(a, output.Word, memberView, members, nil)
	})
}
