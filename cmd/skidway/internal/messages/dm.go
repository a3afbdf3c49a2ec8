package messages

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
)

// DM returns the command "dm".
func DM(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "dm",
		Short: "Messages between two people",
		Long: `Messages between two people. The two have one history. A message of one waits
until the other reads it.

Names are not checked: anyone who can use this Redis can act under any name.`,
		Example: `  skidway dm send bob --as ann "noon?"
  skidway dm read ann --as bob --follow`,
	})
	c.AddCommand(dmSend(a), dmRead(a), dmHistory(a), dmUnread(a), dmDelete(a))
	return c
}

func dmSend(a *cli.App) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "send TO [MESSAGE]",
		Short: "Sends a message to a person",
		Long: `Sends a message to a person, and prints its id. MESSAGE "-" reads standard
input. With --url, MESSAGE is optional. A message has at most 64 KiB, and at
most 10,000 messages wait for one person.`,
		Example: `  skidway dm send bob --as ann "noon?"
  date | skidway dm send bob --as ann -
  skidway dm send bob --as ann --type image --url https://example.com/a.png`,
		Args: cli.ArgsOr("put the message in quotes", "TO", "[MESSAGE]"),
	}
	asFlag(c, &from)
	return send(a, c, openConversations, func(c *cobra.Command, conversations *conversation.Client, to string, content chat.Content) (uint64, error) {
		sent, err := conversations.Send(c.Context(), from, to, content)
		return sent.ID, err
	})
}

func dmRead(a *cli.App) *cobra.Command {
	var me string
	c := &cobra.Command{
		Use:   "read FROM",
		Short: "Prints the unread messages of one sender",
		Long: `Prints the unread messages of one sender (FROM) to the reader (--as), oldest
first, and marks them as read. With --peek they stay unread.

With --follow it waits for new messages. While it runs, the reader counts as
present: senders are told that no notice is needed.

JSON is one object: total (messages ever sent by both), unread (before this
command) and messages; with --follow it is one message per line.`,
		Example: `  skidway dm read ann --as bob
  skidway dm read ann --as bob --peek -o json
  skidway dm read ann --as bob --follow`,
		Args: cli.Args("FROM"),
	}
	asFlag(c, &me)
	r := newReader(a, c, true, true)
	return cli.Run(a, c, openConversations, func(ctx context.Context, conversations *conversation.Client, args []string) error {
		s := &dmSource{Client: conversations, me: me, peer: args[0]}
		if r.follow {
			leave, err := s.stay(ctx)
			if err != nil {
				return err
			}
			defer leave()
			return r.followSource(ctx, s, nil)
		}
		return r.printAll(ctx, s, func() any { return pageObject(conversation.Page{Total: s.total, Unread: s.unread}) })
	})
}

// A dmSource is what one peer sent.
type dmSource struct {
	*conversation.Client
	me, peer      string
	total, unread uint64 // as of the first page
}

func (s *dmSource) read(ctx context.Context, after uint64, limit int) ([]chat.Message, error) {
	page, err := s.Peek(ctx, s.me, s.peer, after, limit)
	if after == 0 {
		s.total, s.unread = page.Total, page.Unread
	}
	return page.Messages, err
}

func (s *dmSource) ack(ctx context.Context, messages []chat.Message) error {
	_, err := s.Ack(ctx, s.me, s.peer, messages[len(messages)-1].ID)
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) {
		return nil // the conversation was deleted meanwhile
	}
	return err
}

func (s *dmSource) wait(ctx context.Context, after uint64) error {
	return s.WaitFrom(ctx, s.me, s.peer, after)
}

// presence is how long a reader stays present after its process died. A living
// process renews it three times as often.
const presence = time.Minute

// stay makes the reader present until leave is called.
func (s *dmSource) stay(ctx context.Context) (leave func(), err error) {
	if err := s.Present(ctx, s.me, s.peer, presence); err != nil {
		return nil, err
	}
	staying, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for tick := time.Tick(presence / 3); ; {
			select {
			case <-staying.Done():
				return
			case <-tick:
				// Presence only silences notices. If Redis is away, reading fails too.
				_ = s.Present(staying, s.me, s.peer, presence)
			}
		}
	})
	return func() {
		stop()
		work.Wait()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.Present(ending, s.me, s.peer, 0) // otherwise it expires
	}, nil
}

