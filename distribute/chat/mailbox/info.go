package mailbox

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat/internal/store"
)

// A State is what became of a message in a mailbox.
type State string

const (
	StateUnread  State = "unread"
	StateRead    State = "read"    // acknowledged or taken
	StateDropped State = "dropped" // unread, by the limits of the box or by Keep
	StateNotSent State = "notsent" // the box has not given this id yet
	StateGone    State = "gone"    // read or dropped: so long ago that it is not known which
)

// Status tells what became of a message. A box knows of the latest thousand
// that were dropped; which of the messages before them were read and which
// dropped is forgotten, so that these are [StateGone].
func (m *Client) Status(ctx context.Context, box string, id uint64) (State, error) {
	a, err := m.run(ctx, statusScript, box, strconv.FormatUint(id, 10))
	return State(a.Text(0)), err
}

// Count gives how many messages of the box are unread.
func (m *Client) Count(ctx context.Context, box string) (uint64, error) {
	a, err := m.run(ctx, infoScript, box)
	return a.Uint(0), err
}

// A Info describes a box: how far behind the receiver is, and whether it
// has been here lately.
type Info struct {
	Unread uint64    // messages that wait
	Bytes  uint64    // of their bodies, as [Limits] counts them
	Last   uint64    // id of the newest message ever sent; 0: none was
	Oldest uint64    // id of the oldest unread one; 0: there is none
	Since  time.Time // when that was sent; zero: there is none, or it is damaged
	Seen   time.Time // when the receiver last read, waited or acknowledged; zero: never since the box began
	Limits Limits    // without zeros for defaults
}

// Info tells about a box. It is no visit of the receiver.
func (m *Client) Info(ctx context.Context, box string) (Info, error) {
	a, err := m.run(ctx, infoScript, box)
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Unread: a.Uint(0), Bytes: a.Uint(1), Last: a.Uint(2), Seen: a.Time(3),
		Limits: Limits{
			Messages: int(a.Uint(4)), Bytes: int64(a.Uint(5)), Full: Policy(a.Text(6)),
			Idle: time.Duration(a.Uint(7)) * time.Millisecond,
		},
	}
	if info.Unread == 0 {
		return info, nil
	}
	entries, err := m.entries(ctx, box, 1, 1, store.PageBytes, func(key, _ string, n int64) *redis.XMessageSliceCmd {
		return m.db.XRangeN(ctx, key, "-", "+", n)
	})
	if err != nil {
		return Info{}, err
	}
	if len(entries) > 0 { // else it was read in between
		oldest := store.ParseMessage(entries[0])
		info.Oldest, info.Since = oldest.ID, oldest.Time
	}
	return info, nil
}
