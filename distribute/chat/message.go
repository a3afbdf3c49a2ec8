package chat

import "time"

// Bounds of messages, and of what one call moves.
const (
	// MaxBody is the most bytes that the body of a message to a group or a
	// mailbox may have.
	MaxBody = 1 << 20

	// MaxText is the most bytes that the body of a message to a conversation or
	// a room may have.
	MaxText = 1 << 16

	// MaxType and MaxURL are the most bytes of a message's type and URL.
	MaxType = 64
	MaxURL  = 2048

	// MaxName is the most bytes that the id of a chat or the name of a member
	// may have.
	MaxName = 200

	// MaxMessages is the most messages that one call returns for a chat.
	MaxMessages = 500

	// DefaultMessages is how many it returns when the limit is zero.
	DefaultMessages = 100
)

// Types of messages that are known here. Any other name may be used between
// people who agree on it, except in a room.
const (
	TypeText  = "text"  // what "" means, too
	TypeImage = "image" // these three have a URL, and at most a caption as body
	TypeAudio = "audio"
	TypeVideo = "video"
)

// A Content is what a message carries. It has a body, a URL, or both.
type Content struct {
	Body []byte // any bytes
	Type string // what the message is; "" is a text
	URL  string // where to find what is too big for a message, or ""
}

// Text returns the content that is just a text.
func Text(body string) Content { return Content{Body: []byte(body)} }

// A Message is one that was sent.
type Message struct {
	ID     uint64    // 1, 2, 3… within its chat
	Sender string    // who sent it
	Time   time.Time // when Redis took it, to the millisecond
	Content

	// Err is a *[CorruptError] when the entry in Redis can't be read. The
	// other fields then hold what could be made out. Such a message is
	// skipped by acknowledging it like any other.
	Err error
}
