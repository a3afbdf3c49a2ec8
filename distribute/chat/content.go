package chat

import (
	"fmt"
	"net/url"
)

// Bounds of a message.
const (
	// MaxBody is the most bytes that the body of a message to a [Group] or a
	// [Mailbox] may have.
	MaxBody = 1 << 20

	// MaxText is the most bytes that the body of a message to a [Conversation]
	// or a [Room] may have.
	MaxText = 1 << 16

	// MaxType and MaxURL are the most bytes of a message's type and URL.
	MaxType = 64
	MaxURL  = 2048
)

// Types of messages that this package knows. Any other name may be used
// between people who agree on it, except in a [Room].
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

// Text gives the content that is just a text.
func Text(body string) Content { return Content{Body: []byte(body)} }

// media reports whether the content is one that lies behind its URL.
func (c *Content) media() bool {
	return c.Type == TypeImage || c.Type == TypeAudio || c.Type == TypeVideo
}

// checkNew refuses what can't be sent where a body has at most maxBody bytes.
func (c *Content) checkNew(maxBody int) error {
	if len(c.Body) == 0 && c.URL == "" && !c.media() {
		return &InvalidError{Field: "body", Reason: "it is empty"}
	}
	return c.check(maxBody)
}

// check refuses what no message can hold.
func (c *Content) check(maxBody int) error {
	if len(c.Body) > maxBody {
		return &InvalidError{Field: "body", Reason: fmt.Sprintf("it has %d bytes, more than %d: send the URL of where to find it instead", len(c.Body), maxBody)}
	}
	if c.Type != "" {
		if err := checkWord("type", c.Type, MaxType); err != nil {
			return err
		}
	}
	switch {
	case c.URL != "":
		return checkURL(c.URL)
	case c.media():
		return &InvalidError{"type", c.Type, "a message of this type has a URL to where it is found"}
	}
	return nil
}

// checkURL wants an absolute URL of something that lies elsewhere.
func checkURL(text string) error {
	if len(text) > MaxURL {
		return &InvalidError{"url", text, fmt.Sprintf("it has %d bytes, more than %d", len(text), MaxURL)}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return &InvalidError{"url", text, "it is not a URL"}
	case u.Scheme == "" || u.Host == "" && u.Path == "":
		return &InvalidError{"url", text, "it has to be a whole URL, such as https://example.com/a.png"}
	}
	return nil
}

// args gives the content as arguments of a script: body, type, url.
func (c *Content) args() []any { return []any{c.Body, c.Type, c.URL} }
