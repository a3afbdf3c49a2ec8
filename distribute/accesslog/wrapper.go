package accesslog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A wrapper is what a container runtime, a log shipper or syslog puts around each line
// of a log. The name of a wrapped format begins with that of its wrapper:
// "docker:combined".
type wrapper struct {
	name, description, example string
	// peel takes the wrapper off a line. It may use the buffer, which is empty.
	peel func(line, buffer []byte) (peeled, bool)
}

// A WrapperInfo describes a wrapper for people.
type WrapperInfo struct{ Name, Description, Example string }

// Wrappers returns all wrappers. A name and a colon before that of a format is the format
// in the wrapper, for [ByName].
func Wrappers() []WrapperInfo {
	list := make([]WrapperInfo, len(wrappers))
	for i, w := range wrappers {
		list[i] = WrapperInfo{w.name, w.description, w.example}
	}
	return list
}

// Wrapper returns the names of the wrappers that the format's lines are in, each with a
// colon behind it; empty if there is none.
func (f Format) Wrapper() string {
	if f.inner == nil {
		return ""
	}
	return strings.TrimSuffix(f.name, f.inner.name) + f.inner.Wrapper()
}

// peeled is what a wrapper holds: a line, or a part of one.
type peeled struct {
	inner []byte // perhaps in the buffer
	// buffer is the buffer for the next line.
	buffer []byte
	// partial means that the line goes on in the next record of the stream.
	partial bool
	skip    bool  // it holds no line, nor a part of one
	binary  bool  // it is the name of a binary field, which follows
	stream  uint8 // below streams
}

const streams = 2 // standard output and standard error

// wrappers is the table of all wrappers, specific ones first.
var wrappers = [...]wrapper{
	{"docker", "Docker's json-file log driver", `{"log":"…\n","stream":"stdout","time":"2026-11-20T14:00:05.123456789Z"}`, peelDocker},
	{"cri", "containerd, CRI-O: /var/log/pods of Kubernetes", `2026-11-20T14:00:05.123456789Z stdout F …`, peelCRI},
	{"syslog", "syslog (RFC 5424, RFC 3164, rsyslog's file format)", `Nov 20 14:00:05 host nginx[1]: …`, peelSyslog},
	{"fluentd", "Fluentd's file output: time, tag, tabs between", "2026-11-20T14:00:05+01:00\ttag\t…", peelFluentd},
	{"timestamp", "a time before each line: kubectl, CloudWatch", `2026-11-20T14:00:05.123Z …`, peelTimestamp},
	{"compose", "docker compose: the name of the service and a bar", `web-1  | …`, peelCompose},
	{"journal", "journalctl -o export", "__REALTIME_TIMESTAMP=1795183205123456\nMESSAGE=…\n", peelJournal},
	{"message", "JSON with the line in message, msg, log or MESSAGE", `{"message":"…"}`, peelMessage},
}

// wrapped returns the format of lines that the wrapper holds.
func (w *wrapper) wrapped(f Format) Format {
	return Format{
		name: w.name + ":" + f.name, description: f.description, peel: w.peel, inner: &f,
		parser: func(o Options) Parser {
			p := &wrappedParser{joiner: joiner{peel: w.peel}}
			o.State = p.restore(o.State)
			p.inner = f.New(o)
			return p
		},
	}
}

// wrappedParser parses lines that a wrapper holds.
type wrappedParser struct {
	joiner
	inner Parser
}

// Parse implements [Parser].
func (p *wrappedParser) Parse(line []byte) (Record, Verdict) {
	inner, result := p.join(line)
	switch result {
	case joined:
		return p.inner.Parse(inner)
	case notWrapped: // it may be from before there was a wrapper
		return p.inner.Parse(line)
	case tooLong:
		return Record{}, Unparsable
	}
	return Record{}, NotALine
}

// Values implements [Parser].
func (p *wrappedParser) Values() *Values { return p.inner.Values() }

// Open implements [Parser].
func (p *wrappedParser) Open() bool { return p.open() || p.inner.Open() }

// Held implements [Parser].
func (p *wrappedParser) Held() bool { return p.held() && p.inner.Held() }