func dmHistory(a *cli.App) *cobra.Command {
	var me string
	var before, after cli.Number
	limit := cli.Number(chat.DefaultMessages)
	c := &cobra.Command{
		Use:   "history PEER",
		Short: "Prints the messages of two people",
		Long: `Prints the messages of two people to each other, oldest first, read or not, and
marks none as read: the newest messages, or those before or after an id. --after
0 begins with the oldest. The last 10,000 messages and all unread ones are kept.`,
		Example: `  skidway dm history bob --as ann
  skidway dm history bob --as ann --before 57 --limit 20
  skidway dm history bob --as ann --after 0 -o json`,
		Args: cli.Args("PEER"),
	}
	asFlag(c, &me)
	c.Flags().Var(&before, "before", "only messages before `ID`")
	c.Flags().Var(&after, "after", "only messages after `ID`, beginning with the next one")
	c.Flags().VarP(&limit, "limit", "n", "print at most `N` messages; 0: all")
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openConversations, func(ctx context.Context, conversations *conversation.Client, args []string) error {
		page, err := wholeHistory(ctx, conversations, me, args[0], conversation.HistoryOptions{
			Before: uint64(before), After: uint64(after), Oldest: c.Flags().Changed("after"), Limit: int(limit),
		})
		if err != nil {
			return err
		}
		return printPage(a, output.Word, page)
	})
}

// wholeHistory reads as many pages as the limit needs; 0 means all.
func wholeHistory(ctx context.Context, c *conversation.Client, me, peer string, which conversation.HistoryOptions) (all conversation.Page, err error) {
	limit := which.Limit
	for {
		page, err := c.History(ctx, me, peer, &which)
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
		if which.Limit = limit - len(all.Messages); which.Limit == 0 {
			return all, nil
		}
	}
}

// printPage prints a page of a conversation.
func printPage(a *cli.App, format string, page conversation.Page) error {
	return printMessages(a, format, messagesOf("", page.Messages), pageObject(page))
}

// pageObject returns a page of a conversation in JSON.
func pageObject(page conversation.Page) cli.Object {
	return cli.Object{
		{Key: "total", Value: page.Total}, {Key: "unread", Value: page.Unread}, // before these were read
		{Key: "messages", Value: messageView.Objects(messagesOf("", page.Messages))},
	}
}

func dmUnread(a *cli.App) *cobra.Command {
	var me string
	c := &cobra.Command{
		Use:   "unread",
		Short: "Prints the number of unread messages of a person",
		Long: `Prints the number of unread messages of a person in each conversation, also
where it is 0.`,
		Example: `  skidway dm unread --as bob
  skidway dm unread --as bob -o json`,
		Args: cobra.NoArgs,
	}
	asFlag(c, &me)
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openConversations, func(ctx context.Context, conversations *conversation.Client, _ []string) error {
		all, err := conversations.Unread(ctx, me)
		if err != nil {
			return err
		}
		return printUnread(a, output.Word, all)
	})
}

var unreadView = cli.View[conversation.PeerUnread]{
	{
		Key: "peer", Head: "PEER", Value: func(p conversation.PeerUnread) any { return p.Peer },
		Cell: func(p conversation.PeerUnread) string { return cli.Tail(p.Peer, cli.TableWidth-20) },
	},
	{Key: "unread", Head: "UNREAD", Right: true, Value: func(p conversation.PeerUnread) any { return p.Unread }},
	{Key: "error", Value: func(p conversation.PeerUnread) any { return cli.ErrorText(p.Err) }, Omit: true, Only: "json"},
}

// printUnread prints the conversations that can be read. The others fail the
// command.
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
	return cli.Run(a, c, openConversations, func(ctx context.Context, conversations *conversation.Client, args []string) error {
		return conversations.Delete(ctx, me, args[0])
	})
}
