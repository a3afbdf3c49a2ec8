package room

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	moreKeys = rdb.Keys{"people", "nicks", "mutes"}

	scripts = store.LoadScripts("room", luaFiles, moreKeys, rdb.Words{
		"noroom":     rdb.Refusal(ErrNoRoom),
		"notinroom":  rdb.Refusal(ErrNotInRoom),
		"notallowed": rdb.Refusal(ErrNotAllowed),
		"taken":      rdb.Refusal(ErrTaken),
		"full":       rdb.Refusal(chat.ErrFull),
		"nomessage":  rdb.Refusal(chat.ErrNoMessage),
		"muted": func(r rdb.Reply) error {
			return fmt.Errorf("%s: %w", r.Op, &MutedError{Until: r.Time(0)})
		},
	})

	createScript  = scripts.Idempotent("create", "create the room")
	enterScript   = scripts.Idempotent("enter", "enter")
	leaveScript   = scripts.Idempotent("leave", "leave")
	sendScript    = scripts.Script("send", "send a message")
	readScript    = scripts.Idempotent("read", "read messages")
	infoScript    = scripts.Idempotent("info", "read the room")
	peopleScript  = scripts.Idempotent("people", "list the people")
	setScript     = scripts.Idempotent("set", "change the room")
	muteScript    = scripts.Idempotent("mute", "mute")
	retractScript = scripts.Idempotent("retract", "take a message back")
	deleteScript  = scripts.Idempotent("delete", "delete the room")
)

// keysOf returns the keys of rooms.
//
//	room:{NAME}         hash    v (format version, 1), last, trimmed and newest big position, created and dies (ms),
//	                            ttl and presence (ms), max, keep, owner, digest, salt and rounds of the password,
//	                            token (of the creation), changed (token of the last Set);
//	                            gone (token) for a minute after Delete
//	room:{NAME}:log     stream  entry N-0 is message N: sender, body, time (ms), type, url, nick;
//	                            or a retraction: retracts, by, time (ms)
//	room:{NAME}:people  zset    id → until when it is inside (ms)
//	room:{NAME}:nicks   hash    id → token of the entering, space, nickname
//	room:{NAME}:mutes   zset    id → until when it is muted (ms); 2^53 - 1: without end
func keysOf(prefix string) store.Keys { return store.Keys{Tag: prefix + ":room:", More: moreKeys} }

// Errors to match with errors.Is, beside those of package chat.
var (
	// ErrNoRoom: there is no room of this name, or the password is wrong. The
	// two are not distinguished on purpose.
	ErrNoRoom = errors.New("there is no such room, or the password is wrong")

	// ErrNotInRoom: the person is not in the room. It never entered, left, or
	// neither sent nor read for the presence time.
	ErrNotInRoom = errors.New("not in this room, or silent for too long: enter it first")

	// ErrTaken: a person with this id is in the room.
	ErrTaken = errors.New("a person with this id is in the room: choose another id, or let it leave first")

	// ErrMuted: the person may not send to the room; see [MutedError].
	ErrMuted = errors.New("muted in this room")

	// ErrNotAllowed: only the owner of the room may do this, or the sender of
	// the message.
	ErrNotAllowed = errors.New("only the owner of the room may do this")
)

// MutedError is the error for a muted person that sends to a room, or changes a
// room that has no owner. It matches [ErrMuted].
type MutedError struct {
	Until time.Time // zero: without end
}

func (e *MutedError) Error() string {
	if e.Until.IsZero() {
		return ErrMuted.Error()
	}
	return ErrMuted.Error() + " until " + e.Until.Format(time.RFC3339)
}

// Is reports whether target is [ErrMuted].
func (e *MutedError) Is(target error) bool { return target == ErrMuted }

// Defaults and bounds of a room.
const (
	DefaultTTL      = 2 * time.Hour   // after the last message
	DefaultPresence = 5 * time.Minute // after the last send or read
	DefaultKeep     = 1000            // messages and retractions

	// MaxKeep is the maximum of [CreateOptions].Keep.
	MaxKeep = 100_000

	// MaxPassword is the maximum size of a password, in bytes.
	MaxPassword = 1024
)

// A Client is for all rooms in one Redis. It has no state of its own and is safe for
// concurrent use. While Redis is unreachable every method blocks, for at most the
// patience of its database.
//
// All methods but Create and Enter need a [Credential]. If its room ended or has
// another password, they return [ErrNoRoom]; those that need a person inside return
// [ErrNotInRoom] if its presence ended.
type Client struct {
	rooms store.Chats
	kdf   kdf
}

// NewClient returns a client for the rooms of db. Closing db is left to the caller.
func NewClient(db *skidway.DB) *Client {
	return &Client{store.Chats{DB: handle.Conn(db), Keys: keysOf(db.Prefix()), Noun: "room"}, deriveKey}
}

// A Credential is the right of a person to enter a room. It can be stored and used by other
// processes. It is a secret: any process that has it acts as that person.
type Credential struct {
	Room string
	ID   string // of the person; empty for an operator, who is not in the room

	// Key is derived from the password of the room: 64 hexadecimal digits; empty
	// if there is no password. It is as secret as the password.
	Key string
}

// String returns the person and the room, without the key.
func (c Credential) String() string { return fmt.Sprintf("%q in room %q", c.ID, c.Room) }

func (c *Credential) validate() error {
	if err := store.CheckName("room", c.Room); err != nil {
		return err
	}
	if c.ID != "" {
		if err := store.CheckName("id", c.ID); err != nil {
			return err
		}
	}
	if c.Key != "" && (len(c.Key) != keyDigits || strings.Trim(c.Key, "0123456789abcdef") != "") {
		return store.Invalid("key", "", "not a key that entering a room returned: it has 64 digits of 0 to 9 and a to f")
	}
	return nil
}

