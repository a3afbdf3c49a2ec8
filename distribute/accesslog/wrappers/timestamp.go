package wrappers

import (
	"bytes"

	"skidway/distribute/accesslog/internal/lex"
)

// timestamp is a time in RFC 3339 before each line.
var timestamp = Wrapper{
	Name:          "timestamp",
	Description:   "a time before each line: kubectl, CloudWatch",
	Specification: "https://www.rfc-editor.org/rfc/rfc3339",
	Example:       `2026-11-20T14:00:05.123Z …`,
	Real: []Line{{
		Origin: "openSUSE/supportutils, pull request 197",
		Text:   `2024-04-09T17:33:12.238986028Z nginx: [emerg] host not found in upstream in /etc/nginx/conf.d/proxy.conf:6`,
		Inner:  `nginx: [emerg] host not found in upstream in /etc/nginx/conf.d/proxy.conf:6`,
	}},
	Peel: peelTimestamp,
}

func peelTimestamp(line, buffer []byte) (Record, bool) {
	rest, ok := afterTimestamp(line)
	return Record{Inner: rest, Buffer: buffer}, ok
}

// afterTimestamp returns what follows the time, in RFC 3339, and the blank that b starts with.
func afterTimestamp(b []byte) ([]byte, bool) {
	end := bytes.IndexByte(b[:min(len(b), len("2026-11-20T14:00:05.123456789+01:00 "))], ' ')
	if end < len("2006-01-02T15:04:05Z") || b[10] != 'T' {
		return nil, false
	}
	if _, ok := lex.ISODate(b[:lex.DateLen]); !ok {
		return nil, false
	}
	_, _, hasOffset, ok := lex.ClockTime(b[lex.DateLen+1 : end])
	return b[end+1:], ok && hasOffset
}
