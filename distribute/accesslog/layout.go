package accesslog

import (
	"bytes"
	"slices"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// A layout is the description of a line by what stands in it: values, and literal
// text between them.
type layout struct {
	head  string // before the first value
	parts []layoutPart
	// needed is the number of parts up to the last one that has the address or
	// the time.
	needed  int
	port    bool // a port ends the address
	escaped bool // it is Apache's, with \" outside of quotes
}

// A layoutPart is a value and the text that ends it.
type layoutPart struct {
	name   string // in the layout
	field  Field
	end    string // empty: the value goes on to the end of the line
	plain  bool   // nothing but end, which is one or two bytes, decides where the value ends
	stamp  bool   // a time in brackets ends it, before which it may have brackets too
	timed  bool   // a time of a user's layout that a blank ends, and which may have blanks too
	order  dateOrder
	quoted bool // in the value, a backslash takes away the meaning of a quote
	listed bool // it may be a list with blanks behind its commas
	number bool // it is no field, but a number
}

func (l *layout) state() string { return "" }

// split implements [splitter]. What follows the last literal is ignored: servers
// add fields at the end.
func (l *layout) split(line []byte, v *values, s scope) Verdict {
	rest, ok := cutPrefix(line, l.head)
	if !ok {
		if rest, ok = cutPrefix(trimStart(line), l.head); !ok {
			return Unparsable
		}
	}
	rest = bytes.TrimSuffix(rest, []byte("\r"))
	parts := l.parts
	if s == needed {
		parts = parts[:l.needed]
	} else {
		*v = values{}
	}
	for i := range parts {
		part := &parts[i]
		var end int
		if part.plain {
			end = part.firstEnd(rest)
		} else {
			end = part.valueEnd(rest)
		}
		if end < 0 && s == wanted && i >= l.needed {
			part.setLast(rest, v)
			return Parsed
		} else if end < 0 {
			return Unparsable
		}
		if part.timed {
			end = part.timeEnd(rest, end)
		}
		if part.field != noField {
			v[part.field] = rest[:end]
		} else if part.number && s == exact && isQuote(rest[:end]) {
			return Unparsable // as below
		}
		rest = rest[end+len(part.end):]
		if part.end == " " {
			for len(rest) > 0 && rest[0] == ' ' { // a column that is padded
				rest = rest[1:]
			}
		}
	}
	if s == exact && (isQuote(v[Bytes]) || isQuote(v[Duration])) {
		return Unparsable // these are the columns of another layout
	}
	return Parsed
}

// isQuote reports whether a value begins with a quote, as no number does.
func isQuote(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// firstEnd is valueEnd of a plain part, where the first place that may be the end mostly is.
func (p *layoutPart) firstEnd(b []byte) int {
	at := bytes.IndexByte(b, p.end[0])
	if at < 0 || (len(p.end) == 1 || at+1 < len(b) && b[at+1] == p.end[1]) && (!p.listed || at == 0 || b[at-1] != ',') {
		return at
	}
	return p.valueEnd(b)
}

// timeEnd returns where a time ends whose first blank is at a place: it may have several words. A blank
// follows it.
func (p *layoutPart) timeEnd(b []byte, end int) int {
	const date = len("2000-10-10") // what is shorter is not even a date
	short := end < date || lex.Lower(b[0])-'a' <= 'z'-'a'
	for at := end; at < maxMoment && (short || goesOn(b, at)); {
		n := bytes.IndexByte(b[at+1:min(len(b), maxMoment+1)], ' ')
		if n < 0 {
			break
		}
		at += 1 + n
		if _, ok := readTime(b[:at], p.order); ok {
			end, short = at, false
		}
	}
	return end
}

// goesOn reports whether a time may go on behind the blank at a place.
func goesOn(b []byte, blank int) bool {
	next := b[blank+1:]
	if len(next) < 3 {
		return false
	}
	switch c := next[0]; {
	case c == '+' || c == '-':
		return next[1]-'0' <= 9
	case c-'0' <= 9: // a time of day
		return next[1] == ':' || next[1]-'0' <= 9 && next[2] == ':'
	case c-'A' > 'Z'-'A' && c != 'a' && c != 'p':
		return false
	}
	end := bytes.IndexByte(next[:min(len(next), len("CEST "))], ' ')
	if end < 2 {
		return false
	}
	_, isZone := zones[string(next[:end])]
	return isZone || end == 2 && lex.Lower(next[1]) == 'm' // AM, PM
}

// setLast sets the value that b starts with, the last one of a line that ends before the
// layout does.
func (p *layoutPart) setLast(b []byte, v *values) {
	if p.field == noField {
		return
	}
	end := (&layoutPart{end: p.end[:1], quoted: p.quoted}).valueEnd(b)
	if end < 0 && p.end[0] == ' ' {
		end = len(b)
	}
	if end >= 0 {
		v[p.field] = b[:end]
	}
}

func cutPrefix(line []byte, prefix string) ([]byte, bool) {
	if len(line) < len(prefix) || string(line[:len(prefix)]) != prefix {
		return nil, false
	}
	return line[len(prefix):], true
}

// valueEnd returns where the value that b starts with ends; -1 if the text that
// ends it does not follow.
func (p *layoutPart) valueEnd(b []byte) int {
	if p.end == "" {
		return len(b)
	}
	for from := 0; ; {
		at := bytes.IndexByte(b[from:], p.end[0])
		if at < 0 {
			return -1
		}
		if at += from; len(p.end) > 1 && (len(b)-at < len(p.end) || string(b[at:at+len(p.end)]) != p.end) {
			from = at + 1
			continue
		}
		escaped := p.quoted && lex.IsEscaped(b, at)
		listed := p.listed && p.end[0] == ' ' && at > 0 && b[at-1] == ',' // "a, b" is one value
		if !escaped && !listed && (!p.stamp || isStamp(b[at+len(p.end)-1:])) {
			return at
		}
		from = at + 1
	}
}

// A layoutPiece is literal text, or a value by its name in a notation of layouts.
type layoutPiece struct {
	literal string
	name    string // empty: it is literal text
	variable
}

// newLayout makes a layout of pieces. The error says why lines of it cannot be cut.
func newLayout(pieces []layoutPiece) (*layout, error) {
	l := new(layout)
	found := [numFields]bool{}
	for _, piece := range pieces {
		last := len(l.parts) - 1
		switch {
		case piece.name == "" && last < 0:
			l.head += piece.literal
		case piece.name == "":
			l.parts[last].end += piece.literal
		case last >= 0 && l.parts[last].end == "":
			if err := l.parts[last].join(piece); err != nil {
				return nil, err
			}
		default:
			field, order := piece.field.ordered()
			if found[field] { // the first one counts
				field = noField
			}
			found[field] = true
			if strings.HasSuffix(piece.name, "}t") {
				order = notationOrder(piece.name)
			}
			l.parts = append(l.parts, layoutPart{
				name: piece.name, field: field, order: order,
				listed: isListed(piece), number: piece.name == "$bytes_received",
			})
		}
	}
	l.joinPort()
	before := l.head
	for i := range l.parts {
		part := &l.parts[i]
		part.quoted = strings.HasSuffix(before, `"`) && strings.HasPrefix(part.end, `"`)
		before = part.end
		switch part.field {
		case Address, Time, Date, Clock:
			l.needed = i + 1
		}
		part.stamp = part.field == User && i+1 < len(l.parts) && l.parts[i+1].name == "$time_local" && strings.HasSuffix(part.end, "[")
		part.plain = (len(part.end) == 1 || len(part.end) == 2) && !part.quoted && !part.stamp
	}
	switch {
	case !found[Address]:
		return nil, errNoAddress
	case !found[Time] && !(found[Date] && found[Clock]):
		return nil, errNoTime
	}
	return l, nil
}

// isListed reports whether a value may be a list with blanks behind its commas: addresses that proxies pass on,
// and what nginx has of several upstream servers.
func isListed(piece layoutPiece) bool {
	name := strings.ReplaceAll(strings.ToLower(piece.name), "-", "_")
	return piece.field == Address || strings.HasPrefix(name, "$upstream") || strings.Contains(name, "forwarded_for")
}

// join makes a value, and the one that follows with nothing between, one value. It is read only where
// the first is a path, which its query follows.
func (p *layoutPart) join(piece layoutPiece) error {
	if neededFields.Has(p.field) || neededFields.Has(piece.field) || p.field != noField && piece.field != noField {
		return errAdjacent
	}
	p.name += piece.name
	if p.field != Path {
		p.field = noField
	}
	return nil
}

// joinPort makes the address and the port that follows it one value: an IPv6 address has colons itself.
func (l *layout) joinPort() {
	for i := range len(l.parts) - 1 {
		address, next := &l.parts[i], l.parts[i+1]
		if address.field == Address && address.end == ":" && next.isPort() {
			address.name, address.end, l.port = address.name+":"+next.name, next.end, true
			l.parts = slices.Delete(l.parts, i+1, i+2)
			return
		}
	}
}

// isPort reports whether the value is a port: $remote_port, %p or %{remote}p.
func (p *layoutPart) isPort() bool {
	return strings.HasSuffix(p.name, "_port") || strings.HasPrefix(p.name, "%") && strings.HasSuffix(p.name, "p")
}

// findTimes finds the times that may have blanks and that a blank ends.
func (l *layout) findTimes() {
	for i := range l.parts {
		part := &l.parts[i]
		part.timed = part.end == " " && (part.field == Time || part.name == "$time_local" || strings.HasSuffix(part.name, "}t"))
	}
}

// mustLayouts returns layouts in nginx's notation. They are constants, so an error is a
// mistake in the program.
func mustLayouts(texts []string) layouts {
	all := make(layouts, len(texts))
	for i, text := range texts {
		all[i] = mustLayout(text)
	}
	return all
}

func mustLayout(text string) *layout {
	l, err := compileLayout(text)
	if err != nil {
		panic(&LayoutError{text, err})
	}
	return l
}

// layouts is the splitter of a format whose lines have one of some layouts.
type layouts []*layout

func (l layouts) state() string { return "" }

// split implements [splitter].
func (l layouts) split(line []byte, v *values, s scope) Verdict {
	if s == wanted && len(l) > 1 && l.split(line, v, exact) == Parsed {
		return Parsed
	}
	for _, layout := range l {
		if layout.split(line, v, s) == Parsed {
			return Parsed
		}
	}
	return Unparsable
}

// headed is the splitter of files that begin with a line of the columns' names.
type headed struct {
	layouts
	header string // how that line begins
}

// split implements [splitter].
func (h headed) split(line []byte, v *values, s scope) Verdict {
	if _, ok := cutPrefix(line, h.header); ok {
		return NotALine
	}
	if _, ok := cutPrefix(trimStart(line), h.header); ok {
		return NotALine
	}
	return h.layouts.split(line, v, s)
}