// Flush implements [Parser].
func (p *wrappedParser) Flush(yield func(Record, Verdict)) {
	for i := range p.streams {
		s := &p.streams[i]
		if !s.open {
			continue
		}
		record, verdict := Record{}, Unparsable
		if !s.tooLong {
			record, verdict = p.inner.Parse(s.parts)
		}
		if verdict != NotALine {
			yield(record, verdict)
		}
		*s = partStream{parts: s.parts[:0], counted: true}
	}
	if p.binary.open && p.binary.message {
		yield(Record{}, Unparsable)
	}
	p.binary.flush()
	p.inner.Flush(yield)
}

// State implements [Parser]: a letter for each stream, c where what follows of a line was
// counted, o where a line is open, b in a binary field; then the length and the parts of each
// line that is open, or the state of the field, and the state of the inner parser.
func (p *wrappedParser) State() string {
	state, parts := []byte(strings.Repeat("-", streams)), ""
	for i, s := range p.streams {
		switch {
		case s.counted:
			state[i] = 'c'
		case s.open && !p.binary.open && p.held():
			state[i] = 'o'
			parts += strconv.Itoa(len(s.parts)) + ":" + string(s.parts)
		}
	}
	if p.binary.open {
		state[0], parts = 'b', p.binary.state()
	}
	return string(state) + parts + p.inner.State()
}

// restore reads what State wrote and returns the state of the inner parser.
func (p *wrappedParser) restore(state string) string {
	if len(state) < streams {
		return ""
	}
	letters, rest := state[:streams], state[streams:]
	for i := range p.streams {
		s := &p.streams[i]
		s.counted = letters[i] == 'c'
		if letters[i] == 'o' {
			length, parts, _ := strings.Cut(rest, ":")
			n, _ := strconv.Atoi(length)
			n = min(max(n, 0), len(parts))
			s.open, s.parts, rest = true, []byte(parts[:n]), parts[n:]
		}
	}
	if letters[0] == 'b' {
		return p.binary.restore(rest)
	}
	return rest
}

// maxWrappers bounds how many wrappers hold a line.
const maxWrappers = 3

// detectWrapped returns the format of lines that are in wrappers, at most depth of them;
// and the number of lines that voted for it. ok reports whether they are. A wrapper needs
// as many votes as the lines have without it: what stands in a request may look like a line.
func detectWrapped(lines [][]byte, depth int) (format Format, votes int, ok bool) {
	if depth == 0 {
		return Format{}, 0, false
	}
	_, plain := detectPlain(lines)
	for i := range wrappers {
		inner := peelAll(wrappers[i].peel, lines)
		if len(inner) == 0 {
			continue
		}
		format, votes, ok := detectWrapped(inner, depth-1)
		if !ok {
			format, votes = detectPlain(inner)
		}
		if votes > 0 && votes >= plain {
			return wrappers[i].wrapped(format), votes, true
		}
	}
	return Format{}, 0, false
}

// peelAll returns what a wrapper holds in lines; nil if it holds less than half of those
// that are not blank.
func peelAll(peel func(line, buffer []byte) (peeled, bool), lines [][]byte) [][]byte {
	var inner [][]byte
	j := joiner{peel: peel}
	held, blank := 0, 0
	for i, line := range lines {
		if len(trimStart(line)) == 0 {
			blank++
			continue
		}
		line, result := j.join(line)
		switch result {
		case joined:
			inner = append(inner, bytes.Clone(line))
			held++
		case notWrapped:
		default:
			held++
		}
		if i+1 == voters && held == 0 {
			return nil
		}
	}
	if 2*held < len(lines)-blank {
		return nil
	}
	return inner
}

// unwrap returns the wrapper that the name of a format begins with, and the rest of the
// name; nil if it has none.
func unwrap(name string) (w *wrapper, inner string) {
	prefix, inner, found := strings.Cut(name, ":")
	if !found {
		return nil, name
	}
	i := slices.IndexFunc(wrappers[:], func(w wrapper) bool { return w.name == prefix })
	if i < 0 {
		return nil, name
	}
	return &wrappers[i], inner
}
