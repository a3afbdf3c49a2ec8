package chat

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers can match with errors.Is.
var (
	// ErrNoChat says that no group chat has this id: it was never created, was
	// deleted, or ended with its last member.
	ErrNoChat = errors.New("there is no such chat: create it first")

	// ErrExists says that the id of a group chat, or the name of a room, is
	// taken.
	ErrExists = errors.New("it exists already: choose another name, or join it")

	// ErrNotMember says that whoever acts is not in the group chat.
	ErrNotMember = errors.New("not a member of this chat: join it first")

	// ErrFull says that a mailbox holds as many messages as it may, or a
	// conversation as many that were not read, or a room as many people.
	ErrFull = errors.New("it is full")

	// ErrNoMessage says that no message with this id can be read: it was never
	// sent, or is gone.
	ErrNoMessage = errors.New("there is no such message")

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

// InvalidError says which argument can't be used, and why.
type InvalidError struct {
	Field  string // "chat", "member", "sender", "body", "type", "url", …
	Value  string // empty for a body, a password, a key
	Reason string
}

func (e *InvalidError) Error() string {
	switch e.Field {
	case "body", "password", "key": // too long, or secret
		return e.Field + ": " + e.Reason
	}
	return fmt.Sprintf("%s %.80q: %s", e.Field, e.Value, e.Reason)
}

// FormatError says that a newer release wrote this chat, in a way that this
// one does not know.
type FormatError struct{ Version string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("it has format version %.20q, this release knows version 1: use the release that wrote it, or a newer one", e.Version)
}

// CorruptError says that something in Redis is not what this package writes
// there.
type CorruptError struct {
	Where  string // a field of the chat, or the id of an entry of its log
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%.80q in Redis was not written by this program: %s", e.Where, e.Reason)
}
