package chat

import (
	"errors"
	"fmt"
)

// Errors that callers can match with errors.Is. The packages of the four
// structures have more of their own.
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
)

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

// CorruptError says that something in Redis is not what these packages write
// there.
type CorruptError struct {
	Where  string // a field of the chat, or the id of an entry of its log
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%.80q in Redis was not written by this program: %s", e.Where, e.Reason)
}
