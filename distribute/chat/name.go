package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the most bytes that the id of a chat or the name of a member may
// have.
const MaxName = 200

// checkName refuses names that would not fit a key, a line of text or a hash
// tag.
func checkName(field, name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > MaxName:
		reason = "it is longer than 200 bytes"
	case !utf8.ValidString(name):
		reason = "it is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "it has a control character in it"
	case strings.ContainsAny(name, "{}"):
		reason = "'{' and '}' can't be part of a name"
	default:
		return nil
	}
	return &InvalidError{Field: field, Value: name, Reason: reason}
}

// checkNames checks an id and a member together.
func checkNames(id, member string) error {
	if err := checkName("chat", id); err != nil {
		return err
	}
	return checkName("member", member)
}
