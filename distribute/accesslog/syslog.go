package accesslog

import "bytes"

// peelSyslog takes a header of RFC 3164, RFC 5424 or rsyslog's file format off a line.
func peelSyslog(line, buffer []byte) (peeled, bool) {
	rest := line
	if len(rest) > 0 && rest[0] == '<' {
		end := bytes.IndexByte(rest[:min(len(rest), len("<191>"))], '>')
		if end < 2 || number(rest[1:end]) < 0 {
			return peeled{}, false
		}
		rest = rest[end+1:]
		if after, ok := bytes.CutPrefix(rest, []byte("1 ")); ok {
			rest, ok = afterRFC5424(after)
			return peeled{inner: rest, buffer: buffer}, ok
		}
	}
	after, ok := afterTimestamp(rest)
	if !ok {
		if after, ok = afterBSDTime(rest); !ok {
			return peeled{}, false
		}
	}
	_, after, found := bytes.Cut(after, []byte(" ")) // the host's name
	tag, message, ended := bytes.Cut(after, []byte(": "))
	if !found || !ended || bytes.ContainsAny(tag, " \"") {
		return peeled{}, false
	}
	return peeled{inner: message, buffer: buffer}, true
}

// afterBSDTime returns what follows the time of RFC 3164, such as "Nov  2 14:00:05 ".
func afterBSDTime(b []byte) ([]byte, bool) {
	const length = len("Nov 20 14:00:05 ")
	if len(b) < length || monthNumber(b[:3]) == 0 || b[3] != ' ' || b[6] != ' ' || b[length-1] != ' ' {
		return nil, false
	}
	if _, _, _, ok := clockTime(b[7 : length-1]); !ok || number(bytes.TrimLeft(b[4:6], " ")) < 0 {
		return nil, false
	}
	return b[length:], true
}

// afterRFC5424 returns the message of RFC 5424, which follows time, host, program,
// process, identifier and structured data.
func afterRFC5424(b []byte) ([]byte, bool) {
	for range 5 {
		_, after, found := bytes.Cut(b, []byte(" "))
		if !found {
			return nil, false
		}
		b = after
	}
	for len(b) > 0 && b[0] == '[' { // a ] in a value is escaped
		end := 1
		for end < len(b) && (b[end] != ']' || isEscaped(b, end)) {
			end++
		}
		if end == len(b) {
			return nil, false
		}
		b = b[end+1:]
	}
	b = bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("-")), []byte(" "))
	return bytes.TrimPrefix(b, []byte("\ufeff")), true
}