// run runs a script with a credential.
func (r *Client) run(ctx context.Context, s *rdb.Script, credential Credential, args ...any) (rdb.Reply, error) {
	if err := credential.validate(); err != nil {
		return rdb.Reply{}, err
	}
	return r.rooms.Run(ctx, s, credential.Room, append([]any{credential.ID, credential.Key}, args...)...)
}

// CreateOptions are the settings of a new room. The zero value is ready to use.
type CreateOptions struct {
	TTL      time.Duration // time from the last message to the end of the room; 0: DefaultTTL
	Presence time.Duration // time without sending or reading after which a person has left; 0: DefaultPresence
	Max      int           // maximum of people inside; 0: no limit
	Keep     int           // messages and retractions that are kept; 0: DefaultKeep
	Password string        // at most MaxPassword bytes; "": none
	Owner    string        // id of the person that may change, mute and delete; "": any person inside
}

func (o *CreateOptions) withDefaults() CreateOptions {
	var options CreateOptions
	if o != nil {
		options = *o
	}
	options.TTL = cmp.Or(options.TTL, DefaultTTL)
	options.Presence = cmp.Or(options.Presence, DefaultPresence)
	options.Keep = cmp.Or(options.Keep, DefaultKeep)
	return options
}

func (o CreateOptions) validate() error {
	return errors.Join(checkSpan("ttl", o.TTL), checkSpan("presence", o.Presence), checkMax(o.Max), checkKeep(o.Keep),
		checkPassword(o.Password), checkOwner(o.Owner))
}

// Create creates a room. If there is a room of this name the error is
// [chat.ErrExists]. With a password it takes a fifth of a second of computing
// time. Nil options are the zero ones.
func (r *Client) Create(ctx context.Context, name string, options *CreateOptions) error {
	if err := store.CheckName("room", name); err != nil {
		return err
	}
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	hash, _, err := r.hashPassword(o.Password)
	if err != nil {
		return err
	}
	_, err = r.rooms.Run(ctx, createScript, name, rand.Text(), o.Owner, o.TTL.Milliseconds(),
		o.Presence.Milliseconds(), o.Max, o.Keep, hash.digest, hash.salt, hash.rounds)
	return err
}

// EnterOptions describe the person who enters.
type EnterOptions struct {
	ID       string // unique in the room; "" creates one
	Nick     string // nickname, or ""
	Password string // of the room; ignored if it has none
}

// Enter adds a person to the room and returns its credential. If a person with this
// id is inside the error is [ErrTaken], if the room is full [chat.ErrFull]. A room
// that does not exist and a wrong password are both [ErrNoRoom], after the same
// work: with a password, a fifth of a second of computing time. Nil options are the
// zero ones.
func (r *Client) Enter(ctx context.Context, name string, options *EnterOptions) (Credential, error) {
	if options == nil {
		options = &EnterOptions{}
	}
	credential := Credential{Room: name, ID: options.ID}
	if options.Nick != "" {
		if err := store.CheckName("nick", options.Nick); err != nil {
			return Credential{}, err
		}
	}
	if err := credential.validate(); err != nil {
		return Credential{}, err
	}
	var err error
	if credential.Key, err = r.Key(ctx, name, options.Password); err != nil {
		return Credential{}, err
	}
	for {
		if options.ID == "" {
			credential.ID = strings.ToLower(rand.Text()[:8])
		}
		_, err := r.run(ctx, enterScript, credential, options.Nick, rand.Text())
		switch {
		case err == nil:
			return credential, nil
		case options.ID != "" || !errors.Is(err, ErrTaken):
			return Credential{}, err
		}
	}
}

// Leave removes a person from the room. It is no error if it is not inside.
func (r *Client) Leave(ctx context.Context, credential Credential) error {
	_, err := r.run(ctx, leaveScript, credential)
	return err
}

// Send appends a message and returns its id: one more than that of the message or
// retraction before. It starts the room's time to live and the sender's presence
// time again. The message is a text of at most [chat.MaxText] bytes, or an image,
// audio or video by its URL. For a muted person the error is a *[MutedError].
//
// If the reply of Redis was lost, the error is a *skidway.OutcomeUnknownError: the
// message may have been sent, and sending it again may send it twice.
func (r *Client) Send(ctx context.Context, credential Credential, content chat.Content) (uint64, error) {
	if err := checkContent(&content); err != nil {
		return 0, err
	}
	a, err := r.run(ctx, sendScript, credential, store.ContentArgs(content)...)
	if err != nil {
		return 0, err
	}
	return a.Uint(0), nil
}

// Retract deletes a message from the history and adds a [Retraction] for readers that
// have read it. The sender may call it, and a person who may call [Client.Set]. It
// is no error if the message is already deleted; one that was never sent is
// [chat.ErrNoMessage].
func (r *Client) Retract(ctx context.Context, credential Credential, message uint64) error {
	if message > store.LastExact {
		return fmt.Errorf("room %q: retract message %d: %w", credential.Room, message, chat.ErrNoMessage)
	}
	_, err := r.run(ctx, retractScript, credential, strconv.FormatUint(message, 10))
	return err
}

// Delete deletes a room with its messages. A person who may call [Client.Set]
// may call it.
func (r *Client) Delete(ctx context.Context, credential Credential) error {
	_, err := r.run(ctx, deleteScript, credential, rand.Text())
	return err
}
