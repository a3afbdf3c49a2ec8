package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/mailbox"
)

// Mail returns the command "mail".
func Mail(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "mail",
		Short: "Sends to mailboxes and reads them",
		Long: `A mailbox is a list of unread messages for one receiver. It is created by the
first message to it. A message stays in it until it is read.

Anyone can send to a mailbox and read from it.`,
		Example: `  skidway mail send bob --as ann "call me"
  skidway mail read bob
  skidway mail status bob`,
	})
	c.AddCommand(mailSend(a), mailRead(a), mailCount(a), mailStatus(a), mailLimit(a), mailKeep(a), mailDelete(a))
	return c
}

func mailSend(a *cli.App) *cobra.Command {
	var sender string
	c := &cobra.Command{
		Use:   "send BOX [MESSAGE]",
		Short: "Sends a message to a mailbox",
		Long: `Sends a message to a mailbox and prints its id. MESSAGE "-" reads standard
input. With --url, MESSAGE is optional. A full mailbox refuses the message or
drops its oldest ones: see "mail limit".`,
		Example: `  skidway mail send bob --as ann "call me"
  skidway mail send bob --as ann --type image --url https://example.com/a.png
  df | skidway mail send admin --as cron -`,
		Args: argsAnd("BOX", "[MESSAGE]"),
	}
	asFlag(c, &sender)
	return send(a, c, openMailboxes, func(c *cobra.Command, m *mailbox.Client, box string, content chat.Content) (uint64, error) {
		return m.Send(c.Context(), box, sender, content)
	})
}

func mailRead(a *cli.App) *cobra.Command {
	var newest cli.Number
	c := &cobra.Command{
		Use:   "read BOX",
		Short: "Prints the unread messages of a mailbox",
		Long: `Prints the unread messages of a mailbox, oldest first, and removes them from it.
With --peek they stay unread.

JSON is one array of messages; with --follow it is one message per line.`,
		Example: `  skidway mail read bob
  skidway mail read bob --newest 3 --peek
  skidway mail read bob --follow -o json`,
		Args: cli.Args("BOX"),
	}
	r := newReader(a, c, true, true)
	c.Flags().Var(&newest, "newest", "print only the newest `N` messages, at most 500 (default: all)")
	c.MarkFlagsMutuallyExclusive("limit", "newest")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if newest > chat.MaxMessages {
			return cli.WrongUsage("--newest %d: at most %d at once", newest, chat.MaxMessages)
		}
		return cli.With(c.Context(), a, openMailboxes, func(m *mailbox.Client) error {
			return readMailbox(c.Context(), r, &mailSource{m, args[0]}, int(newest))
		})
	})
	return c
}

// readMailbox prints the unread messages; newest above 0 limits them to the newest.
func readMailbox(ctx context.Context, r *reader, s *mailSource, newest int) (err error) {
	if newest == 0 && !r.follow {
		return r.printAll(ctx, s, arrayOnly)
	}
	var messages []chat.Message
	if newest > 0 {
		if messages, err = s.Newest(ctx, s.box, newest); err != nil {
			return err
		}
	}
	if r.follow {
		return r.followSource(ctx, s, messages)
	}
	list := messagesOf("", messages)
	if err := printMessages(r.App, r.output.Word, list, messageView.Objects(list)); err != nil {
		return err
	}
	return r.acknowledge(ctx, s, messages)
}

// A mailSource is a mailbox.
type mailSource struct {
	*mailbox.Client
	box string
}

func (s *mailSource) read(ctx context.Context, after uint64, limit int) ([]chat.Message, error) {
	return s.Read(ctx, s.box, after, limit)
}

func (s *mailSource) ack(ctx context.Context, messages []chat.Message) error {
	_, err := s.AckMessages(ctx, s.box, messages)
	return err
}

func (s *mailSource) wait(ctx context.Context, after uint64) error { return s.Wait(ctx, s.box, after) }

