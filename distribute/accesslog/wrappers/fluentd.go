package wrappers

import (
	"bytes"

	"skidway/distribute/accesslog/internal/lex"
)

// fluentd is what Fluentd's output to files writes.
var fluentd = Wrapper{
	Name:          "fluentd",
	Description:   "Fluentd's file output: time, tag, tabs between",
	Specification: "https://docs.fluentd.org/formatter/out_file",
	Example:       "2026-11-20T14:00:05+01:00\ttag\t…",
	Real: []Line{{
		Origin: "Fluentd documentation, out_file",
		Text:   "2014-06-08T23:59:40\tfile.server.logs\t" + `{"field1":"value1","field2":"value2"}`,
		Inner:  `{"field1":"value1","field2":"value2"}`,
	}},
	Peel: peelFluentd,
}

func peelFluentd(line, buffer []byte) (Record, bool) {
	at, rest, _ := bytes.Cut(line, []byte("\t"))
	_, inner, found := bytes.Cut(rest, []byte("\t"))
	if !found || len(at) < lex.DateLen {
		return Record{}, false
	}
	_, ok := lex.ISODate(at[:lex.DateLen])
	return Record{Inner: inner, Buffer: buffer}, ok
}
