package accesslog

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Where container runtimes and log shippers put the line, and its stream.
var (
	dockerKeys  = &newObjectPaths(map[Field][]string{Request: {"log"}, Host: {"stream"}, Time: {"time"}}).keys
	messageKeys = &newObjectPaths(map[Field][]string{Request: {"message", "MESSAGE", "msg", "log"}}).keys
)

func peelDocker(line, buffer []byte) (peeled, bool) {
	v, ok := objectValues(line, dockerKeys)
	if !ok || v[Request] == nil || v[Host] == nil {
		return peeled{}, false
	}
	text, buffer := unescape(v[Request], buffer)
	whole := bytes.HasSuffix(text, []byte("\n"))
	record := peeled{inner: bytes.TrimSuffix(text, []byte("\n")), buffer: buffer, partial: !whole}
	if string(v[Host]) == "stderr" {
		record.stream = 1
	}
	return record, true
}

func peelMessage(line, buffer []byte) (peeled, bool) {
	v, ok := objectValues(line, messageKeys)
	if !ok || v[Request] == nil {
		return peeled{}, false
	}
	text, buffer := unescape(v[Request], buffer)
	return peeled{inner: bytes.TrimSuffix(text, []byte("\n")), buffer: buffer}, true
}

// objectValues returns the values of an object's keys.
func objectValues(line []byte, keys *objectKeys) (v values, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return v, false
	}
	scan := objectScan{line: line, values: &v, all: true, ranks: noRanks}
	ok = scan.object(0, keys) >= 0
	return v, ok
}

// unescape returns the text of a JSON string, in the buffer if it has escapes.
func unescape(s, buffer []byte) (text, rest []byte) {
	if bytes.IndexByte(s, '\\') < 0 {
		return s, buffer
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			buffer = append(buffer, c)
			continue
		}
		i++
		switch s[i] {
		case 'n':
			buffer = append(buffer, '\n')
		case 't':
			buffer = append(buffer, '\t')
		case 'r':
			buffer = append(buffer, '\r')
		case 'u':
			r, ok := hex4(s[i+1:])
			if !ok {
				buffer = append(buffer, '\\', 'u')
				continue
			}
			buffer = utf8.AppendRune(buffer, r)
			i += 4
		default:
			buffer = append(buffer, s[i])
		}
	}
	return buffer, buffer
}

// hex4 reads the four hexadecimal digits that s starts with.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		digit := strings.IndexByte("0123456789abcdef", lower(c))
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func peelCRI(line, buffer []byte) (peeled, bool) {
	rest, ok := afterTimestamp(line)
	if !ok {
		return peeled{}, false
	}
	record := peeled{buffer: buffer}
	switch {
	case bytes.HasPrefix(rest, []byte("stdout ")):
	case bytes.HasPrefix(rest, []byte("stderr ")):
		record.stream = 1
	default:
		return peeled{}, false
	}
	rest = rest[len("stdout "):]
	if len(rest) < 2 || rest[0] != 'F' && rest[0] != 'P' || rest[1] != ' ' {
		return peeled{}, false
	}
	record.partial, record.inner = rest[0] == 'P', rest[2:]
	return record, true
}

func peelTimestamp(line, buffer []byte) (peeled, bool) {
	rest, ok := afterTimestamp(line)
	return peeled{inner: rest, buffer: buffer}, ok
}

// afterTimestamp returns what follows the time, in RFC 3339, and the blank that b starts with.
func afterTimestamp(b []byte) ([]byte, bool) {
	end := bytes.IndexByte(b[:min(len(b), len("2026-11-20T14:00:05.123456789+01:00 "))], ' ')
	if end < len("2006-01-02T15:04:05Z") || b[10] != 'T' {
		return nil, false
	}
	if _, ok := isoDate(b[:dateLen]); !ok {
		return nil, false
	}
	_, _, hasOffset, ok := clockTime(b[dateLen+1 : end])
	return b[end+1:], ok && hasOffset
}

func peelFluentd(line, buffer []byte) (peeled, bool) {
	at, rest, _ := bytes.Cut(line, []byte("\t"))
	_, inner, found := bytes.Cut(rest, []byte("\t"))
	if !found || len(at) < dateLen {
		return peeled{}, false
	}
	_, ok := isoDate(at[:dateLen])
	return peeled{inner: inner, buffer: buffer}, ok
}

func peelCompose(line, buffer []byte) (peeled, bool) {
	name, rest, found := bytes.Cut(line, []byte(" |"))
	if !found || len(name) > 200 || len(rest) > 0 && rest[0] == '|' {
		return peeled{}, false // two bars separate the fields of a layout
	}
	name = bytes.TrimRight(withoutColour(name), " ")
	if len(name) == 0 || bytes.ContainsAny(name, " \t\"[{:") || address(name).IsValid() {
		return peeled{}, false
	}
	return peeled{inner: withoutColour(bytes.TrimPrefix(rest, []byte(" "))), buffer: buffer}, true
}

// withoutColour cuts the escape sequence for a colour off the start of b, if there is one.
func withoutColour(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("\x1b[")) {
		return b
	}
	if end := bytes.IndexByte(b, 'm'); end >= 0 {
		return b[end+1:]
	}
	return b
}
