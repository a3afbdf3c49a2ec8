package accesslog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"skidway/distribute/accesslog/wrappers"
)

// Wrappers returns all wrappers. The name of one and a colon before that of a format is the format
// in the wrapper, for [ByName].
func Wrappers() []wrappers.Wrapper { return slices.Clone(wrappers.All[:]) }

// Wrapper returns the names of the wrappers that the format's lines are in, each with a
// colon behind it; empty if there is none.
func (f Format) Wrapper() string {
	if f.inner == nil {
		return ""
	}
	return strings.TrimSuffix(f.name, f.inner.name) + f.inner.Wrapper()
}

// wrapped returns the format of lines that the wrapper holds.
func wrapped(w *wrappers.Wrapper, f Format) Format {
	return Format{
		name: w.Name + ":" + f.name, description: f.description, peel: w.Peel, inner: &f,
		parser: func(o Options) Parser {
			p := &wrappedParser{joiner: joiner{peel: w.Peel}}
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
	if p.binary.Open && p.binary.Message {
		yield(Record{}, Unparsable)
	}
	p.binary.Flush()
	p.inner.Flush(yield)
}

// State implements [Parser]: a letter for each stream, c where what follows of a line was
// counted, o where a line is open, b in a binary field; then the length and the parts of each
// line that is open, or the state of the field, and the state of the inner parser.
func (p *wrappedParser) State() string {
	state, parts := []byte(strings.Repeat("-", wrappers.Streams)), ""
	for i, s := range p.streams {
		switch {
		case s.counted:
			state[i] = 'c'
		case s.open && !p.binary.Open && p.held():
			state[i] = 'o'
			parts += strconv.Itoa(len(s.parts)) + ":" + string(s.parts)
		}
	}
	if p.binary.Open {
		state[0], parts = 'b', p.binary.State()
	}
	return string(state) + parts + p.inner.State()
}

// restore reads what State wrote and returns the state of the inner parser.
func (p *wrappedParser) restore(state string) string {
	if len(state) < wrappers.Streams {
		return ""
	}
	letters, rest := state[:wrappers.Streams], state[wrappers.Streams:]
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
		return p.binary.Restore(rest)
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
	for i := range wrappers.All {
		inner := peelAll(wrappers.All[i].Peel, lines)
		if len(inner) == 0 {
			continue
		}
		format, votes, ok := detectWrapped(inner, depth-1)
		if !ok {
			format, votes = detectPlain(inner)
		}
		if votes > 0 && votes >= plain {
			return wrapped(&wrappers.All[i], format), votes, true
		}
	}
	return Format{}, 0, false
}

// peelAll returns what a wrapper holds in lines; nil if it holds less than half of those
// that are not blank.
func peelAll(peel func(line, buffer []byte) (wrappers.Record, bool), lines [][]byte) [][]byte {
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
func unwrap(name string) (w *wrappers.Wrapper, inner string) {
	prefix, inner, found := strings.Cut(name, ":")
	if !found {
		return nil, name
	}
	i := slices.IndexFunc(wrappers.All[:], func(w wrappers.Wrapper) bool { return w.Name == prefix })
	if i < 0 {
		return nil, name
	}
	return &wrappers.All[i], inner
}