func mailKeep(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "keep BOX N",
		Short:   "Drops all unread messages but the newest",
		Long:    `Drops all unread messages of a mailbox but the newest N.`,
		Example: `  skidway mail keep bob 100`,
		Args:    argsAnd("BOX", "N"),
		RunE: cli.Action(func(c *cobra.Command, args []string) error {
			var n cli.Number
			if err := n.Set(args[1]); err != nil {
				return cli.WrongUsage("how many to keep: %q: %w", args[1], err)
			}
			return cli.With(c.Context(), a, openMailboxes, func(m *mailbox.Client) error { return m.Keep(c.Context(), args[0], int(n)) })
		}),
	}
}

func mailDelete(a *cli.App) *cobra.Command {
	return cli.Run(a, &cobra.Command{
		Use:   "delete BOX",
		Short: "Deletes a mailbox",
		Long: `Deletes a mailbox with its messages and limits. A later message creates a new
one, with id 1.`,
		Example: `  skidway mail delete bob`,
		Args:    cli.Args("BOX"),
	}, openMailboxes, func(ctx context.Context, m *mailbox.Client, args []string) error { return m.Delete(ctx, args[0]) })
}

func mailLimit(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "limit BOX",
		Short: "Sets the limits of a mailbox",
		Long: `Sets the limits of a mailbox for all senders, and keeps those that are not
given. By default a mailbox holds 10,000 messages and 64 MiB, refuses more, and
never expires. Each message counts as at least 1 KiB.`,
		Example: `  skidway mail limit bob --max 100 --when-full drop-oldest
  skidway mail limit bob --idle 720h`,
		Args: cli.Args("BOX"),
	}
	var flags limitFlags
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if !flags.given("max", "max-bytes", "when-full", "idle") {
			return cli.AsUsage(errors.New("nothing to change: give --max, --max-bytes, --when-full or --idle"))
		}
		return cli.With(c.Context(), a, openMailboxes, func(m *mailbox.Client) error {
			return limitMailbox(c.Context(), a, m, args[0], &flags)
		})
	})
	return c
}

// limitMailbox changes the limits of the command line, and prints all that now hold.
func limitMailbox(ctx context.Context, a *cli.App, m *mailbox.Client, box string, flags *limitFlags) error {
	if err := m.ChangeLimits(ctx, box, flags.change); err != nil {
		return err
	}
	info, err := m.Info(ctx, box)
	if err != nil {
		return err
	}
	a.Console.Notice("mailbox %s: %s", box, limitsText(info.Limits))
	return nil
}

// limitFlags are the limits of a mailbox.
type limitFlags struct {
	command  *cobra.Command
	messages cli.Number
	bytes    cli.Size
	full     cli.Choice
	idle     time.Duration
}

func (f *limitFlags) add(c *cobra.Command) {
	f.command = c
	f.full.Words = []string{string(mailbox.Refuse), string(mailbox.DropOldest)}
	c.Flags().Var(&f.messages, "max", "number of unread messages at most; 0: 10,000")
	c.Flags().Var(&f.bytes, "max-bytes", "size of unread messages at most, 1MiB or more")
	c.Flags().Var(&f.full, "when-full", "what to do when the mailbox is full")
	c.Flags().DurationVar(&f.idle, "idle", 0, "delete the mailbox after this `TIME` without sending or reading; 0: never")
	cli.Complete(c, "when-full", f.full.Words...)
}

// given reports whether one of these flags is on the command line.
func (f *limitFlags) given(names ...string) bool {
	return slices.ContainsFunc(names, f.command.Flags().Changed)
}

func (f *limitFlags) change(limits *mailbox.Limits) {
	if f.given("max") {
		limits.Messages = int(f.messages)
	}
	switch {
	case f.given("max-bytes"):
		limits.Bytes = int64(f.bytes)
	case limits.Bytes == mailbox.DefaultBytes:
		limits.Bytes = 0 // the library chooses: more messages need more
	}
	if f.given("when-full") {
		limits.Full = mailbox.Policy(f.full.Word)
	}
	if f.given("idle") {
		limits.Idle = f.idle
	}
}

// limitsText returns one line with the limits of a mailbox.
func limitsText(l mailbox.Limits) string {
	idle := "never expires"
	if l.Idle > 0 {
		idle = "expires when idle for " + l.Idle.String()
	}
	return fmt.Sprintf("at most %s messages and %s; when full: %s; %s",
		humanize.Comma(int64(l.Messages)), humanize.IBytes(uint64(l.Bytes)), l.Full, idle)
}

