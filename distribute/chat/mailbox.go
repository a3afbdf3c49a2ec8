package chat

import (
	"context"
	"fmt"
	"time"

	"skidway/internal/rdb"
)

// A Mailbox is the way to all mailboxes in one Redis. A mailbox is one
// receiver's list of messages that wait to be read; it begins with the first
// message sent to it, and one that nobody has sent to is empty. Its messages
// have ids 1, 2, 3… without gaps, and go when they are acknowledged, one by
// one. When a box is deleted, or expires, a new one of its name starts again
// with 1.
//
// A Mailbox holds no state of its own and is safe for concurrent use. Every
// method may block while Redis is away, for at most the patience that db was
// opened with.
type Mailbox struct {
	db   *rdb.DB
	keys keys
}

// NewMailbox gives the mailboxes of db, which stays the caller's to close.
func NewMailbox(db *rdb.DB) *Mailbox { return &Mailbox{db, keys{db.Prefix()}} }

// run runs a script of one box.
func (m *Mailbox) run(ctx context.Context, s script, box string, args ...any) (answer, error) {
	if err := checkName("box", box); err != nil {
		return nil, err
	}
	a, err := s.run(ctx, m.db, m.keys.mailbox(box), args...)
	if err != nil {
		return nil, fmt.Errorf("mailbox %q: %w", box, err)
	}
	return a, nil
}

// Send puts a message into the box and gives its id: one more than the one
// before. The body has at most [MaxBody] bytes. A full box drops its oldest
// messages or refuses this one, with a *[MailboxFullError] that matches
// [ErrFull]; see [Mailbox.SetLimits].
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
func (m *Mailbox) Send(ctx context.Context, box, sender string, content Content) (uint64, error) {
	if err := checkName("sender", sender); err != nil {
		return 0, err
	}
	if err := content.checkNew(MaxBody); err != nil {
		return 0, err
	}
	for {
		a, err := m.run(ctx, mailboxSendScript, box, append([]any{sender}, content.args()...)...)
		if err != nil {
			return 0, err
		}
		if id := a.number(0); id > 0 {
			return id, nil
		} // else more has to be dropped than one step may
	}
}

// Delete ends a box with all that is in it. A box that does not exist is no
// error.
func (m *Mailbox) Delete(ctx context.Context, box string) error {
	_, err := m.run(ctx, mailboxDeleteScript, box)
	return err
}

// A MailboxFullError says that a box holds as much as it may, so that the
// message was not sent. It matches [ErrFull].
type MailboxFullError struct {
	Unread uint64    // messages that wait
	Bytes  uint64    // as [MailboxLimits] counts them
	Seen   time.Time // when the receiver was last here; zero: never
}

func (e *MailboxFullError) Error() string {
	text := fmt.Sprintf("%v: %d messages wait (%d bytes), and the receiver was ", ErrFull, e.Unread, e.Bytes)
	if e.Seen.IsZero() {
		text += "never here"
	} else {
		text += "last here at " + e.Seen.UTC().Format(time.RFC3339)
	}
	return text + "; send it later, or raise the limits of the box"
}

func (e *MailboxFullError) Unwrap() error { return ErrFull }

// mailboxFull reads the refusal of a full box.
func (a answer) mailboxFull() error {
	return &MailboxFullError{Unread: a.number(1), Bytes: a.number(2), Seen: a.time(3)}
}
