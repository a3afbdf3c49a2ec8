package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

func (a *app) mail() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "mail",
		Short: "Sends to mailboxes and reads them",
		Long: `A mailbox is one receiver's list of messages that wait to be read. It begins
with the first message that is sent to it. A message stays until it was read,
however long the receiver is away.

Anybody may send to a box and read from it.`,
		Example: `  skidway mail send bob --as ann "call me"
  skidway mail read bob
  skidway mail status bob`,
	})
	c.AddCommand(a.mailSend(), a.mailRead(), a.mailCount(), a.mailStatus(), a.mailLimit(), a.mailKeep(), a.mailDelete())
	return c
}

// withMailbox opens the shared Redis for as long as f runs.
func (a *app) withMailbox(ctx context.Context, f func(*chat.Mailbox) error) error {
	return chatError(a.withShared(ctx, "", func(db *rdb.DB) error { return f(chat.NewMailbox(db)) }))
}

// boxAnd wants a box and then at most one more argument, which the word
// describes.
func boxAnd(what string, needed bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return errors.New("missing BOX")
		case len(args) == 1 && needed:
			return errors.New("missing " + what)
		case len(args) > 2:
			return fmt.Errorf("unexpected %q: one %s is enough; put quotes around words that belong together", args[2], what)
		}
		return nil
	}
}

func (a *app) mailSend() *cobra.Command {
	var sender string
	var flags contentFlags
	c := &cobra.Command{
		Use:   "send BOX [MESSAGE]",
		Short: "Sends a message to a mailbox",
		Long: `Sends a message to a mailbox and prints its id. MESSAGE can be left out where
there is a --url; "-" reads it from standard input. A full box refuses the
message or drops its oldest ones: see "mail limit".`,
		Example: `  skidway mail send bob --as ann "call me"
  skidway mail send bob --as ann --type image --url https://example.com/a.png
  df | skidway mail send admin --as cron -`,
		Args: boxAnd("MESSAGE", false),
	}
	asFlag(c, &sender)
	flags.add(c)
	c.RunE = action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return a.withMailbox(c.Context(), func(m *chat.Mailbox) error {
			id, err := m.Send(c.Context(), args[0], sender, content)
			if err != nil {
				return err
			}
			return a.write(func(out io.Writer) error { _, err := fmt.Fprintln(out, id); return err })
		})
	})
	return c
}

func (a *app) mailKeep() *cobra.Command {
	return &cobra.Command{
		Use:     "keep BOX N",
		Short:   "Drops all messages but the newest",
		Long:    `Drops all messages of a mailbox that wait to be read, but the newest N.`,
		Example: `  skidway mail keep bob 100`,
		Args:    boxAnd("N", true),
		RunE: action(func(c *cobra.Command, args []string) error {
			var n number
			if err := n.Set(args[1]); err != nil {
				return wrongUsage("how many to keep: %q: %w", args[1], err)
			}
			return a.withMailbox(c.Context(), func(m *chat.Mailbox) error { return m.Keep(c.Context(), args[0], int(n)) })
		}),
	}
}

func (a *app) mailDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete BOX",
		Short: "Deletes a mailbox",
		Long: `Deletes a mailbox with all that is in it, and its limits. A later message to it
begins a new one, with id 1.`,
		Example: `  skidway mail delete bob`,
		Args:    exactlyOne("BOX"),
		RunE: action(func(c *cobra.Command, args []string) error {
			return a.withMailbox(c.Context(), func(m *chat.Mailbox) error { return m.Delete(c.Context(), args[0]) })
		}),
	}
}
