package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

func mailLimit(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "limit BOX",
		Short: "Sets what a mailbox may hold",
		Long: `Sets what a mailbox may hold, for all who send to it. What is not given stays as
it is. A box that was never limited holds 10,000 messages and 64 MiB, refuses
more, and never expires. Each message counts as at least 1 KiB.`,
		Example: `  skidway mail limit bob --max 100 --when-full drop-oldest
  skidway mail limit bob --idle 720h`,
		Args: cli.ExactlyOne("BOX"),
	}
	var flags limitFlags
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if !flags.given("max", "max-bytes", "when-full", "idle") {
			return cli.AsUsage(errors.New("which limit? give --max, --max-bytes, --when-full or --idle"))
		}
		return withMailbox(a, c.Context(), func(m *chat.Mailbox) error {
			return limitMailbox(a, c.Context(), m, args[0], &flags)
		})
	})
	return c
}

// limitMailbox changes the limits that were given, and tells all that hold now.
func limitMailbox(a *cli.App, ctx context.Context, m *chat.Mailbox, box string, flags *limitFlags) error {
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
	f.full.Words = []string{string(chat.Refuse), string(chat.DropOldest)}
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

func (f *limitFlags) change(limits *chat.MailboxLimits) {
	if f.given("max") {
		limits.Messages = int(f.most)
	}
	switch {
	case f.given("max-bytes"):
		limits.Bytes = int64(f.bytes)
	case limits.Bytes == chat.DefaultMailboxBytes:
		limits.Bytes = 0 // more, where that many messages need it
	}
	if f.given("when-full") {
		limits.Full = chat.Policy(f.full.Word)
	}
	if f.given("idle") {
		limits.Idle = f.idle
	}
}

// limitsText is one line about the limits of a box.
func limitsText(l chat.MailboxLimits) string {
	idle := "never expires"
	if l.Idle > 0 {
		idle = "expires when idle for " + l.Idle.String()
	}
	return fmt.Sprintf("at most %s messages and %s; when full: %s; %s",
		humanize.Comma(int64(l.Messages)), humanize.IBytes(uint64(l.Bytes)), l.Full, idle)
}
