package messages

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// Mail returns the command "mail".
func Mail(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
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
	c.AddCommand(mailSend(a), mailRead(a), mailCount(a), mailStatus(a), mailLimit(a), mailKeep(a), mailDelete(a))
	return c
}

// withMailbox opens the shared Redis for as long as f runs.
func withMailbox(a *cli.App, ctx context.Context, f func(*chat.Mailbox) error) error {
	return cli.InvalidAsUsage(a.WithRedis(ctx, "", func(db *rdb.DB) error { return f(chat.NewMailbox(db)) }))
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

func mailSend(a *cli.App) *cobra.Command {
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
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return withMailbox(a, c.Context(), func(m *chat.Mailbox) error {
			id, err := m.Send(c.Context(), args[0], sender, content)
			if err != nil {
				return err
			}
			return a.Write(func(out io.Writer) error { _, err := fmt.Fprintln(out, id); return err })
		})
	})
	return c
}

func mailKeep(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "keep BOX N",
		Short:   "Drops all messages but the newest",
		Long:    `Drops all messages of a mailbox that wait to be read, but the newest N.`,
		Example: `  skidway mail keep bob 100`,
		Args:    boxAnd("N", true),
		RunE: cli.Action(func(c *cobra.Command, args []string) error {
			var n cli.Number
			if err := n.Set(args[1]); err != nil {
				return cli.WrongUsage("how many to keep: %q: %w", args[1], err)
			}
			return withMailbox(a, c.Context(), func(m *chat.Mailbox) error { return m.Keep(c.Context(), args[0], int(n)) })
		}),
	}
}

func mailDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "delete BOX",
		Short: "Deletes a mailbox",
		Long: `Deletes a mailbox with all that is in it, and its limits. A later message to it
begins a new one, with id 1.`,
		Example: `  skidway mail delete bob`,
		Args:    cli.ExactlyOne("BOX"),
		RunE: cli.Action(func(c *cobra.Command, args []string) error {
			return withMailbox(a, c.Context(), func(m *chat.Mailbox) error { return m.Delete(c.Context(), args[0]) })
		}),
	}
}
