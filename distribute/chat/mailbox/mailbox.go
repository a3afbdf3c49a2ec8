package mailbox

import (
	"context"
	"embed"
	"fmt"
	"time"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var (
	moreKeys = rdb.Keys{"dropped", "big"}

	scripts = store.LoadScripts("mailbox", luaFiles, moreKeys, rdb.Words{
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

// keysOf returns the keys of mailboxes.
//
//	mail:{BOX}          hash    v (format version, 1), last (id), born (µs), seen (ms of the receiver's last visit),
//	                            messages, bytes, full, idle (the limits), held (bytes of big bodies), forgotten (id)
//	mail:{BOX}:log      stream  entry N-0 is message N, while it is unread: sender, body, time (ms), type, url
//	mail:{BOX}:dropped  zset    the newest 1,000 ids that were dropped unread; forgotten is the highest one before them
//	mail:{BOX}:big      zset    'id-bytes' of the unread messages with a body above 1 KiB
func keysOf(prefix string) store.Keys { return store.Keys{Tag: prefix + ":mail:", More: moreKeys} }

// A Client is for all mailboxes in one Redis. It has no state of its own and is
// safe for concurrent use. While Redis is unreachable every method blocks, for at
// most the patience of its database.
type Client struct{ boxes store.Chats }

// NewClient returns a client for the mailboxes of db. Closing db is left to the
// caller.
func NewClient(db *skidway.DB) *Client {
	return &Client{store.Chats{DB: handle.Conn(db), Keys: keysOf(db.Prefix()), Noun: "mailbox"}}
}

// run runs a script of one box.
func (m *Client) run(ctx context.Context, s *rdb.Script, box string, args ...any) (rdb.Reply, error) {
	if err := store.CheckName("box", box); err != nil {
		return rdb.Reply{}, err
	}
	return m.boxes.Run(ctx, s, box, args...)
}

// Send adds a message to the box and returns its id: one more than the one before.
// The body may have [chat.MaxBody] bytes. A full box drops its oldest messages or
// refuses this one, with a *[FullError] that matches [chat.ErrFull]; see
// [Client.SetLimits].
//
// If the reply of Redis was lost, the error is a *skidway.OutcomeUnknownError: the
// message may have been sent, and sending it again may send it twice.
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
		} // else there is more to drop than one step may
	}
}

// Delete deletes a box with its messages. It is no error if it does not exist.
func (m *Client) Delete(ctx context.Context, box string) error {
	_, err := m.run(ctx, deleteScript, box)
	return err
}

// A FullError is the error for a message that a full box refuses. It matches
// [chat.ErrFull].
type FullError struct {
	Unread uint64
	Bytes  uint64    // as [Limits] counts them
	Seen   time.Time // last visit of the receiver; zero: never
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
