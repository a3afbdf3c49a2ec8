package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/mailbox"
	"skidway/distribute/chat/room"
)

// An opener returns a client of one of the products.
type opener[T any] = func(*skidway.DB) (T, error)

func openGroups(db *skidway.DB) (*group.Client, error)      { return group.NewClient(db), nil }
func openMailboxes(db *skidway.DB) (*mailbox.Client, error) { return mailbox.NewClient(db), nil }
func openRooms(db *skidway.DB) (*room.Client, error)        { return room.NewClient(db), nil }
func openConversations(db *skidway.DB) (*conversation.Client, error) {
	return conversation.NewClient(db, nil), nil
}

// A reader prints the messages of a chat, mailbox, conversation or room. It is not
// safe for concurrent use.
type reader struct {
	*cli.App
	output       *cli.Choice
	peek, follow bool
	limit        cli.Number // 0: all

	begun bool // something was printed
}

// newReader adds the flags of a command that reads messages. peek and limit report
// whether it has these flags.
func newReader(a *cli.App, c *cobra.Command, peek, limit bool) *reader {
	r := &reader{App: a}
	if peek {
		c.Flags().BoolVar(&r.peek, "peek", false, "leave the printed messages unread")
	}
	c.Flags().BoolVarP(&r.follow, "follow", "f", false, "wait for new messages and print them, until Ctrl-C")
	if limit {
		c.Flags().VarP(&r.limit, "limit", "n", "print at most `N` messages, the oldest (default: all)")
		c.MarkFlagsMutuallyExclusive("limit", "follow")
	}
	r.output = cli.OutputFlag(a, c)
	return r
}

// printPage prints a page of messages: a line each, in JSON one object a line.
// CSV has its heading above the first page.
func (r *reader) printPage(messages []message, objects []cli.Object) error {
	first := !r.begun
	r.begun = true
	return r.Print(r.output.Word,
		func(out io.Writer) error { return writeLines(out, messages) },
		func(out io.Writer) error {
			records := messageView.CSV(messages)
			if !first {
				records = records[1:]
			}
			return cli.WriteCSV(out, records)
		},
		func(out io.Writer) error {
			for _, object := range objects {
				if err := cli.WriteJSONLine(out, object); err != nil {
					return err
				}
			}
			return nil
		})
}

func (r *reader) printMessages(messages []message) error {
	return r.printPage(messages, messageView.Objects(messages))
}

// A source has the unread messages of one mailbox or conversation.
type source interface {
	// read returns messages after an id, oldest first; 0 is the default limit.
	read(ctx context.Context, after uint64, limit int) ([]chat.Message, error)
	ack(ctx context.Context, messages []chat.Message) error
	// wait blocks until there is a message after an id.
	wait(ctx context.Context, after uint64) error
}

// readAll returns the unread messages of a source, up to the limit.
func (r *reader) readAll(ctx context.Context, s source) (all []chat.Message, err error) {
	for after := uint64(0); r.limit == 0 || len(all) < int(r.limit); {
		limit := chat.MaxMessages
		if r.limit > 0 {
			limit = min(limit, int(r.limit)-len(all))
		}
		page, err := s.read(ctx, after, limit)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		after = page[len(page)-1].ID
	}
	return all, nil
}

// acknowledge marks messages as read, unless the reader only peeks.
func (r *reader) acknowledge(ctx context.Context, s source, messages []chat.Message) error {
	if r.peek || len(messages) == 0 {
		return nil
	}
	return s.ack(ctx, messages)
}

// followSource prints the unread messages of a source and those that come later,
// page by page, until Ctrl-C. It begins with first, if that is not nil. Where
// messages stay unread, it goes on after the last one that it printed.
func (r *reader) followSource(ctx context.Context, s source, first []chat.Message) error {
	after, skip := uint64(0), r.peek || first != nil
	take := func(ctx context.Context) (err error) {
		page := first
		if first = nil; page == nil {
			page, err = s.read(ctx, after, 0)
		}
		if err != nil || len(page) == 0 {
			return err
		}
		if err := r.printMessages(messagesOf("", page)); err != nil {
			return err
		}
		if skip {
			after = page[len(page)-1].ID
		}
		return r.acknowledge(ctx, s, page)
	}
	return r.Follow(ctx, take, func(ctx context.Context) error { return s.wait(ctx, after) })
}

// A messageArray prints messages page by page, as one JSON array.
type messageArray struct {
	*cli.App
	begun bool
}

func (m *messageArray) print(messages []message) error {
	return m.Write(func(out io.Writer) error {
		for _, object := range messageView.Objects(messages) {
			text, err := json.MarshalIndent(object, "  ", "  ")
			if err != nil {
				return err
			}
			separator := ","
			if !m.begun {
				separator = "["
			}
			m.begun = true
			if _, err := fmt.Fprintf(out, "%s\n  %s", separator, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// end closes the array.
func (m *messageArray) end() error {
	if !m.begun {
		return m.PrintLine("[]")
	}
	return m.PrintLine("\n]")
}
