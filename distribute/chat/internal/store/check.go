package store

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"skidway/distribute/chat"
)

// Invalid returns the error for an argument that can't be used.
func Invalid(field, value, reason string) error {
	return &chat.InvalidError{Field: field, Value: value, Reason: reason}
}

// Corrupt returns the error for what these packages did not write.
func Corrupt(where, reason string) error {
	return &chat.CorruptError{Where: where, Reason: reason}
}

// CheckName refuses names that would not fit a key, a line of text or a hash
// tag.
func CheckName(field, name string) error { return checkWord(field, name, chat.MaxName) }

// CheckNames checks an id of a chat and a member together.
func CheckNames(id, member string) error {
	if err := CheckName("chat", id); err != nil {
		return err
	}
	return CheckName("member", member)
}

// checkWord is CheckName for words of at most maxBytes.
func checkWord(field, name string, maxBytes int) error {
	reason := ""
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > maxBytes:
		reason = fmt.Sprintf("it has %d bytes, more than %d", len(name), maxBytes)
	case !utf8.ValidString(name):
		reason = "it is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "it has a control character in it"
	case strings.ContainsAny(name, "{}"):
		reason = "'{' and '}' can't be part of a name"
	default:
		return nil
	}
	return Invalid(field, name, reason)
}

// CheckContent refuses what can't be sent where a body has at most maxBody
// bytes.
func CheckContent(c *chat.Content, maxBody int) error {
	if len(c.Body) == 0 && c.URL == "" && !IsMedia(c) {
		return Invalid("body", "", "it is empty")
	}
	return checkContent(c, maxBody)
}

// checkContent refuses what no message can hold.
func checkContent(c *chat.Content, maxBody int) error {
	if len(c.Body) > maxBody {
		return Invalid("body", "", fmt.Sprintf("it has %d bytes, more than %d: send the URL of where to find it instead", len(c.Body), maxBody))
	}
	if c.Type != "" {
		if err := checkWord("type", c.Type, chat.MaxType); err != nil {
			return err
		}
	}
	switch {
	case c.URL != "":
		return checkURL(c.URL)
	case IsMedia(c):
		return Invalid("type", c.Type, "a message of this type has a URL to where it is found")
	}
	return nil
}

// IsMedia reports whether the content is one that lies behind its URL.
func IsMedia(c *chat.Content) bool {
	return c.Type == chat.TypeImage || c.Type == chat.TypeAudio || c.Type == chat.TypeVideo
}

// checkURL wants an absolute URL of something that lies elsewhere.
func checkURL(text string) error {
	if len(text) > chat.MaxURL {
		return Invalid("url", text, fmt.Sprintf("it has %d bytes, more than %d", len(text), chat.MaxURL))
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Invalid("url", text, "it is not a URL")
	case u.Scheme == "" || u.Host == "" && u.Path == "":
		return Invalid("url", text, "it has to be a whole URL, such as https://example.com/a.png")
	}
	return nil
}

// ContentArgs returns the content as arguments of a script: body, type, URL.
func ContentArgs(c chat.Content) []any { return []any{c.Body, c.Type, c.URL} }
