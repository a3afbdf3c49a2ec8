package chat

import "time"

// Bounds of messages and of single calls.
const (
	// MaxBody is the maximum size of the body of a message to a group or a
	// mailbox, in bytes.
	MaxBody = 1 << 20

	// MaxText is the maximum size of the body of a message to a conversation or
	// a room, in bytes.
	MaxText = 1 << 16

	// MaxType and MaxURL are the maximum sizes of a type and a URL, in bytes.
	MaxType = 64
	MaxURL  = 2048

	// MaxName is the maximum size of the id of a chat and the name of a member,
	// in bytes.
	MaxName = 200

	// MaxMessages bounds the messages of one chat that a call returns.
	MaxMessages = 500

	// DefaultMessages is the bound if the limit is zero.
	DefaultMessages = 100
)

// Known types of messages. Except in a room, applications may use any other name.
const (
	TypeText  = "text"  // the same as ""
	TypeImage = "image" // these three have a URL, and may have a caption as body
	TypeAudio = "audio"
	TypeVideo = "video"
)

// A Content is the payload of a message. It has a body, a URL, or both.
type Content struct {
	Body []byte // any bytes
	Type string // "" is TypeText
	URL  string // of data that is too large for a message, or ""
}

// Text returns a content that is a text.
func Text(body string) Content { return Content{Body: []byte(body)} }

// A Message is a message that was sent.
type Message struct {
	ID     uint64 // 1, 2, 3… within its chat
	Sender string
	Time   time.Time // when Redis stored it, in whole milliseconds
	Content

	// Origin distinguishes the mailbox of the message from earlier and later ones of the
	// name, which have messages with the same ids. It is empty for other chats.
	Origin string

	// Err is a *[CorruptError] if the entry in Redis can't be parsed. The other
	// fields then have the parts that could be. To skip such a message,
	// acknowledge it like any other.
	Err error
}
