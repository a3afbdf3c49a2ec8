package wrappers

import (
	"bytes"

	"skidway/distribute/accesslog/internal/lex"
)

// syslog is a header of RFC 5424, RFC 3164 or rsyslog's file format.
var syslog = Wrapper{
	Name:          "syslog",
	Description:   "syslog (RFC 5424, RFC 3164, rsyslog's file format)",
	Specification: "https://www.rfc-editor.org/rfc/rfc5424",
	Example:       `Nov 20 14:00:05 host nginx[1]: …`,
	Real: []Line{
		{
			Origin: "crowdsecurity/hub, issue 69",
			Text:   `Mar 12 06:56:29 ec2-proxy haproxy[23481]: 22.118.26.10:10285 [12/Mar/2021:06:56:28.088] fe-verify~ maskurl/dns 0/0/0/1263/1264 200 20602 - - ---- 19/19/3/4/0 0/0 "GET / HTTP/1.1"`,
			Inner:  `22.118.26.10:10285 [12/Mar/2021:06:56:28.088] fe-verify~ maskurl/dns 0/0/0/1263/1264 200 20602 - - ---- 19/19/3/4/0 0/0 "GET / HTTP/1.1"`,
		},
		{
			Origin: "logstash-plugins/logstash-input-syslog, issue 13, HAProxy, which writes no host",
			Text:   `<168>Mar 10 10:02:57 haproxy[2329]: backend 01-sc-backend has no server available!`,
			Inner:  `backend 01-sc-backend has no server available!`,
		},
		{
			Origin: "NethServer/nethsecurity, issue 897, the host written twice",
			Text:   `Nov 11 14:07:18 NSec8-VM-davidem nsec8-vm-davidem nginx: 192.168.56.1 - - [11/Nov/2024:14:07:18 +0000] "GET /api/refresh HTTP/1.1" 200 254 "https://192.168.56.104:9090/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"`,
			Inner:  `192.168.56.1 - - [11/Nov/2024:14:07:18 +0000] "GET /api/refresh HTTP/1.1" 200 254 "https://192.168.56.104:9090/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"`,
		},
	},
	Peel: peelSyslog,
}

// peelSyslog takes a header of RFC 3164, RFC 5424 or rsyslog's file format off a line.
func peelSyslog(line, buffer []byte) (Record, bool) {
	rest := line
	if len(rest) > 0 && rest[0] == '<' {
		end := bytes.IndexByte(rest[:min(len(rest), len("<191>"))], '>')
		if end < 2 || lex.Number(rest[1:end]) < 0 {
			return Record{}, false
		}
		rest = rest[end+1:]
		if after, ok := bytes.CutPrefix(rest, []byte("1 ")); ok {
			rest, ok = afterRFC5424(after)
			return Record{Inner: rest, Buffer: buffer}, ok
		}
	}
	maxWords := 2
	after, ok := afterTimestamp(rest)
	if !ok {
		maxWords = 3
		if after, ok = afterBSDTime(rest); !ok {
			return Record{}, false
		}
	}
	head, message, ended := bytes.Cut(after, []byte(": "))
	if !ended || !isSyslogHead(head, maxWords) {
		return Record{}, false
	}
	return Record{Inner: message, Buffer: buffer}, true
}

// isSyslogHead reports whether a text may stand between time and message: the tag, before it perhaps the
// host's name, and between these, behind a time of RFC 3164, the priority (BusyBox) or a second name (a server
// that writes its own).
func isSyslogHead(head []byte, maxWords int) bool {
	return len(head) > 0 && bytes.Count(head, []byte(" ")) < maxWords && bytes.IndexByte(head, '"') < 0
}

// afterBSDTime returns what follows the time of RFC 3164, such as "Nov  2 14:00:05 ", in which
// journalctl -o short-precise has a fraction of the second.
func afterBSDTime(b []byte) ([]byte, bool) {
	const date, seconds, precise = len("Nov 20 "), len("Nov 20 14:00:05"), len("Nov 20 14:00:05.123456 ")
	if len(b) <= seconds || lex.MonthNumber(b[:3]) == 0 || b[3] != ' ' || b[6] != ' ' {
		return nil, false
	}
	end := bytes.IndexByte(b[seconds:min(len(b), precise)], ' ') + seconds
	if _, _, _, ok := lex.ClockTime(b[date:end]); end < seconds || !ok || lex.Number(bytes.TrimLeft(b[4:6], " ")) < 0 {
		return nil, false
	}
	return b[end+1:], true
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
		for end < len(b) && (b[end] != ']' || lex.IsEscaped(b, end)) {
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
