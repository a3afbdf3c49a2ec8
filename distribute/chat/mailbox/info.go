package mailbox

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat/internal/store"
)

// A State is the state of a message in a mailbox.
type State string

const (
	StateUnread  State = "unread"
	StateRead    State = "read"    // acknowledged or taken
	StateDropped State = "dropped" // unread, by the limits of the box or by Keep
	StateNotSent State = "notsent" // no message has this id yet
	StateGone    State = "gone"    // read or dropped, too long ago to know which
)

// Status returns the state of a message. A box records the last thousand messages
// that were dropped; earlier messages are [StateGone].
func (m *Client) Status(ctx context.Context, box string, id uint64) (State, error) {
	a, err := m.run(ctx, statusScript, box, strconv.FormatUint(id, 10))
	return State(a.Text(0)), err
}

// Count returns how many messages of the box are unread.
func (m *Client) Count(ctx context.Context, box string) (uint64, error) {
	a, err := m.run(ctx, infoScript, box)
	return a.Uint(0), err
}

// An Info is the state of a box.
type Info struct {
	Unread uint64
	Bytes  uint64    // of their bodies, as [Limits] counts them
	Last   uint64    // id of the newest message ever sent; 0: none
	Oldest uint64    // id of the oldest unread message; 0: none
	Since  time.Time // when that was sent; zero: there is none, or it is malformed
	Seen   time.Time // when the receiver last read, waited or acknowledged; zero: never
	Limits Limits    // with the defaults filled in
}

// Info returns the state of a box. It does not count as a visit of the receiver.
func (m *Client) Info(ctx context.Context, box string) (Info, error) {
	a, err := m.run(ctx, infoScript, box)
	if err != nil {
		return Info{}, err
	}
	info := Info{Unread: a.Uint(0), Bytes: a.Uint(1), Last: a.Uint(2), Seen: a.Time(3), Limits: parseLimits(a)}
	if info.Unread == 0 {
		return info, nil
	}
	entries, err := m.entries(ctx, box, 1, 1, store.PageBytes, func(key, _ string, n int64) *redis.XMessageSliceCmd {
		return m.boxes.XRangeN(ctx, key, "-", "+", n)
	})
	if err != nil {
		return Info{}, err
	}
	if len(entries) > 0 { // else it was read meanwhile
		oldest := store.ParseMessage(entries[0])
		info.Oldest, info.Since = oldest.ID, oldest.Time
	}
	return info, nil
}
