package mailbox

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// A Policy is what a full mailbox does with another message.
type Policy string

const (
	Refuse     Policy = "refuse"      // refuse it with a *FullError
	DropOldest Policy = "drop-oldest" // drop the oldest unread messages
)

// Defaults of [Limits].
const (
	DefaultMessages = 10_000
	DefaultBytes    = 64 << 20
)

// minBody is the least number of bytes that a body counts as.
const minBody = 1 << 10

// Limits bound the unread messages of a box. They are stored in the box, for all
// senders. The zero value is the limits of a box for which none were set.
type Limits struct {
	// Messages is the number of messages that may be unread; zero means
	// [DefaultMessages].
	Messages int

	// Bytes is the size that the bodies of unread messages may have together.
	// Each counts as at least 1 KiB. It is at least [chat.MaxBody]; zero means
	// [DefaultBytes], or 1 KiB for each of Messages, if that is more.
	Bytes int64

	// Full is what happens if there is no room; empty means [Refuse].
	Full Policy

	// Idle is how long after the last send or read the box is deleted, with its
	// messages; at least a millisecond. Zero means never. A server whose
	// maxmemory-policy is one of volatile-* may delete a box with this limit
	// earlier, when memory is short.
	Idle time.Duration
}

func (l Limits) validate() error {
	switch {
	case l.Messages < 0 || int64(l.Messages) > store.LastExact/minBody:
		return store.Invalid("messages", strconv.Itoa(l.Messages), "want how many may wait, or zero for the default")
	case l.Bytes < 0 || l.Bytes > store.LastExact || l.Bytes > 0 && l.Bytes < chat.MaxBody:
		return store.Invalid("bytes", strconv.FormatInt(l.Bytes, 10), "want at least 1048576, so that each message finds room, or zero for the default")
	case l.Full != "" && l.Full != Refuse && l.Full != DropOldest:
		return store.Invalid("full", string(l.Full), "want refuse or drop-oldest")
	case l.Idle < 0 || l.Idle > 0 && l.Idle < time.Millisecond:
		return store.Invalid("idle", l.Idle.String(), "want at least a millisecond, or zero for ever")
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	l.Messages = cmp.Or(l.Messages, DefaultMessages)
	l.Bytes = cmp.Or(l.Bytes, max(DefaultBytes, int64(l.Messages)*minBody))
	l.Full = cmp.Or(l.Full, Refuse)
	return l
}

// SetLimits sets all limits of a box, which need not exist yet. A box that
// refuses keeps the messages beyond them until they are read; one that drops the
// oldest does so at once, in steps.
func (m *Client) SetLimits(ctx context.Context, box string, limits Limits) error {
	if err := limits.validate(); err != nil {
		return err
	}
	_, err := m.repeat(ctx, setLimitsScript, box, limits.withDefaults().args()...)
	return err
}

// ChangeLimits changes the limits of a box, which need not exist yet. change gets the
// present ones, with the defaults filled in. If another client sets limits meanwhile,
// change is called again with those.
func (m *Client) ChangeLimits(ctx context.Context, box string, change func(*Limits)) error {
	for {
		info, err := m.run(ctx, infoScript, box)
		if err != nil {
			return err
		}
		limits := parseLimits(info)
		change(&limits)
		if err := limits.validate(); err != nil {
			return err
		}
		before := []any{info.Text(4), info.Text(5), info.Text(6), info.Text(7)}
		a, err := m.repeat(ctx, setLimitsScript, box, append(limits.withDefaults().args(), before...)...)
		if err != nil || a.Uint(1) == 1 {
			return err
		}
	}
}

// parseLimits returns the limits in a reply of infoScript.
func parseLimits(info rdb.Reply) Limits {
	return Limits{
		Messages: int(info.Uint(4)), Bytes: int64(info.Uint(5)), Full: Policy(info.Text(6)),
		Idle: time.Duration(info.Uint(7)) * time.Millisecond,
	}
}

// args returns the limits as arguments of the script that sets them.
func (l Limits) args() []any {
	return []any{l.Messages, l.Bytes, string(l.Full), l.Idle.Milliseconds()}
}

// Keep drops all unread messages but the newest n, in steps. Messages that are sent
// meanwhile are among the newest.
func (m *Client) Keep(ctx context.Context, box string, n int) error {
	if n < 0 {
		return store.Invalid("n", strconv.Itoa(n), "want how many to keep")
	}
	_, err := m.repeat(ctx, keepScript, box, n)
	return err
}

// repeat runs a script that drops messages until there are no more to drop.
func (m *Client) repeat(ctx context.Context, s *rdb.Script, box string, args ...any) (rdb.Reply, error) {
	for {
		a, err := m.run(ctx, s, box, args...)
		if err != nil || a.Uint(0) == 0 {
			return a, err
		}
	}
}
