package chat

import (
	"errors"
	"fmt"
)

// Errors that callers can match with errors.Is.
var (
	// ErrNoChat says that no chat has this id: it was never created, was
	// deleted, or ended with its last member.
	ErrNoChat = errors.New("there is no such chat: create it first")

	// ErrExists says that the id is taken.
	ErrExists = errors.New("a chat with this id exists already: choose another id, or join it")

	// ErrNotMember says that whoever acts is not in the chat.
	ErrNotMember = errors.New("not a member of this chat: join it first")
)

// InvalidError says which argument can't be used, and why.
type InvalidError struct {
	Field  string // "chat", "member", "sender", "body", "kind", "members" or "upTo"
	Value  string // empty for a body
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Field == "body" {
		return "body: " + e.Reason
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
