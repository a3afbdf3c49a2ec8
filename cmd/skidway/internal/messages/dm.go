package messages

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/internal/rdb"
)

// DM returns the command "dm".
func DM(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "dm",
		Short: "Messages between two people",
		Long: `Messages between two people. They have one history, whoever of them is named
first, and what one sends waits until the other reads it.

Names are claims: whoever can use this Redis can act as anybody.`,
		Example: `  skidway dm send bob --as ann "noon?"
  skidway dm read ann --as bob --follow`,
	})
	c.AddCommand(dmSend(a), dmRead(a), dmHistory(a), dmUnread(a), dmDelete(a))
	return c
}

func openConversations(db *rdb.DB) *conversation.Client {
	return conversation.New(db, conversation.Config{})
}

func dmSend(a *cli.App) *cobra.Command {
	var from string
	var flags contentFlags
	c := &cobra.Command{
		Use:   "send TO [MESSAGE]",
		Short: "Sends somebody a message",
		Long: `Sends somebody a message, and prints its id. MESSAGE "-" is read from standard
input; there need not be one where there is a --url. A message has at most
64 KiB, and at most 10,000 wait for one person.`,
		Example: `  skidway dm send bob --as ann "noon?"
  date | skidway dm send bob --as ann -
  skidway dm send bob --as ann --type image --url https://example.com/a.png`,
		Args: cli.ArgsOr("put the message in quotes", "TO", "[MESSAGE]"),
	}
	asFlag(c, &from)
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return cli.WithClient(c.Context(), a, openConversations, func(conversations *conversation.Client) error {
			sent, err := conversations.Send(c.Context(), from, args[0], content)
			if err != nil {
				return err
			}
			return a.PrintLine(sent.ID)
		})
	})
	return c
}

func dmHistory(a *cli.App) *cobra.Command {
	var me string
	var before, after cli.Number
	limit := cli.Number(chat.DefaultMessages)
	c := &cobra.Command{
		Use:   "history PEER",
		Short: "Prints what two people wrote",
		Long: `Prints what two people wrote to each other, oldest first, read or not, and
changes nothing: the newest messages, or those before or after an id. --after 0
begins with the oldest. The last 10,000 messages are kept, and what is unread.`,
		Example: `  skidway dm history bob --as ann
  skidway dm history bob --as ann --before 57 --limit 20
  skidway dm history bob --as ann --after 0 -o json`,
		Args: cli.Args("PEER"),
	}
	asFlag(c, &me)
	c.Flags().Var(&before, "before", "only messages before `ID`")
	c.Flags().Var(&after, "after", "only messages after `ID`, the next ones first")
	c.Flags().VarP(&limit, "limit", "n", "print at most `N`; 0 is all")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		which := conversation.HistoryPage{
			Before: uint64(before), After: uint64(after), Oldest: c.Flags().Changed("after"), Limit: int(limit),
		}
		return cli.WithClient(c.Context(), a, openConversations, func(conversations *conversation.Client) error {
			page, err := wholeHistory(c.Context(), conversations, me, args[0], which)
			if err != nil {
				return err
			}
			messages := messagesOf("", page.Messages)
			return printMessages(a, output.Word, messages, dmPage{page.Total, page.Unread, messages})
		})
	})
	return c
}

// wholeHistory reads as many pages as the limit takes; zero is all.
func wholeHistory(ctx context.Context, c *conversation.Client, me, peer string, which conversation.HistoryPage) (all conversation.Page, err error) {
	most := which.Limit
	for {
		page, err := c.History(ctx, me, peer, which)
		if err != nil {
			return all, err
		}
		all.Total, all.Unread = page.Total, page.Unread
		n := len(page.Messages)
		switch {
		case n == 0:
			return all, nil
		case which.Oldest:
			all.Messages = append(all.Messages, page.Messages...)
			which.After = page.Messages[n-1].ID
		default:
			all.Messages = append(page.Messages, all.Messages...)
			which.Before = page.Messages[0].ID
		}
		if which.Limit = most - len(all.Messages); which.Limit == 0 {
			return all, nil
		}
	}
}

// A dmPage is what a command prints of a conversation in JSON.
type dmPage struct {
	Total    uint64    `json:"total"`
	Unread   uint64    `json:"unread"` // before these were read
	Messages []message `json:"messages"`
}

func dmUnread(a *cli.App) *cobra.Command {
	var me string
	c := &cobra.Command{
		Use:   "unread",
		Short: "Counts what somebody has not read",
		Long: `Counts what somebody has not read, in all of its conversations. Those with
nothing unread are listed, too.`,
		Example: `  skidway dm unread --as bob
  skidway dm unread --as bob -o json`,
		Args: cobra.NoArgs,
	}
	asFlag(c, &me)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return cli.WithClient(c.Context(), a, openConversations, func(conversations *conversation.Client) error {
			all, err := conversations.Unread(c.Context(), me)
			if err != nil {
				return err
			}
			return printUnread(a, output.Word, all)
		})
	})
	return c
}

var unreadView = cli.View[conversation.PeerUnread]{
	{
		Key: "peer", Head: "PEER", Value: func(p conversation.PeerUnread) any { return p.Peer },
		Cell: func(p conversation.PeerUnread) string { return cli.Tail(p.Peer, cli.TableWidth-20) },
	},
	{Key: "unread", Head: "UNREAD", Right: true, Value: func(p conversation.PeerUnread) any { return p.Unread }},
	{Key: "error", Value: func(p conversation.PeerUnread) any { return cli.ErrorText(p.Err) }, Omit: true, Only: "json"},
}

// printUnread prints the conversations that can be read, and reports the others
// on standard error, too: they fail the command.
func printUnread(a *cli.App, format string, all []conversation.PeerUnread) error {
	var failed error
	var shown []conversation.PeerUnread
	unread := uint64(0)
	for _, one := range all {
		unread += one.Unread
		if one.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("conversation with %q: %w", one.Peer, one.Err))
		} else {
			shown = append(shown, one)
		}
	}
	object := cli.Object{{Key: "unread", Value: unread}, {Key: "conversations", Value: unreadView.Objects(all)}}
	return errors.Join(cli.PrintView(a, format, unreadView, shown, object), failed)
}

func dmDelete(a *cli.App) *cobra.Command {
	var me string
	c := &cobra.Command{
		Use:     "delete PEER",
		Short:   "Deletes a conversation",
		Long:    "Deletes a conversation with all its messages, read or not, for both people.",
		Example: "  skidway dm delete bob --as ann",
		Args:    cli.Args("PEER"),
	}
	asFlag(c, &me)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return cli.WithClient(c.Context(), a, openConversations, func(conversations *conversation.Client) error {
			return conversations.Delete(c.Context(), me, args[0])
		})
	})
	return c
}
