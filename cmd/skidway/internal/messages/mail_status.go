package messages

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

func mailCount(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "count BOX",
		Short:   "Prints how many messages are unread",
		Long:    `Prints how many messages of a mailbox are unread. They stay so.`,
		Example: `  skidway mail count bob`,
		Args:    cli.ExactlyOne("BOX"),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withMailbox(a, c.Context(), func(m *chat.Mailbox) error {
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
		Args: boxAnd("ID", false),
	}
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withMailbox(a, c.Context(), func(m *chat.Mailbox) error {
			if len(args) == 2 {
				return mailState(a, c.Context(), m, args[0], args[1], output.Word)
			}
			info, err := m.Info(c.Context(), args[0])
			if err != nil {
				return err
			}
			view := mailView{args[0], info}
			return a.Print(output.Word, view.table, view.csv, view.json)
		})
	})
	return c
}

func mailState(a *cli.App, ctx context.Context, m *chat.Mailbox, box, text, format string) error {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return cli.WrongUsage("%q is no id of a message: want a number", text)
	}
	state, err := m.Status(ctx, box, id)
	if err != nil {
		return err
	}
	return a.PrintWord(format, string(state), struct {
		Box   string     `json:"box"`
		ID    uint64     `json:"id"`
		State chat.State `json:"state"`
	}{box, id, state})
}

// A mailView prints how a mailbox stands.
type mailView struct {
	box string
	chat.MailboxInfo
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

func (v *mailView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	_ = w.Write([]string{"box", "unread", "bytes", "last", "oldest", "since", "seen", "max", "max_bytes", "when_full", "idle"}) // Error tells
	_ = w.Write([]string{v.box, number(v.Unread), number(v.Bytes), number(v.Last), number(v.Oldest), cli.Stamp(v.Since), cli.Stamp(v.Seen),
		strconv.Itoa(v.Limits.Messages), strconv.FormatInt(v.Limits.Bytes, 10), string(v.Limits.Full), v.Limits.Idle.String()})
	w.Flush()
	return w.Error()
}

func (v *mailView) json(out io.Writer) error {
	return cli.WriteJSON(out, struct {
		Box      string      `json:"box"`
		Unread   uint64      `json:"unread"`
		Bytes    uint64      `json:"bytes"`
		Last     uint64      `json:"last"`
		Oldest   uint64      `json:"oldest"`
		Since    time.Time   `json:"since,omitzero"`
		Seen     time.Time   `json:"seen,omitzero"`
		Max      int         `json:"max"`
		MaxBytes int64       `json:"max_bytes"`
		WhenFull chat.Policy `json:"when_full"`
		Idle     string      `json:"idle"`
	}{
		v.box, v.Unread, v.Bytes, v.Last, v.Oldest, v.Since.UTC(), v.Seen.UTC(),
		v.Limits.Messages, v.Limits.Bytes, v.Limits.Full, v.Limits.Idle.String(),
	})
}
