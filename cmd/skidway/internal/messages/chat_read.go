package messages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

// A chatReader is the command "chat read".
type chatReader struct {
	*cli.App
	as           string
	peek, follow bool
	output       *cli.Choice

	group   *group.Client
	printed map[string]uint64 // with --peek: the last message, by chat
	failed  map[string]bool   // chats that can't be read, and it was told
}

func chatRead(a *cli.App) *cobra.Command {
	r := &chatReader{App: a, printed: map[string]uint64{}, failed: map[string]bool{}}
	c := &cobra.Command{
		Use:   "read [ID]",
		Short: "Prints unread messages",
		Long: `Prints the messages that are unread, of one chat or of all that one is in, and
marks them as read once they are printed. With --peek they stay unread. Only
members can read: see "chat join".

In JSON the messages are one array; with --follow they are one object a line.`,
		Example: `  skidway chat read --as bob
  skidway chat read lunch --as bob --follow
  skidway chat read lunch --as bob --peek -o json`,
		Args: cli.ArgsOr(quoteHint, "[ARG]"),
	}
	asFlag(c, &r.as)
	peekFlag(c, &r.peek)
	followFlag(c, &r.follow)
	r.output = cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		id := ""
		if len(args) > 0 {
			if id = args[0]; id == "" {
				return cli.WrongUsage("the chat's id is empty: leave it out to read all chats")
			}
		}
		return cli.WithClient(c.Context(), a, group.New, func(g *group.Client) error {
			r.group = g
			return r.run(c.Context(), id)
		})
	})
	return c
}

func (r *chatReader) run(ctx context.Context, id string) error {
	lines := &feed{app: r.App, format: r.output.Word}
	if r.follow {
		return r.App.Follow(ctx,
			func(ctx context.Context) error { return r.take(ctx, id, lines.printMessages) },
			func(ctx context.Context) error { return r.wait(ctx, id) })
	}
	print, end := lines.printMessages, func() error { return lines.printMessages(nil) } // at least a head
	array := &messageArray{app: r.App}
	if r.output.Word == "json" {
		print, end = array.print, array.end
	}
	err := r.take(ctx, id, print)
	if err == nil || array.begun { // half an array is none
		err = errors.Join(err, end())
	}
	if err != nil {
		return err
	}
	if len(r.failed) > 0 {
		return errors.New("not all chats could be read")
	}
	return nil
}

// take prints all that is unread, or a page of each chat where it follows, and
// marks it as read.
func (r *chatReader) take(ctx context.Context, id string, print func([]message) error) error {
	if id != "" {
		return r.takeOne(ctx, id, nil, print)
	}
	batches, err := r.group.PendingAll(ctx, r.as, chat.MaxMessages)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		err := batch.Err
		if err == nil {
			err = r.takeOne(ctx, batch.Chat, batch.Messages, print)
		}
		switch {
		case errors.Is(err, chat.ErrNoChat), errors.Is(err, chat.ErrNotMember): // it ended meanwhile
		case err != nil && batch.Err == nil:
			return err
		case err != nil && !r.failed[batch.Chat]:
			r.failed[batch.Chat] = true
			r.Console.Problem("chat "+batch.Chat, err)
		}
	}
	return nil
}

// takeOne is take for one chat, some of whose messages may be at hand.
func (r *chatReader) takeOne(ctx context.Context, id string, messages []chat.Message, print func([]message) error) error {
	for len(messages) > 0 && messages[0].ID <= r.printed[id] {
		messages = messages[1:]
	}
	for {
		if len(messages) == 0 {
			var err error
			if messages, err = r.group.Pending(ctx, id, r.as, r.printed[id], chat.MaxMessages); err != nil || len(messages) == 0 {
				return err
			}
		}
		if err := print(messagesOf(id, messages)); err != nil {
			return err
		}
		last := messages[len(messages)-1].ID
		if r.peek {
			r.printed[id] = last
		} else if _, err := r.group.Ack(ctx, id, r.as, last); err != nil {
			err = fmt.Errorf("printed, but not marked as read: %w", err)
			var foreign *chat.InvalidError // an entry by hand, with an id beyond all that can be
			if !errors.As(err, &foreign) || r.follow {
				return err
			}
			r.failed[id], r.printed[id] = true, last
			r.Console.Problem("chat "+id, err)
		}
		if messages = nil; r.follow {
			return nil // the rest is there for the next turn, unless it is stopped
		}
	}
}

func (r *chatReader) wait(ctx context.Context, id string) error {
	if id != "" {
		return r.group.WaitIn(ctx, id, r.as, r.printed[id])
	}
	return r.group.WaitAfter(ctx, r.as, r.printed)
}

// A messageArray prints messages as they are read, as one JSON array.
type messageArray struct {
	app   *cli.App
	begun bool
}

func (m *messageArray) print(messages []message) error {
	return m.app.Write(func(out io.Writer) error {
		for _, message := range messages {
			text, err := json.MarshalIndent(message, "  ", "  ")
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s\n  %s", m.separator(), text); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *messageArray) separator() string {
	if m.begun {
		return ","
	}
	m.begun = true
	return "["
}

func (m *messageArray) end() error {
	return m.app.Write(func(out io.Writer) error {
		last := "[]"
		if m.begun {
			last = "\n]"
		}
		_, err := fmt.Fprintln(out, last)
		return err
	})
}
