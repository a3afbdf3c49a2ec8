package chat

import (
	"errors"
	"fmt"
)

// Errors to match with errors.Is. The four packages below have more of their own.
var (
	// ErrNoChat: no group chat has this id. It was never created, was deleted,
	// or ended with its last member.
	ErrNoChat = errors.New("there is no such chat: create it first")

	// ErrExists: the id of a group chat, or the name of a room, is taken.
	ErrExists = errors.New("it exists already: choose another name, or join it")

	// ErrNotMember: the caller's name is not a member of the group chat.
	ErrNotMember = errors.New("not a member of this chat: join it first")

	// ErrFull: a mailbox has its maximum of messages, a conversation of unread
	// messages, or a room of people.
	ErrFull = errors.New("it is full")

	// ErrNoMessage: no message with this id can be read. It was never sent, or
	// is deleted.
	ErrNoMessage = errors.New("there is no such message")
)

// InvalidError is the error for an invalid argument.
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

// FormatError is the error for a chat that a newer release wrote, in a format
// that this one does not read.
type FormatError struct{ Version string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("it has format version %.20q, this release reads version 1: use the release that wrote it, or a newer one", e.Version)
}

// CorruptError is the error for data in Redis that these packages did not write.
type CorruptError struct {
	Where  string // a field of the chat, or the id of an entry of its log
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%.80q in Redis was not written by this program: %s", e.Where, e.Reason)
}
