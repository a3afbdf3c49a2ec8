package wrappers

import (
	"bytes"
	"slices"

	"skidway/distribute/accesslog/internal/lex"
)

// message is a JSON object as Filebeat, Vector, Fluentd and journalctl -o json write it.
var message = Wrapper{
	Name:          "message",
	Description:   "JSON with the line in message, msg, log or MESSAGE",
	Specification: "https://www.elastic.co/docs/reference/ecs/ecs-base",
	Example:       `{"message":"…"}`,
	Peel:          peelMessage,
}

// messageKeys are the keys of the line, better ones first.
var messageKeys = []string{"message", "MESSAGE", "msg", "log"}

func peelMessage(line, buffer []byte) (Record, bool) {
	var found []byte
	best := len(messageKeys)
	ok := lex.Members(line, func(key, value []byte) {
		rank := slices.Index(messageKeys[:best], string(key))
		if rank >= 0 && value != nil {
			found, best = value, rank
		}
	})
	if !ok || found == nil {
		return Record{}, false
	}
	text, buffer := lex.Unescape(found, buffer)
	return Record{Inner: bytes.TrimSuffix(text, []byte("\n")), Buffer: buffer}, true
}
