package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skidway/internal/rdb"
)

// Defaults and bounds of a room.
const (
	DefaultRoomTTL      = 2 * time.Hour   // after the last word
	DefaultRoomPresence = 5 * time.Minute // after the last send or read
	DefaultRoomKeep     = 1000            // messages and changes

	// MaxRoomKeep is the most messages and changes that a room can be told to
	// keep.
	MaxRoomKeep = 100_000

	// MaxPassword is the most bytes of a room's password.
	MaxPassword = 1024
)

// A Room is the way to all rooms in one Redis. It holds no state of its own and
// is safe for concurrent use. Every method may block while Redis is away, for at
// most the patience that db was opened with.
//
// All methods but Create and Enter take a [Pass] and give [ErrNoRoom] when its
// room ended or got another password, and those that need somebody inside
// [ErrNotInRoom] when the presence ended.
type Room struct {
	db      *rdb.DB
	keys    keys
	stretch stretch
}

// NewRoom gives the rooms of db, which stays the caller's to close.
func NewRoom(db *rdb.DB) *Room { return &Room{db, keys{db.Prefix()}, pbkdf2Stretch} }

// A Pass is what opens a room to somebody. It can be kept and used by other
// processes; whoever has it is that person.
type Pass struct {
	Room string
	ID   string // who it is; empty for an operator, who is nobody in the room

	// Key is what the password of the room was turned into, 64 hexadecimal
	// digits; empty where there was none. It opens the room as the password
	// does: keep it secret.
	Key string
}

// String tells whose pass it is, without the key.
func (p Pass) String() string { return fmt.Sprintf("%q in room %q", p.ID, p.Room) }

func (p *Pass) check() error {
	if err := checkName("room", p.Room); err != nil {
		return err
	}
	if p.ID != "" {
		if err := checkName("id", p.ID); err != nil {
			return err
		}
	}
	if p.Key != "" && (len(p.Key) != keyDigits || strings.Trim(p.Key, "0123456789abcdef") != "") {
		return &InvalidError{"key", "", "it is not one that entering a room gave: it has 64 digits of 0 to 9 and a to f"}
	}
	return nil
}

// run runs a script as the owner of a pass.
func (r *Room) run(ctx context.Context, s script, pass Pass, args ...any) (answer, error) {
	if err := pass.check(); err != nil {
		return nil, err
	}
	return r.call(ctx, s, pass.Room, append([]any{pass.ID, pass.Key}, args...)...)
}

// call runs a script of one room.
func (r *Room) call(ctx context.Context, s script, name string, args ...any) (answer, error) {
	a, err := s.run(ctx, r.db, r.keys.room(name), args...)
	if err != nil {
		return nil, fmt.Errorf("room %q: %w", name, err)
	}
	return a, nil
}

// RoomOptions say what room to create. The zero value is ready to use.
type RoomOptions struct {
	TTL      time.Duration // the room ends when nobody spoke for so long; 0: DefaultRoomTTL
	Presence time.Duration // who neither sends nor reads for so long is out; 0: DefaultRoomPresence
	Max      int           // most people inside; 0: no limit
	Keep     int           // messages and changes of history; 0: DefaultRoomKeep
	Password string        // "": everybody may enter; at most MaxPassword bytes
	Owner    string        // id of who may change, mute and delete; "": everybody inside
}

func (o *RoomOptions) check() error {
	if o.TTL == 0 {
		o.TTL = DefaultRoomTTL
	}
	if o.Presence == 0 {
		o.Presence = DefaultRoomPresence
	}
	if o.Keep == 0 {
		o.Keep = DefaultRoomKeep
	}
	return errors.Join(checkSpan("ttl", o.TTL), checkSpan("presence", o.Presence), checkMax(o.Max), checkKeep(o.Keep),
		checkPassword(o.Password), checkOwner(o.Owner))
}

// Create creates a room, which ends by itself. The error is [ErrExists] when
// there is one of this name. With a password it computes for a fifth of a
// second.
func (r *Room) Create(ctx context.Context, name string, options RoomOptions) error {
	if err := checkName("room", name); err != nil {
		return err
	}
	if err := options.check(); err != nil {
		return err
	}
	lock, _, err := r.lock(options.Password)
	if err != nil {
		return err
	}
	_, err = r.call(ctx, roomCreateScript, name, rand.Text(), options.Owner, options.TTL.Milliseconds(),
		options.Presence.Milliseconds(), options.Max, options.Keep, lock.digest, lock.salt, lock.rounds)
	return err
}

// EnterOptions say who enters.
type EnterOptions struct {
	ID       string // unique among those inside; "" makes one
	Nick     string // how to be called, or ""
	Password string // of the room; where there is none, any will do
}

// Enter lets somebody in: [ErrTaken] when somebody with this id is inside,
// [ErrFull] when there are as many as may be. A room that does not exist and a
// wrong password are the same: [ErrNoRoom], after the same work. With a
// password that is a fifth of a second of computing.
func (r *Room) Enter(ctx context.Context, name string, options EnterOptions) (Pass, error) {
	pass := Pass{Room: name, ID: options.ID}
	if options.Nick != "" {
		if err := checkName("nick", options.Nick); err != nil {
			return Pass{}, err
		}
	}
	if err := pass.check(); err != nil {
		return Pass{}, err
	}
	var err error
	if pass.Key, err = r.Key(ctx, name, options.Password); err != nil {
		return Pass{}, err
	}
	for {
		if options.ID == "" {
			pass.ID = strings.ToLower(rand.Text()[:8])
		}
		_, err := r.run(ctx, roomEnterScript, pass, options.Nick, rand.Text())
		switch {
		case err == nil:
			return pass, nil
		case options.ID != "" || !errors.Is(err, ErrTaken):
			return Pass{}, err
		}
	}
}

// Leave lets somebody out. Who is not inside is no error.
func (r *Room) Leave(ctx context.Context, pass Pass) error {
	_, err := r.run(ctx, roomLeaveScript, pass)
	return err
}

// Send appends a message and gives its id: one more than the message or change
// before. It starts the room's time to live and the sender's presence anew. The
// message is a text of at most [MaxText] bytes, or an image, audio or video by
// its URL. Who is muted gets a *[MutedError].
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
func (r *Room) Send(ctx context.Context, pass Pass, content Content) (uint64, error) {
	if err := checkRoomContent(&content); err != nil {
		return 0, err
	}
	a, err := r.run(ctx, roomSendScript, pass, content.args()...)
	if err != nil {
		return 0, err
	}
	return a.number(0), nil
}

// Retract takes a message back: it disappears from the history, and those who
// have it are told by a [Retraction]. The sender may, and who may do what is the
// owner's. A message that is gone already is no error; one that was never sent
// is [ErrNoMessage].
func (r *Room) Retract(ctx context.Context, pass Pass, message uint64) error {
	if message > lastExact {
		return fmt.Errorf("room %q: take back message %d: %w", pass.Room, message, ErrNoMessage)
	}
	_, err := r.run(ctx, roomRetractScript, pass, strconv.FormatUint(message, 10))
	return err
}

// Delete ends a room at once, with all that is in it. The owner may; see
// [ErrNotAllowed].
func (r *Room) Delete(ctx context.Context, pass Pass) error {
	_, err := r.run(ctx, roomDeleteScript, pass, rand.Text())
	return err
}
