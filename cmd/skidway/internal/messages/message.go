// Package messages has the commands chat, mail, dm and room.
package messages

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

// A message is one of any kind of chat, as it is printed.
type message struct {
	Chat   string    `json:"chat,omitempty"`
	ID     uint64    `json:"id"`
	Sender string    `json:"sender"`
	Text   string    `json:"message"`
	Base64 []byte    `json:"message_base64,omitempty"` // instead of a text that is not UTF-8
	Type   string    `json:"type,omitempty"`
	URL    string    `json:"url,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Error  string    `json:"error,omitempty"` // why it can't be read

	shown string // to people, instead of the sender's id
}

// messageOf makes a message of a chat ready to be printed; where there is only
// one chat it is not named.
func messageOf(chat string, m chat.Message) message {
	out := message{Chat: chat, ID: m.ID, Sender: m.Sender, Type: m.Type, URL: m.URL}
	if !m.Time.IsZero() {
		out.Time = m.Time.UTC()
	}
	if utf8.Valid(m.Body) {
		out.Text = string(m.Body)
	} else {
		out.Base64 = m.Body
	}
	if m.Err != nil {
		out.Error = m.Err.Error()
	}
	return out
}

func messagesOf(chat string, list []chat.Message) []message {
	messages := make([]message, len(list)) // never nil: JSON has an empty array
	for i, m := range list {
		messages[i] = messageOf(chat, m)
	}
	return messages
}

// line is the message for people. Further lines of its text are indented.
func (m *message) line() string {
	var text strings.Builder
	if m.Chat != "" {
		text.WriteString(cli.Printable(m.Chat) + " ")
	}
	fmt.Fprintf(&text, "%d  ", m.ID)
	if !m.Time.IsZero() {
		text.WriteString(m.Time.Local().Format(time.DateTime) + "  ")
	}
	text.WriteString(cli.Printable(cmp.Or(m.shown, m.Sender)) + ": ")
	switch {
	case m.Error != "":
		text.WriteString("(" + cli.Printable(m.Error) + ")")
	case m.Base64 != nil:
		fmt.Fprintf(&text, "(%d bytes that are no text)", len(m.Base64))
	default:
		lines := strings.Split(strings.TrimRight(plainText.Replace(m.Text), "\n"), "\n")
		for i := range lines {
			lines[i] = cli.Printable(lines[i])
		}
		text.WriteString(strings.Join(lines, "\n    "))
	}
	if m.URL != "" {
		text.WriteString(" <" + cli.Printable(m.URL) + ">")
	}
	return text.String()
}

// plainText turns what people write, and terminals need not be kept from, into
// what is printable.
var plainText = strings.NewReplacer("\r\n", "\n", "\t", "    ")

var messageView = cli.View[message]{
	{Key: "chat", Value: func(m message) any { return m.Chat }},
	{Key: "id", Value: func(m message) any { return m.ID }},
	{Key: "time", Value: func(m message) any { return m.Time }},
	{Key: "sender", Value: func(m message) any { return m.Sender }},
	{Key: "message", Value: func(m message) any { return m.Text + string(m.Base64) }},
	{Key: "type", Value: func(m message) any { return m.Type }},
	{Key: "url", Value: func(m message) any { return m.URL }},
	{Key: "error", Value: func(m message) any { return m.Error }},
}

func writeLines(out io.Writer, messages []message) error {
	for _, m := range messages {
		if _, err := fmt.Fprintln(out, m.line()); err != nil {
			return err
		}
	}
	return nil
}

// printMessages prints messages, in JSON as object, which holds them.
func printMessages(a *cli.App, format string, messages []message, object any) error {
	return a.Print(format,
		func(out io.Writer) error { return writeLines(out, messages) },
		func(out io.Writer) error { return cli.WriteCSV(out, messageView.CSV(messages)) },
		func(out io.Writer) error { return cli.WriteJSON(out, object) })
}

// A feed prints messages as they come: a line each, in JSON one object a line.
// It is not safe for concurrent use.
type feed struct {
	app    *cli.App
	format string
	begun  bool
}

// print prints messages. JSON has the objects, one for each message.
func (f *feed) print(messages []message, objects []any) error {
	head := !f.begun
	f.begun = true
	return f.app.Print(f.format,
		func(out io.Writer) error { return writeLines(out, messages) },
		func(out io.Writer) error {
			records := messageView.CSV(messages)
			if !head {
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

// printMessages prints messages of which JSON has no more than they hold.
func (f *feed) printMessages(messages []message) error {
	objects := make([]any, len(messages))
	for i, m := range messages {
		objects[i] = m
	}
	return f.print(messages, objects)
}

// A contentFlags are the flags of commands that send.
type contentFlags struct{ kind, url string }

func (f *contentFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "type", "", "`TYPE` of the message, such as image (default: a text)")
	c.Flags().StringVar(&f.url, "url", "", "`URL` of what the message is about")
}

// content gives what to send. args are MESSAGE, "-" for standard input, or
// nothing where there is a URL.
func (f *contentFlags) content(c *cobra.Command, args []string) (chat.Content, error) {
	content := chat.Content{Type: f.kind, URL: f.url}
	switch {
	case len(args) == 0 && f.url == "":
		return content, cli.WrongUsage("missing MESSAGE")
	case len(args) == 0:
	case args[0] == "-":
		body, err := io.ReadAll(io.LimitReader(c.InOrStdin(), chat.MaxBody+1))
		if err != nil {
			return content, fmt.Errorf("read the message from standard input: %w", err)
		}
		content.Body = body
	default:
		content.Body = []byte(args[0])
	}
	return content, nil
}

// asFlag adds the flag that says who acts.
func asFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "as", "", "`NAME` of who does this")
	_ = c.MarkFlagRequired("as")
}

// refuseEmpty refuses flags that were given an empty value, as by a variable that
// is not set: it means something else than to leave them out.
func refuseEmpty(c *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return cli.WrongUsage("--%s is empty: give a value, or leave it out", name)
		}
	}
	return nil
}

// followFlag adds the flag to go on waiting.
func followFlag(c *cobra.Command, follow *bool) {
	c.Flags().BoolVarP(follow, "follow", "f", false, "wait, and print messages as they come, until Ctrl-C")
}

// peekFlag adds the flag to leave messages unread.
func peekFlag(c *cobra.Command, peek *bool) {
	c.Flags().BoolVar(peek, "peek", false, "leave what is printed unread")
}

const quoteHint = "put words that belong together in quotes"

// argsAnd declares what a command acts on and one argument more.
func argsAnd(first, second string) cobra.PositionalArgs {
	return cli.ArgsOr("one "+strings.Trim(second, "[]")+" is enough; put quotes around words that belong together", first, second)
}
