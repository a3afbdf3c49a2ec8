package messages

import (
	"context"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/mailbox"
)

func mailRead(a *cli.App) *cobra.Command {
	var limit, newest cli.Number
	var peek, follow bool
	c := &cobra.Command{
		Use:   "read BOX",
		Short: "Prints what is unread in a mailbox",
		Long: `Prints the unread messages of a mailbox, oldest first. What was printed is read
and leaves the box, unless --peek is given.

JSON is one array of objects; with --follow it is one object a line.`,
		Example: `  skidway mail read bob
  skidway mail read bob --newest 3 --peek
  skidway mail read bob --follow -o json`,
		Args: cli.Args("BOX"),
	}
	c.Flags().VarP(&limit, "limit", "n", "print at most `N`, the oldest (default: all)")
	c.Flags().Var(&newest, "newest", "print only the newest `N` of them, at most 500 (default: all)")
	peekFlag(c, &peek)
	followFlag(c, &follow)
	c.MarkFlagsMutuallyExclusive("limit", "newest")
	c.MarkFlagsMutuallyExclusive("limit", "follow")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if newest > chat.MaxMessages {
			return cli.WrongUsage("--newest %d: at most %d at once", newest, chat.MaxMessages)
		}
		return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error {
			r := &mailReader{mailbox: m, box: args[0], limit: int(limit), newest: int(newest), peek: peek}
			if follow {
				return r.follow(c.Context(), a, output.Word)
			}
			messages, err := r.all(c.Context())
			if err != nil {
				return err
			}
			list := messagesOf("", messages)
			if err := printMessages(a, output.Word, list, list); err != nil {
				return err
			}
			return r.ack(c.Context(), messages)
		})
	})
	return c
}

// A mailReader reads a box for printing.
type mailReader struct {
	mailbox       *mailbox.Client
	box           string
	limit, newest int // zero: all
	peek          bool
}

// all gives all messages that are wanted.
func (r *mailReader) all(ctx context.Context) ([]chat.Message, error) {
	if r.newest > 0 {
		return r.mailbox.Newest(ctx, r.box, r.newest)
	}
	var messages []chat.Message
	for after := uint64(0); r.limit == 0 || len(messages) < r.limit; {
		want := chat.MaxMessages
		if r.limit > 0 {
			want = min(want, r.limit-len(messages))
		}
		page, err := r.mailbox.Read(ctx, r.box, after, want)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		messages = append(messages, page...)
		after = page[len(page)-1].ID
	}
	return messages, nil
}

// follow prints page by page, and waits for more. It goes on after the last
// message that it printed where some stay unread before that one.
func (r *mailReader) follow(ctx context.Context, a *cli.App, format string) error {
	feed := feed{app: a, format: format}
	newest, after := r.newest, uint64(0)
	take := func(ctx context.Context) (err error) {
		var messages []chat.Message
		if newest > 0 {
			messages, err = r.mailbox.Newest(ctx, r.box, newest)
			newest = 0
		} else {
			messages, err = r.mailbox.Read(ctx, r.box, after, 0)
		}
		if err != nil || len(messages) == 0 {
			return err
		}
		if err := feed.printMessages(messagesOf("", messages)); err != nil {
			return err
		}
		if r.peek || r.newest > 0 {
			after = messages[len(messages)-1].ID
		}
		return r.ack(ctx, messages)
	}
	return a.Follow(ctx, take, func(ctx context.Context) error { return r.mailbox.Wait(ctx, r.box, after) })
}

// ack makes read what was printed.
func (r *mailReader) ack(ctx context.Context, messages []chat.Message) error {
	if r.peek {
		return nil
	}
	ids := make([]uint64, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	_, err := r.mailbox.Ack(ctx, r.box, ids...)
	return err
}
