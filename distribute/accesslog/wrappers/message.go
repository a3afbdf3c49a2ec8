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
	Real: []Line{
		{
			Origin: "notes on Kafka and Filebeat 7.0, GitHub, without the fields of the host",
			Text:   `{"@timestamp":"2019-04-17T09:45:22.361Z","@metadata":{"beat":"filebeat","type":"_doc","version":"7.0.0","topic":"var-logs"},"message":"127.0.0.1 - - [17/Apr/2019:09:45:19 +0000] \"GET /index.html HTTP/1.1\" 200 3700 \"-\" \"curl/7.29.0\" \"-\"","log":{"offset":505,"file":{"path":"/var/log/nginx/access.log"}},"input":{"type":"log"},"ecs":{"version":"1.0.0"}}`,
			Inner:  `127.0.0.1 - - [17/Apr/2019:09:45:19 +0000] "GET /index.html HTTP/1.1" 200 3700 "-" "curl/7.29.0" "-"`,
		},
		{
			Origin: "Financial-Times/coco-logfilter, journalctl -o json",
			Text:   `{"MESSAGE":"127.0.0.1 - - [21/Apr/2015:12:15:34 +0000] \"GET /eom-file/all/zzzz HTTP/1.1\" 200 12345 919 919"}`,
			Inner:  `127.0.0.1 - - [21/Apr/2015:12:15:34 +0000] "GET /eom-file/all/zzzz HTTP/1.1" 200 12345 919 919`,
		},
	},
	Peel: peelMessage,
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
	if !ok {
		return Record{}, false
	}
	if found == nil {
		return peelBytes(line, buffer)
	}
	text, buffer := lex.Unescape(found, buffer)
	return Record{Inner: bytes.TrimSuffix(text, []byte("\n")), Buffer: buffer}, true
}

// peelBytes reads an object of journalctl -o json whose message is no text: it is the array of its
// bytes if one of them is a control character, and null if it is too long to be written.
func peelBytes(line, buffer []byte) (Record, bool) {
	_, rest, found := bytes.Cut(line, []byte(`"MESSAGE"`))
	rest, value := bytes.CutPrefix(rest[lex.SkipSpace(rest, 0):], []byte(":"))
	if !found || !value {
		return Record{}, false
	}
	rest = rest[lex.SkipSpace(rest, 0):]
	if bytes.HasPrefix(rest, []byte("null")) {
		return Record{Buffer: buffer}, true
	}
	rest, array := bytes.CutPrefix(rest, []byte("["))
	rest, _, closed := bytes.Cut(rest, []byte("]"))
	if !array || !closed {
		return Record{}, false
	}
	for len(bytes.TrimSpace(rest)) > 0 {
		var number []byte
		number, rest, _ = bytes.Cut(rest, []byte(","))
		n := lex.Number(bytes.TrimSpace(number))
		if n < 0 || n > 0xff {
			return Record{}, false
		}
		buffer = append(buffer, byte(n))
	}
	return Record{Inner: bytes.TrimSuffix(buffer, []byte("\n")), Buffer: buffer}, true
}
