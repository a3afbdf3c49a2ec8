package store

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"skidway/distribute/chat"
)

// Invalid returns the error for an invalid argument.
func Invalid(field, value, reason string) error {
	return &chat.InvalidError{Field: field, Value: value, Reason: reason}
}

// Corrupt returns the error for data in Redis that these packages did not write.
func Corrupt(where, reason string) error {
	return &chat.CorruptError{Where: where, Reason: reason}
}

// CheckName returns an error for a name that is not fit for keys, hash tags and
// lines of text.
func CheckName(field, name string) error { return checkWord(field, name, chat.MaxName) }

// checkWord is CheckName for at most maxBytes.
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

// CheckContent returns an error for a content that can't be sent; its body may
// have at most maxBody bytes.
func CheckContent(c *chat.Content, maxBody int) error {
	if len(c.Body) == 0 && c.URL == "" && !IsMedia(c) {
		return Invalid("body", "", "it is empty")
	}
	return checkContent(c, maxBody)
}

// checkContent is CheckContent without the check that there is something to send.
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

// IsMedia reports whether the content is an image, audio or video at its URL.
func IsMedia(c *chat.Content) bool {
	return c.Type == chat.TypeImage || c.Type == chat.TypeAudio || c.Type == chat.TypeVideo
}

// checkURL returns an error unless text is an absolute URL.
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
