package wrappers

import (
	"bytes"

	"skidway/distribute/accesslog/internal/lex"
)

// docker is what Docker's json-file driver writes: a line in parts, of which the last one ends
// with a newline.
var docker = Wrapper{
	Name:          "docker",
	Description:   "Docker's json-file log driver",
	Specification: "https://docs.docker.com/engine/logging/drivers/json-file/",
	Example:       `{"log":"…\n","stream":"stdout","time":"2026-11-20T14:00:05.123456789Z"}`,
	Real: []Line{{
		Origin: "notes on the log of an nginx container, GitHub",
		Text:   `{"log":"172.17.0.1 - - [10/Sep/2025:09:45:33 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl/8.5.0\" \"-\"\n","stream":"stdout","time":"2025-09-10T09:45:33.995202795Z"}`,
		Inner:  `172.17.0.1 - - [10/Sep/2025:09:45:33 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8.5.0" "-"`,
	}},
	Peel: peelDocker,
}

func peelDocker(line, buffer []byte) (Record, bool) {
	var log, stream []byte
	ok := lex.Members(line, func(key, value []byte) {
		switch {
		case string(key) == "log" && log == nil:
			log = value
		case string(key) == "stream" && stream == nil:
			stream = value
		}
	})
	if !ok || log == nil || stream == nil {
		return Record{}, false
	}
	text, buffer := lex.Unescape(log, buffer)
	whole := bytes.HasSuffix(text, []byte("\n"))
	record := Record{Inner: bytes.TrimSuffix(text, []byte("\n")), Buffer: buffer, Partial: !whole}
	if string(stream) == "stderr" {
		record.Stream = 1
	}
	return record, true
}
