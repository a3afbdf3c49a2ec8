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

// A Policy says what a full mailbox does with one more message.
type Policy string

const (
	Refuse     Policy = "refuse"      // the message, with a *FullError
	DropOldest Policy = "drop-oldest" // the oldest unread ones, to make room
)

// Limits of a mailbox that were not set.
const (
	DefaultMessages = 10_000
	DefaultBytes    = 64 << 20
)

// smallBody is how many bytes a message counts at least.
const smallBody = 1 << 10

// Limits bound what waits in a box. They are kept in it, so that all
// senders agree. The zero value is what holds for a box whose limits were never
// set.
type Limits struct {
	// Messages is the most unread messages; zero means
	// [DefaultMessages].
	Messages int

	// Bytes is the most bytes that the bodies of unread messages may have
	// together. Each counts as at least 1 KiB. It is at least [chat.MaxBody]; zero
	// means [DefaultBytes], or as much as Messages take at 1 KiB each,
	// if that is more.
	Bytes int64

	// Full says what happens when there is no room; empty means [Refuse].
	Full Policy

	// Idle is how long the box lives on, with all that is in it, when nobody
	// sends to it or reads from it; it is at least a millisecond. Zero means for
	// ever. A server whose maxmemory-policy is one of volatile-* may drop a box
	// that expires sooner, when memory is short.
	Idle time.Duration
}

func (l Limits) validate() error {
	switch {
	case l.Messages < 0 || int64(l.Messages) > store.LastExact/smallBody:
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
	l.Bytes = cmp.Or(l.Bytes, max(DefaultBytes, int64(l.Messages)*smallBody))
	l.Full = cmp.Or(l.Full, Refuse)
	return l
}

// SetLimits sets all limits of a box, which need not exist yet. A box that
// refuses keeps what it has beyond them until it is read; one that drops the
// oldest does so at once, in steps.
func (m *Client) SetLimits(ctx context.Context, box string, limits Limits) error {
	if err := limits.validate(); err != nil {
		return err
	}
	limits = limits.withDefaults()
	return m.repeat(ctx, setLimitsScript, box, limits.Messages, limits.Bytes, string(limits.Full), limits.Idle.Milliseconds())
}

// Keep drops all unread messages but the newest n, in steps: messages that come
// meanwhile are among the newest.
func (m *Client) Keep(ctx context.Context, box string, n int) error {
	if n < 0 {
		return store.Invalid("n", strconv.Itoa(n), "want how many to keep")
	}
	return m.repeat(ctx, keepScript, box, n)
}

// repeat runs a script that drops messages until it says that it is through.
func (m *Client) repeat(ctx context.Context, s *rdb.Script, box string, args ...any) error {
	for {
		a, err := m.run(ctx, s, box, args...)
		if err != nil || a.Uint(0) == 0 {
			return err
		}
	}
}
