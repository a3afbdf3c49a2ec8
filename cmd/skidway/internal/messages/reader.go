package messages

import (
	"context"
	"errors"
	"io"
	"strings"

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

// printAll prints the unread messages of a source, up to the limit, and marks them as read. It holds one page of
// them at a time. frame is that of [reader.pages], called after the first page was read.
func (r *reader) printAll(ctx context.Context, s source, frame func() any) error {
	print, end := r.pages(frame)
	printed := 0
	for after := uint64(0); r.limit == 0 || printed < int(r.limit); {
		limit := chat.MaxMessages
		if r.limit > 0 {
			limit = min(limit, int(r.limit)-printed)
		}
		page, err := s.read(ctx, after, limit)
		if err != nil || len(page) == 0 {
			return end(err)
		}
		if err := print(messagesOf("", page)); err != nil {
			return end(err)
		}
		if err := r.acknowledge(ctx, s, page); err != nil {
			return end(err)
		}
		printed += len(page)
		after = page[len(page)-1].ID
	}
	return end(nil)
}

// pages returns a function that prints a page of messages, and one that ends the output, with the error of the
// command. In JSON all pages are one array; see [messageArray].
func (r *reader) pages(frame func() any) (print func([]message) error, end func(error) error) {
	if r.output.Word != "json" {
		return r.printMessages, func(err error) error {
			if err != nil {
				return err
			}
			return r.printMessages(nil) // prints the heading if no page did
		}
	}
	array := &messageArray{App: r.App, frame: frame}
	return array.print, func(err error) error {
		if err == nil || array.begun { // an array that was begun is closed, also after an error
			err = errors.Join(err, array.end())
		}
		return err
	}
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

// A messageArray prints messages page by page, as one array in a JSON value.
type messageArray struct {
	*cli.App
	frame  func() any // returns the value, the last part of which is an empty array; called once
	begun  bool
	indent string // of the line with the end of the array
	rest   string // of the value, from the end of the array on
}

// arrayOnly is the frame of an array that is the whole value.
func arrayOnly() any { return []any{} }

func (m *messageArray) print(messages []message) error {
	return m.Write(func(out io.Writer) error {
		for _, object := range messageView.Objects(messages) {
			separator := ","
			if !m.begun {
				if err := m.begin(out); err != nil {
					return err
				}
				separator = ""
			}
			var text strings.Builder
			if err := cli.WriteJSON(&text, object); err != nil {
				return err
			}
			line := "\n" + m.indent + "  "
			if _, err := io.WriteString(out, separator+line+strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), "\n", line)); err != nil {
				return err
			}
		}
		return nil
	})
}

// begin prints the value up to the beginning of the array.
func (m *messageArray) begin(out io.Writer) error {
	var text strings.Builder
	if err := cli.WriteJSON(&text, m.frame()); err != nil {
		return err
	}
	split := strings.LastIndexByte(text.String(), ']')
	before, rest := text.String()[:split], text.String()[split:]
	m.begun, m.rest = true, rest
	last := before[strings.LastIndexByte(before, '\n')+1:]
	m.indent = last[:len(last)-len(strings.TrimLeft(last, " "))]
	_, err := io.WriteString(out, before)
	return err
}

// end prints the value from the end of the array on.
func (m *messageArray) end() error {
	return m.Write(func(out io.Writer) error {
		if m.begun {
			_, err := io.WriteString(out, "\n"+m.indent+m.rest)
			return err
		}
		return cli.WriteJSON(out, m.frame())
	})
}