func mailCount(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "count BOX",
		Short:   "Prints the number of unread messages",
		Long:    `Prints the number of unread messages of a mailbox. They stay unread.`,
		Example: `  skidway mail count bob`,
		Args:    cli.Args("BOX"),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openMailboxes, func(ctx context.Context, m *mailbox.Client, args []string) error {
		n, err := m.Count(ctx, args[0])
		if err != nil {
			return err
		}
		return a.PrintWord(output.Word, strconv.FormatUint(n, 10), cli.Object{{Key: "box", Value: args[0]}, {Key: "unread", Value: n}})
	})
}

func mailStatus(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "status BOX [ID]",
		Short: "Shows the state of a mailbox or of a message",
		Long: `Shows the state of a mailbox: unread messages, when the receiver last read, and
the limits. With the ID of a message it prints the state of the message: unread,
read, dropped (unread), notsent, or gone (read or dropped, too long ago to know
which).`,
		Example: `  skidway mail status bob
  skidway mail status bob 17`,
		Args: argsAnd("BOX", "[ID]"),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openMailboxes, func(ctx context.Context, m *mailbox.Client, args []string) error {
		if len(args) == 2 {
			return mailState(ctx, a, m, args[0], args[1], output.Word)
		}
		info, err := m.Info(ctx, args[0])
		if err != nil {
			return err
		}
		row := mailboxRow{args[0], info}
		return a.Print(output.Word, row.table,
			func(out io.Writer) error { return cli.WriteCSV(out, mailboxView.CSV([]mailboxRow{row})) },
			func(out io.Writer) error { return cli.WriteJSON(out, mailboxView.Object(row)) })
	})
}

func mailState(ctx context.Context, a *cli.App, m *mailbox.Client, box, text, format string) error {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return cli.WrongUsage("%q is no id of a message: want a number", text)
	}
	state, err := m.Status(ctx, box, id)
	if err != nil {
		return err
	}
	return a.PrintWord(format, string(state), cli.Object{{Key: "box", Value: box}, {Key: "id", Value: id}, {Key: "state", Value: state}})
}

// A mailboxRow is the state of a mailbox, with its name.
type mailboxRow struct {
	box string
	mailbox.Info
}

func (m mailboxRow) table(out io.Writer) error {
	_, err := fmt.Fprintf(out, "mailbox %s: %s\n", cli.Printable(m.box), m.unread())
	if err == nil {
		_, err = fmt.Fprintf(out, "receiver last here: %s\n%s\n", cli.LocalTime(m.Seen), limitsText(m.Limits))
	}
	return err
}

func (m mailboxRow) unread() string {
	text := fmt.Sprintf("%s unread (%s)", humanize.Comma(int64(m.Unread)), humanize.IBytes(m.Bytes))
	if m.Oldest > 0 {
		text += fmt.Sprintf(", the oldest is %d, sent %s", m.Oldest, cli.LocalTime(m.Since))
	}
	return text + fmt.Sprintf("; last id %d", m.Last)
}

var mailboxView = cli.View[mailboxRow]{
	{Key: "box", Value: func(m mailboxRow) any { return m.box }},
	{Key: "unread", Value: func(m mailboxRow) any { return m.Unread }},
	{Key: "bytes", Value: func(m mailboxRow) any { return m.Bytes }},
	{Key: "last", Value: func(m mailboxRow) any { return m.Last }},
	{Key: "oldest", Value: func(m mailboxRow) any { return m.Oldest }},
	{Key: "since", Value: func(m mailboxRow) any { return m.Since.UTC() }, Omit: true},
	{Key: "seen", Value: func(m mailboxRow) any { return m.Seen.UTC() }, Omit: true},
	{Key: "max", Value: func(m mailboxRow) any { return m.Limits.Messages }},
	{Key: "max_bytes", Value: func(m mailboxRow) any { return m.Limits.Bytes }},
	{Key: "when_full", Value: func(m mailboxRow) any { return m.Limits.Full }},
	{Key: "idle", Value: func(m mailboxRow) any { return m.Limits.Idle.String() }},
}
