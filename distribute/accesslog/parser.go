package accesslog

import (
	"net/netip"
	"time"

	"skidway/distribute/accesslog/internal/lex"
)

// Verdict is the result of parsing a line.
type Verdict uint8

const (
	// Unparsable is a line that is not in the format: it is counted as a line,
	// and as an unparsable one. It is the zero value.
	Unparsable Verdict = iota
	// Parsed is a line from which a Record was read.
	Parsed
	// NotALine is a header line of the format (such as the #Fields line of W3C
	// logs): it is not counted as a line at all.
	NotALine
)

// Record is the client and the day of a log line.
type Record struct {
	// Addr is the client's address, unmapped and without zone. It is invalid
	// (the zero Addr) when the line has no address but a host name, "-" or an empty text.
	Addr netip.Addr
	// Day is the line's calendar day.
	Day Day
}

// Parser reads the lines of one file. It has state from earlier
// lines, so it is not safe for concurrent use; make one per goroutine, and one
// per file where the format has header lines.
type Parser interface {
	// Parse reads one line without its newline; a carriage return at its end
	// is tolerated. The Record is meaningful only with the verdict Parsed.
	// Parse never panics, does not write to line and keeps no reference to it.
	Parse(line []byte) (Record, Verdict)
	// Values returns the fields of the line that was parsed last, if [Options].Fields
	// asked for some. The result is always the same pointer.
	Values() *Values
	// Open reports whether a line goes on in the next ones: a wrapper holds it in parts.
	Open() bool
	// Held reports whether State has the parts of all lines that are open. Those of a line of
	// more than about 32 KB it has not.
	Held() bool
	// Flush parses the lines that are open, as far as they are known, and calls yield with
	// each: the file ends here. If it grows, what follows of these lines is [NotALine].
	Flush(yield func(Record, Verdict))
	// State returns what [Options] need for the lines that follow those that were
	// read: header lines that still hold, and the parts of lines that are open. It is empty in
	// most formats.
	State() string
}

// Options set how a parser reads lines. The zero value is ready to use.
type Options struct {
	// Zone, if not nil, is the time zone in which days are counted. If nil, the
	// day is the one written in the line, in the line's own offset. A line that
	// has no offset keeps its day, unless Local is set.
	Zone *time.Location
	// Local is the zone of times that a line has without one. If nil, and Zone is
	// not, their day is the one written.
	Local *time.Location
	// Fields are the fields that the parser's Values has. Without any it has none, and
	// parsing is fastest.
	Fields FieldSet
	// Proxies choose the client's address where a line has a list of them.
	Proxies TrustedProxies
	// State is that of a parser which read the earlier lines of the same file.
	State string

	utc   bool      // the format defines times without a zone as UTC
	order dateOrder // of the format's dates
}

// local returns the zone of times that lines have without one.
func (o Options) local() *time.Location {
	if o.utc {
		return time.UTC
	}
	return o.Local
}

// scope returns how much of a line a parser must read.
func (o Options) scope() scope {
	if o.Fields == 0 {
		return needed
	}
	return wanted
}

// values returns the values of a parser, with the unit of durations.
func (o Options) values(unit time.Duration) Values {
	return Values{unit: unit, local: o.local(), stated: o.Local, order: o.order}
}

// wholeLines is the part of a parser none of whose lines goes on in the next one.
type wholeLines struct{}

// Open implements [Parser].
func (wholeLines) Open() bool { return false }

// Held implements [Parser].
func (wholeLines) Held() bool { return true }

// Flush implements [Parser].
func (wholeLines) Flush(func(Record, Verdict)) {}

// trimStart takes off what may stand before the first line of a file although
// no server wrote it: a byte order mark, and the hole of NUL bytes that
// logrotate's copytruncate leaves.
func trimStart(line []byte) []byte {
	const mark = "\ufeff"
	for len(line) > 0 {
		switch c := line[0]; {
		case c == 0 || lex.IsBlank(c):
			line = line[1:]
		case c == mark[0] && len(line) >= len(mark) && string(line[:len(mark)]) == mark:
			line = line[len(mark):]
		default:
			return line
		}
	}
	return line
}
