package chat

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
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
func (m *Mailbox) Status(ctx context.Context, box string, id uint64) (State, error) {
	a, err := m.run(ctx, mailboxStatusScript, box, strconv.FormatUint(id, 10))
	return State(a.text(0)), err
}

// Count gives how many messages of the box are unread.
func (m *Mailbox) Count(ctx context.Context, box string) (uint64, error) {
	a, err := m.run(ctx, mailboxInfoScript, box)
	return a.number(0), err
}

// A MailboxInfo describes a box: how far behind the receiver is, and whether it
// has been here lately.
type MailboxInfo struct {
	Unread uint64        // messages that wait
	Bytes  uint64        // of their bodies, as [MailboxLimits] counts them
	Last   uint64        // id of the newest message ever sent; 0: none was
	Oldest uint64        // id of the oldest unread one; 0: there is none
	Since  time.Time     // when that was sent; zero: there is none, or it is damaged
	Seen   time.Time     // when the receiver last read, waited or acknowledged; zero: never since the box began
	Limits MailboxLimits // without zeros for defaults
}

// Info tells about a box. It is no visit of the receiver.
func (m *Mailbox) Info(ctx context.Context, box string) (MailboxInfo, error) {
	a, err := m.run(ctx, mailboxInfoScript, box)
	if err != nil {
		return MailboxInfo{}, err
	}
	info := MailboxInfo{
		Unread: a.number(0), Bytes: a.number(1), Last: a.number(2), Seen: a.time(3),
		Limits: MailboxLimits{
			Messages: int(a.number(4)), Bytes: int64(a.number(5)), Full: Policy(a.text(6)),
			Idle: time.Duration(a.number(7)) * time.Millisecond,
		},
	}
	if info.Unread == 0 {
		return info, nil
	}
	entries, err := m.entries(ctx, box, 1, 1, pageBytes, func(key, _ string, n int64) *redis.XMessageSliceCmd {
		return m.db.XRangeN(ctx, key, "-", "+", n)
	})
	if err != nil {
		return MailboxInfo{}, err
	}
	if len(entries) > 0 { // else it was read in between
		oldest := parseMessage(entries[0])
		info.Oldest, info.Since = oldest.ID, oldest.Time
	}
	return info, nil
}
