package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the most bytes that the id of a chat or the name of a member may
// have.
const MaxName = 200

// checkName refuses names that would not fit a key, a line of text or a hash
// tag.
func checkName(field, name string) error { return checkWord(field, name, MaxName) }

// checkWord is checkName for words that have at most this many bytes.
func checkWord(field, name string, most int) error {
	reason := ""
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > most:
		reason = fmt.Sprintf("it has %d bytes, more than %d", len(name), most)
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
