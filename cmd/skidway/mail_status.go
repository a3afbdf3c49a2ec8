package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/distribute/chat"
)

func (a *app) mailCount() *cobra.Command {
	c := &cobra.Command{
		Use:     "count BOX",
		Short:   "Prints how many messages are unread",
		Long:    `Prints how many messages of a mailbox are unread. They stay so.`,
		Example: `  skidway mail count bob`,
		Args:    exactlyOne("BOX"),
	}
	output := outputFlag(c)
	c.RunE = action(func(c *cobra.Command, args []string) error {
		return a.withMailbox(c.Context(), func(m *chat.Mailbox) error {
			n, err := m.Count(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printWord(output.word, strconv.FormatUint(n, 10), struct {
				Box    string `json:"box"`
				Unread uint64 `json:"unread"`
			}{args[0], n})
		})
	})
	return c
}

// printWord prints a line, or an object in JSON.
func (a *app) printWord(format, word string, object any) error {
	line := func(out io.Writer) error { _, err := fmt.Fprintln(out, word); return err }
	return a.print(format, line, line, func(out io.Writer) error { return writeJSON(out, object) })
}

func (a *app) mailStatus() *cobra.Command {
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
	output := outputFlag(c)
	c.RunE = action(func(c *cobra.Command, args []string) error {
		return a.withMailbox(c.Context(), func(m *chat.Mailbox) error {
			if len(args) == 2 {
				return a.mailState(c.Context(), m, args[0], args[1], output.word)
			}
			info, err := m.Info(c.Context(), args[0])
			if err != nil {
				return err
			}
			view := mailView{args[0], info}
			return a.print(output.word, view.table, view.csv, view.json)
		})
	})
	return c
}

func (a *app) mailState(ctx context.Context, m *chat.Mailbox, box, text, format string) error {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return wrongUsage("%q is no id of a message: want a number", text)
	}
	state, err := m.Status(ctx, box, id)
	if err != nil {
		return err
	}
	return a.printWord(format, string(state), struct {
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
	_, err := fmt.Fprintf(out, "mailbox %s: %s\n", printable(v.box), v.unread())
	if err == nil {
		_, err = fmt.Fprintf(out, "receiver last here: %s\n%s\n", localTime(v.Seen), limitsText(v.Limits))
	}
	return err
}

func (v *mailView) unread() string {
	text := fmt.Sprintf("%s unread (%s)", humanize.Comma(int64(v.Unread)), humanize.IBytes(v.Bytes))
	if v.Oldest > 0 {
		text += fmt.Sprintf(", the oldest is %d, sent %s", v.Oldest, localTime(v.Since))
	}
	return text + fmt.Sprintf("; last id %d", v.Last)
}

func localTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format(time.DateTime)
}

func (v *mailView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	_ = w.Write([]string{"box", "unread", "bytes", "last", "oldest", "since", "seen", "max", "max_bytes", "when_full", "idle"}) // Error tells
	_ = w.Write([]string{v.box, number(v.Unread), number(v.Bytes), number(v.Last), number(v.Oldest), at(v.Since), at(v.Seen),
		strconv.Itoa(v.Limits.Messages), strconv.FormatInt(v.Limits.Bytes, 10), string(v.Limits.Full), v.Limits.Idle.String()})
	w.Flush()
	return w.Error()
}

func (v *mailView) json(out io.Writer) error {
	return writeJSON(out, struct {
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
