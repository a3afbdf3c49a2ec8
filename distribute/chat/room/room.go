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
	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var (
	scripts = store.LoadScripts("room", luaFiles, rdb.Keys{"people", "nicks", "mutes"}, rdb.Words{
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

// keys names the keys of rooms. Names in braces are hash tags: all keys of one
// room lie on one slot of a Redis Cluster. Names of rooms have no braces.
type keys struct{ prefix string }

// all returns the keys that every script is handed: the room itself (hash), its
// log (stream), who is in it (sorted set), their nicknames (hash) and who is
// muted (sorted set).
func (k keys) all(name string) []string {
	tag := k.tag(name)
	return []string{tag, k.log(name), tag + ":people", tag + ":nicks", tag + ":mutes"}
}

func (k keys) log(name string) string { return k.tag(name) + ":log" }

func (k keys) tag(name string) string { return k.prefix + ":room:{" + name + "}" }

// Errors that callers can match with errors.Is, beside those of package chat.
var (
	// ErrNoRoom says that there is no room of this name, or that the password is
	// wrong: nobody is told which.
	ErrNoRoom = errors.New("there is no such room, or the password is wrong")

	// ErrNotInRoom says that whoever acts is not in the room: it never entered,
	// left, or neither sent nor read for so long that its presence ended.
	ErrNotInRoom = errors.New("not in this room, or silent for too long: enter it first")

	// ErrTaken says that somebody with this id is in the room.
	ErrTaken = errors.New("somebody with this id is in the room: choose another id, or let it leave first")

	// ErrMuted says that somebody may not speak in the room: see [MutedError].
	ErrMuted = errors.New("muted in this room")

	// ErrNotAllowed says that only the owner of the room, or with a message its
	// sender, may do this.
	ErrNotAllowed = errors.New("only the owner of the room may do this")
)

// MutedError says that somebody may not send to a room, or act as its owner where
// it has none. It matches [ErrMuted].
type MutedError struct {
	Until time.Time // zero: for good
}

func (e *MutedError) Error() string {
	if e.Until.IsZero() {
		return ErrMuted.Error()
	}
	return ErrMuted.Error() + " until " + e.Until.Format(time.RFC3339)
}

// Is makes it match [ErrMuted].
func (e *MutedError) Is(target error) bool { return target == ErrMuted }

// Defaults and bounds of a room.
const (
	DefaultTTL      = 2 * time.Hour   // after the last word
	DefaultPresence = 5 * time.Minute // after the last send or read
	DefaultKeep     = 1000            // messages and changes

	// MaxKeep is the most messages and changes that a room can be told to
	// keep.
	MaxKeep = 100_000

	// MaxPassword is the most bytes of a room's password.
	MaxPassword = 1024
)

// A Client reaches all rooms in one Redis. It holds no state of its own and
// is safe for concurrent use. Every method may block while Redis is away, for at
// most the patience that db was opened with.
//
// All methods but Create and Enter take a [Credential] and give [ErrNoRoom] when its
// room ended or got another password, and those that need somebody inside
// [ErrNotInRoom] when the presence ended.
type Client struct {
	db      *rdb.DB
	keys    keys
	stretch stretch
}

// New gives the rooms of db, which stays the caller's to close.
func NewClient(db *skidway.DB) *Client { return &Client{db, keys{db.Prefix()}, pbkdf2Stretch} }

// A Credential is what opens a room to somebody. It can be kept and used by other
// processes; whoever has it is that person.
type Credential struct {
	Room string
	ID   string // who it is; empty for an operator, who is nobody in the room

	// Key is what the password of the room was turned into, 64 hexadecimal
	// digits; empty where there was none. It opens the room as the password
	// does: keep it secret.
	Key string
}

// String tells whose pass it is, without the key.
func (c Credential) String() string { return fmt.Sprintf("%q in room %q", c.ID, c.Room) }

func (c *Credential) check() error {
	if err := store.CheckName("room", c.Room); err != nil {
		return err
	}
	if c.ID != "" {
		if err := store.CheckName("id", c.ID); err != nil {
			return err
		}
	}
	if c.Key != "" && (len(c.Key) != keyDigits || strings.Trim(c.Key, "0123456789abcdef") != "") {
		return store.Invalid("key", "", "it is not one that entering a room gave: it has 64 digits of 0 to 9 and a to f")
	}
	return nil
}

// run runs a script as the owner of a credential.
func (r *Client) run(ctx context.Context, s *rdb.Script, credential Credential, args ...any) (rdb.Reply, error) {
	if err := credential.check(); err != nil {
		return rdb.Reply{}, err
	}
	return r.call(ctx, s, credential.Room, append([]any{credential.ID, credential.Key}, args...)...)
}

// call runs a script of one room.
func (r *Client) call(ctx context.Context, s *rdb.Script, name string, args ...any) (rdb.Reply, error) {
	a, err := s.Run(ctx, r.db, r.keys.all(name), args...)
	if err != nil {
		return rdb.Reply{}, fmt.Errorf("room %q: %w", name, err)
	}
	return a, nil
}

// CreateOptions say what room to create. The zero value is ready to use.
type CreateOptions struct {
	TTL      time.Duration // the room ends when nobody spoke for so long; 0: DefaultTTL
	Presence time.Duration // who neither sends nor reads for so long is out; 0: DefaultPresence
	Max      int           // most people inside; 0: no limit
	Keep     int           // messages and changes of history; 0: DefaultKeep
	Password string        // "": everybody may enter; at most MaxPassword bytes
	Owner    string        // id of who may change, mute and delete; "": everybody inside
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

// Create creates a room, which ends by itself. The error is [chat.ErrExists] when
// there is one of this name. With a password it computes for a fifth of a
// second.
func (r *Client) Create(ctx context.Context, name string, options *CreateOptions) error {
	if err := store.CheckName("room", name); err != nil {
		return err
	}
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	lock, _, err := r.lock(o.Password)
	if err != nil {
		return err
	}
	_, err = r.call(ctx, createScript, name, rand.Text(), o.Owner, o.TTL.Milliseconds(),
		o.Presence.Milliseconds(), o.Max, o.Keep, lock.digest, lock.salt, lock.rounds)
	return err
}

// EnterOptions say who enters.
type EnterOptions struct {
	ID       string // unique among those inside; "" makes one
	Nick     string // how to be called, or ""
	Password string // of the room; where there is none, any will do
}

// Enter lets somebody in: [ErrTaken] when somebody with this id is inside,
// [chat.ErrFull] when there are as many as may be. A room that does not exist and a
// wrong password are the same: [ErrNoRoom], after the same work. With a
// password that is a fifth of a second of computing.
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
	if err := credential.check(); err != nil {
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

// Leave lets somebody out. Who is not inside is no error.
func (r *Client) Leave(ctx context.Context, credential Credential) error {
	_, err := r.run(ctx, leaveScript, credential)
	return err
}

// Send appends a message and gives its id: one more than the message or change
// before. It starts the room's time to live and the sender's presence anew. The
// message is a text of at most [chat.MaxText] bytes, or an image, audio or video by
// its URL. Who is muted gets a *[MutedError].
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
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

// Retract takes a message back: it disappears from the history, and those who
// have it are told by a [Retraction]. The sender may, and who may do what is the
// owner's. A message that is gone already is no error; one that was never sent
// is [chat.ErrNoMessage].
func (r *Client) Retract(ctx context.Context, credential Credential, message uint64) error {
	if message > store.LastExact {
		return fmt.Errorf("room %q: take back message %d: %w", credential.Room, message, chat.ErrNoMessage)
	}
	_, err := r.run(ctx, retractScript, credential, strconv.FormatUint(message, 10))
	return err
}

// Delete ends a room at once, with all that is in it. The owner may; see
// [ErrNotAllowed].
func (r *Client) Delete(ctx context.Context, credential Credential) error {
	_, err := r.run(ctx, deleteScript, credential, rand.Text())
	return err
}
