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
	"skidway/distribute/chat/mailbox"
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
		Args: argsAnd("BOX", "[MESSAGE]"),
	}
	asFlag(c, &sender)
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error {
			id, err := m.Send(c.Context(), args[0], sender, content)
			if err != nil {
				return err
			}
			return a.PrintLine(id)
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
		Args:    argsAnd("BOX", "N"),
		RunE: cli.Action(func(c *cobra.Command, args []string) error {
			var n cli.Number
			if err := n.Set(args[1]); err != nil {
				return cli.WrongUsage("how many to keep: %q: %w", args[1], err)
			}
			return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error { return m.Keep(c.Context(), args[0], int(n)) })
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
		Args:    cli.Args("BOX"),
		RunE: cli.Action(func(c *cobra.Command, args []string) error {
			return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error { return m.Delete(c.Context(), args[0]) })
		}),
	}
}

func mailLimit(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "limit BOX",
		Short: "Sets what a mailbox may hold",
		Long: `Sets what a mailbox may hold, for all who send to it. What is not given stays as
it is. A box that was never limited holds 10,000 messages and 64 MiB, refuses
more, and never expires. Each message counts as at least 1 KiB.`,
		Example: `  skidway mail limit bob --max 100 --when-full drop-oldest
  skidway mail limit bob --idle 720h`,
		Args: cli.Args("BOX"),
	}
	var flags limitFlags
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if !flags.given("max", "max-bytes", "when-full", "idle") {
			return cli.AsUsage(errors.New("which limit? give --max, --max-bytes, --when-full or --idle"))
		}
		return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error {
			return limitMailbox(c.Context(), a, m, args[0], &flags)
		})
	})
	return c
}

// limitMailbox changes the limits that were given, and tells all that hold now.
func limitMailbox(ctx context.Context, a *cli.App, m *mailbox.Client, box string, flags *limitFlags) error {
	info, err := m.Info(ctx, box)
	if err != nil {
		return err
	}
	flags.change(&info.Limits)
	if err := m.SetLimits(ctx, box, info.Limits); err != nil {
		return err
	}
	if info, err = m.Info(ctx, box); err != nil {
		return err
	}
	a.Console.Notice("mailbox %s: %s", box, limitsText(info.Limits))
	return nil
}

// limitFlags are the limits of a mailbox.
type limitFlags struct {
	command *cobra.Command
	most    cli.Number
	bytes   cli.Size
	full    cli.Choice
	idle    time.Duration
}

func (f *limitFlags) add(c *cobra.Command) {
	f.command = c
	f.full.Words = []string{string(mailbox.Refuse), string(mailbox.DropOldest)}
	c.Flags().Var(&f.most, "max", "most unread messages `N`; 0: 10,000")
	c.Flags().Var(&f.bytes, "max-bytes", "most bytes of unread messages, at least 1MiB")
	c.Flags().Var(&f.full, "when-full", "refuse more, or drop the oldest")
	c.Flags().DurationVar(&f.idle, "idle", 0, "delete it when nobody sends or reads for this `TIME`; 0: never")
	cli.Complete(c, "when-full", f.full.Words...)
}

// given reports whether one of these flags was.
func (f *limitFlags) given(names ...string) bool {
	return slices.ContainsFunc(names, f.command.Flags().Changed)
}

func (f *limitFlags) change(limits *mailbox.Limits) {
	if f.given("max") {
		limits.Messages = int(f.most)
	}
	switch {
	case f.given("max-bytes"):
		limits.Bytes = int64(f.bytes)
	case limits.Bytes == mailbox.DefaultBytes:
		limits.Bytes = 0 // more, where that many messages need it
	}
	if f.given("when-full") {
		limits.Full = mailbox.Policy(f.full.Word)
	}
	if f.given("idle") {
		limits.Idle = f.idle
	}
}

// limitsText is one line about the limits of a box.
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
		Short:   "Prints how many messages are unread",
		Long:    `Prints how many messages of a mailbox are unread. They stay so.`,
		Example: `  skidway mail count bob`,
		Args:    cli.Args("BOX"),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error {
			n, err := m.Count(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.PrintWord(output.Word, strconv.FormatUint(n, 10), struct {
				Box    string `json:"box"`
				Unread uint64 `json:"unread"`
			}{args[0], n})
		})
	})
	return c
}

func mailStatus(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "status BOX [ID]",
		Short: "Shows how a mailbox stands, or what became of a message",
		Long: `Shows how a mailbox stands: what is unread, when the receiver was last here, and
the limits. With the ID of a message it prints what became of that: unread,
read, dropped (unread), notsent, or gone (read or dropped, so long ago that it
is not known which).`,
		Example: `  skidway mail status bob
  skidway mail status bob 17`,
		Args: argsAnd("BOX", "[ID]"),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return cli.WithClient(c.Context(), a, mailbox.New, func(m *mailbox.Client) error {
			if len(args) == 2 {
				return mailState(c.Context(), a, m, args[0], args[1], output.Word)
			}
			info, err := m.Info(c.Context(), args[0])
			if err != nil {
				return err
			}
			view := &mailView{args[0], info}
			return a.Print(output.Word, view.table,
				func(out io.Writer) error { return cli.WriteCSV(out, mailboxView.CSV([]*mailView{view})) },
				func(out io.Writer) error { return cli.WriteJSON(out, mailboxView.Object(view)) })
		})
	})
	return c
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
	return a.PrintWord(format, string(state), struct {
		Box   string        `json:"box"`
		ID    uint64        `json:"id"`
		State mailbox.State `json:"state"`
	}{box, id, state})
}

// A mailView prints how a mailbox stands.
type mailView struct {
	box string
	mailbox.Info
}

func (v *mailView) table(out io.Writer) error {
	_, err := fmt.Fprintf(out, "mailbox %s: %s\n", cli.Printable(v.box), v.unread())
	if err == nil {
		_, err = fmt.Fprintf(out, "receiver last here: %s\n%s\n", cli.LocalTime(v.Seen), limitsText(v.Limits))
	}
	return err
}

func (v *mailView) unread() string {
	text := fmt.Sprintf("%s unread (%s)", humanize.Comma(int64(v.Unread)), humanize.IBytes(v.Bytes))
	if v.Oldest > 0 {
		text += fmt.Sprintf(", the oldest is %d, sent %s", v.Oldest, cli.LocalTime(v.Since))
	}
	return text + fmt.Sprintf("; last id %d", v.Last)
}

var mailboxView = cli.View[*mailView]{
	{Key: "box", Value: func(v *mailView) any { return v.box }},
	{Key: "unread", Value: func(v *mailView) any { return v.Unread }},
	{Key: "bytes", Value: func(v *mailView) any { return v.Bytes }},
	{Key: "last", Value: func(v *mailView) any { return v.Last }},
	{Key: "oldest", Value: func(v *mailView) any { return v.Oldest }},
	{Key: "since", Value: func(v *mailView) any { return v.Since.UTC() }, Omit: true},
	{Key: "seen", Value: func(v *mailView) any { return v.Seen.UTC() }, Omit: true},
	{Key: "max", Value: func(v *mailView) any { return v.Limits.Messages }},
	{Key: "max_bytes", Value: func(v *mailView) any { return v.Limits.Bytes }},
	{Key: "when_full", Value: func(v *mailView) any { return v.Limits.Full }},
	{Key: "idle", Value: func(v *mailView) any { return v.Limits.Idle.String() }},
}
