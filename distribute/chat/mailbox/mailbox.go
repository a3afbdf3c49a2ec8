package mailbox

import (
	"context"
	"embed"
	"fmt"
	"time"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var (
	scripts = store.LoadScripts("mailbox", luaFiles, rdb.Keys{"dropped", "big"}, rdb.Words{
		"boxfull": func(r rdb.Reply) error {
			return fmt.Errorf("%s: %w", r.Op, &FullError{Unread: r.Uint(0), Bytes: r.Uint(1), Seen: r.Time(2)})
		},
	})

	sendScript      = scripts.Script("send", "send a message")
	visitScript     = scripts.Idempotent("visit", "look into the mailbox")
	ackScript       = scripts.Idempotent("ack", "acknowledge messages")
	takeScript      = scripts.Script("ack", "take messages")
	statusScript    = scripts.Idempotent("status", "look for the message")
	infoScript      = scripts.Idempotent("info", "read the mailbox")
	setLimitsScript = scripts.Idempotent("set_limits", "limit the mailbox")
	keepScript      = scripts.Idempotent("keep", "drop messages")
	deleteScript    = scripts.Idempotent("delete", "delete the mailbox")
)

// keys names the keys of mailboxes. Names in braces are hash tags: all keys of
// one box lie on one slot of a Redis Cluster. Names of boxes have no braces.
type keys struct{ prefix string }

// all returns the keys that every script is handed: the box itself (hash), its
// log (stream), what was dropped of it and what in it is big (sorted sets).
func (k keys) all(box string) []string {
	tag := k.prefix + ":mail:{" + box + "}"
	return []string{tag, k.log(box), tag + ":dropped", tag + ":big"}
}

func (k keys) log(box string) string { return k.prefix + ":mail:{" + box + "}:log" }

// A Client reaches all mailboxes in one Redis. A mailbox is one
// receiver's list of messages that wait to be read; it begins with the first
// message sent to it, and one that nobody has sent to is empty. Its messages
// have ids 1, 2, 3… without gaps, and go when they are acknowledged, one by
// one. When a box is deleted, or expires, a new one of its name starts again
// with 1.
//
// A Client holds no state of its own and is safe for concurrent use. Every
// method may block while Redis is away, for at most the patience that db was
// opened with.
type Client struct {
	db   *rdb.DB
	keys keys
}

// New gives the mailboxes of db, which stays the caller's to close.
func NewClient(db *skidway.DB) *Client { return &Client{db, keys{db.Prefix()}} }

// run runs a script of one box.
func (m *Client) run(ctx context.Context, s *rdb.Script, box string, args ...any) (rdb.Reply, error) {
	if err := store.CheckName("box", box); err != nil {
		return rdb.Reply{}, err
	}
	a, err := s.Run(ctx, m.db, m.keys.all(box), args...)
	if err != nil {
		return rdb.Reply{}, fmt.Errorf("mailbox %q: %w", box, err)
	}
	return a, nil
}

// Send puts a message into the box and gives its id: one more than the one
// before. The body has at most [chat.MaxBody] bytes. A full box drops its oldest
// messages or refuses this one, with a *[FullError] that matches
// [chat.ErrFull]; see [Client.SetLimits].
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
func (m *Client) Send(ctx context.Context, box, sender string, content chat.Content) (uint64, error) {
	if err := store.CheckName("sender", sender); err != nil {
		return 0, err
	}
	if err := store.CheckContent(&content, chat.MaxBody); err != nil {
		return 0, err
	}
	for {
		a, err := m.run(ctx, sendScript, box, append([]any{sender}, store.ContentArgs(content)...)...)
		if err != nil {
			return 0, err
		}
		if id := a.Uint(0); id > 0 {
			return id, nil
		} // else more has to be dropped than one step may
	}
}

// Delete ends a box with all that is in it. A box that does not exist is no
// error.
func (m *Client) Delete(ctx context.Context, box string) error {
	_, err := m.run(ctx, deleteScript, box)
	return err
}

// A FullError says that a box holds as much as it may, so that the
// message was not sent. It matches [chat.ErrFull].
type FullError struct {
	Unread uint64    // messages that wait
	Bytes  uint64    // as [Limits] counts them
	Seen   time.Time // when the receiver was last here; zero: never
}

func (e *FullError) Error() string {
	text := fmt.Sprintf("%v: %d messages wait (%d bytes), and the receiver was ", chat.ErrFull, e.Unread, e.Bytes)
	if e.Seen.IsZero() {
		text += "never here"
	} else {
		text += "last here at " + e.Seen.UTC().Format(time.RFC3339)
	}
	return text + "; send it later, or raise the limits of the box"
}

func (e *FullError) Unwrap() error { return chat.ErrFull }
