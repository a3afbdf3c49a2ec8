package messages

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

// A chatReader is the command "chat read".
type chatReader struct {
	*reader
	as      string
	group   *group.Client
	printed map[string]uint64 // with --peek: the last message that was printed, by chat
	failed  map[string]bool   // chats with an error that was reported
}

func chatRead(a *cli.App) *cobra.Command {
	r := &chatReader{printed: map[string]uint64{}, failed: map[string]bool{}}
	c := &cobra.Command{
		Use:   "read [ID]",
		Short: "Prints unread messages",
		Long: `Prints the unread messages of one chat, or of all chats of a member, and marks
them as read. With --peek they stay unread. Only members can read: see "chat
join".

JSON is one array of messages; with --follow it is one message per line.`,
		Example: `  skidway chat read --as bob
  skidway chat read lunch --as bob --follow
  skidway chat read lunch --as bob --peek -o json`,
		Args: cli.ArgsOr(quoteHint, "[ARG]"),
	}
	asFlag(c, &r.as)
	r.reader = newReader(a, c, true, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		id := ""
		if len(args) > 0 {
			if id = args[0]; id == "" {
				return cli.WrongUsage("the chat's id is empty: leave it out to read all chats")
			}
		}
		return cli.With(c.Context(), a, openGroups, func(g *group.Client) error {
			r.group = g
			return r.run(c.Context(), id)
		})
	})
	return c
}

func (r *chatReader) run(ctx context.Context, id string) error {
	if r.follow {
		return r.Follow(ctx,
			func(ctx context.Context) error { return r.take(ctx, id, r.printMessages) },
			func(ctx context.Context) error { return r.wait(ctx, id) })
	}
	print, end := r.pages(arrayOnly)
	if err := end(r.take(ctx, id, print)); err != nil {
		return err
	}
	if len(r.failed) > 0 {
		return errors.New("not all chats could be read")
	}
	return nil
}

// take prints the unread messages, with --follow one page of each chat, and marks
// them as read. An empty id means all chats.
func (r *chatReader) take(ctx context.Context, id string, print func([]message) error) error {
	if id != "" {
		return r.takeOne(ctx, id, print)
	}
	// One message of each chat shows that it has some. More of all chats would be held at once.
	batches, err := r.group.PendingAll(ctx, r.as, 1)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		err := batch.Err
		if err == nil {
			err = r.takeOne(ctx, batch.Chat, print)
		}
		switch {
		case errors.Is(err, chat.ErrNoChat), errors.Is(err, chat.ErrNotMember): // the chat or the membership ended meanwhile
		case err != nil && batch.Err == nil:
			return err
		case err != nil && !r.failed[batch.Chat]:
			r.failed[batch.Chat] = true
			r.Console.Problem("chat "+batch.Chat, err)
		}
	}
	return nil
}

// takeOne is take for one chat.
func (r *chatReader) takeOne(ctx context.Context, id string, print func([]message) error) error {
	for {
		messages, err := r.group.Pending(ctx, id, r.as, r.printed[id], chat.MaxMessages)
		if err != nil || len(messages) == 0 {
			return err
		}
		if err := print(messagesOf(id, messages)); err != nil {
			return err
		}
		last := messages[len(messages)-1].ID
		if r.peek {
			r.printed[id] = last
		} else if _, err := r.group.Ack(ctx, id, r.as, last); err != nil {
			err = fmt.Errorf("printed, but not marked as read: %w", err)
			var foreign *chat.InvalidError // an entry that was added by hand, with an id that is too high
			if !errors.As(err, &foreign) || r.follow {
				return err
			}
			r.failed[id], r.printed[id] = true, last
			r.Console.Problem("chat "+id, err)
		}
		if r.follow {
			return nil // the rest comes with the next call, unless the command is stopped
		}
	}
}

func (r *chatReader) wait(ctx context.Context, id string) error {
	if id != "" {
		return r.group.WaitIn(ctx, id, r.as, r.printed[id])
	}
	return r.group.WaitAfter(ctx, r.as, r.printed)
}
