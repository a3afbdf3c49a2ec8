// Package messages has the commands chat, mail, dm and room.
package messages

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

// A message is one of any kind of chat, ready to be printed.
type message struct {
	chat string // empty where the command reads one chat only
	chat.Message
	nick string // of the sender, in rooms
}

func messagesOf(name string, list []chat.Message) []message {
	messages := make([]message, len(list))
	for i, m := range list {
		messages[i] = message{chat: name, Message: m}
	}
	return messages
}

// text returns the body, or "" if it is not UTF-8.
func (m message) text() string {
	if !utf8.Valid(m.Body) {
		return ""
	}
	return string(m.Body)
}

// line returns the message for people. Further lines of its text are indented.
func (m message) line() string {
	var text strings.Builder
	if m.chat != "" {
		text.WriteString(cli.Printable(m.chat) + " ")
	}
	fmt.Fprintf(&text, "%d  ", m.ID)
	if !m.Time.IsZero() {
		text.WriteString(m.Time.Local().Format(time.DateTime) + "  ")
	}
	sender := m.Sender
	if m.nick != "" {
		sender = fmt.Sprintf("%s (%s)", m.nick, m.Sender)
	}
	text.WriteString(cli.Printable(sender) + ": ")
	switch {
	case m.Err != nil:
		text.WriteString("(" + cli.Printable(m.Err.Error()) + ")")
	case !utf8.Valid(m.Body):
		fmt.Fprintf(&text, "(%d bytes that are no text)", len(m.Body))
	default:
		lines := strings.Split(strings.TrimRight(plainText.Replace(string(m.Body)), "\n"), "\n")
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

// plainText replaces harmless control characters by printable text.
var plainText = strings.NewReplacer("\r\n", "\n", "\t", "    ")

// messageView has the time of a message at two places: CSV and JSON differ in the
// order of their columns.
var messageView = cli.View[message]{
	{Key: "chat", Value: func(m message) any { return m.chat }, Omit: true},
	{Key: "id", Value: func(m message) any { return m.ID }},
	{Key: "time", Value: func(m message) any { return m.Time }, Only: "csv"},
	{Key: "sender", Value: func(m message) any { return m.Sender }},
	{Key: "message", Value: func(m message) any { return string(m.Body) }, Only: "csv"},
	{Key: "message", Value: func(m message) any { return m.text() }, Only: "json"},
	{Key: "message_base64", Value: base64Body, Omit: true, Only: "json"},
	{Key: "type", Value: func(m message) any { return m.Type }, Omit: true},
	{Key: "url", Value: func(m message) any { return m.URL }, Omit: true},
	{Key: "time", Value: func(m message) any { return m.Time.UTC() }, Omit: true, Only: "json"},
	{Key: "error", Value: func(m message) any { return cli.ErrorText(m.Err) }, Omit: true},
	{Key: "nick", Value: func(m message) any { return m.nick }, Omit: true, Only: "json"},
}

// base64Body returns a body that is not UTF-8, which JSON has as base64.
func base64Body(m message) any {
	if utf8.Valid(m.Body) {
		return nil
	}
	return m.Body
}

func writeLines(out io.Writer, messages []message) error {
	for _, m := range messages {
		if _, err := fmt.Fprintln(out, m.line()); err != nil {
			return err
		}
	}
	return nil
}

// printMessages prints messages; in JSON it prints object, which holds them.
func printMessages(a *cli.App, format string, messages []message, object any) error {
	return a.Print(format,
		func(out io.Writer) error { return writeLines(out, messages) },
		func(out io.Writer) error { return cli.WriteCSV(out, messageView.CSV(messages)) },
		func(out io.Writer) error { return cli.WriteJSON(out, object) })
}

// contentFlags are the flags of commands that send a message.
type contentFlags struct{ kind, url string }

func (f *contentFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "type", "", "`TYPE` of the message, such as image (default: text)")
	c.Flags().StringVar(&f.url, "url", "", "`URL` that belongs to the message, such as that of an image")
}

// content returns the message to send. args holds MESSAGE, or "-" for standard
// input, or nothing if there is a URL.
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

// send completes a command that sends a message to its first argument and prints
// the id of the message.
func send[T any](a *cli.App, c *cobra.Command, open opener[T], do func(c *cobra.Command, client T, to string, content chat.Content) (uint64, error)) *cobra.Command {
	var flags contentFlags
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return cli.With(c.Context(), a, open, func(client T) error {
			id, err := do(c, client, args[0], content)
			if err != nil {
				return err
			}
			return a.PrintLine(id)
		})
	})
	return c
}

// asFlag adds the flag with the name of the person who acts.
func asFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "as", "", "`NAME` of the person who acts")
	_ = c.MarkFlagRequired("as")
}

// refuseEmpty refuses flags with an empty value, as from a variable that is not
// set: that would mean the same as to leave the flag out.
func refuseEmpty(c *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return cli.WrongUsage("--%s is empty: give a value, or leave it out", name)
		}
	}
	return nil
}

const quoteHint = "put words that belong together in quotes"

// argsAnd declares the argument that names a mailbox or room, and a second one.
func argsAnd(first, second string) cobra.PositionalArgs {
	return cli.ArgsOr("one "+strings.Trim(second, "[]")+" is enough; put quotes around words that belong together", first, second)
}
