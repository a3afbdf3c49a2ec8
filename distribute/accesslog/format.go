package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/distribute/accesslog/formats"
	"skidway/distribute/accesslog/wrappers"
)

// table has all formats, in the order of their declarations.
var table = func() (table [len(formats.All)]Format) {
	for i := range formats.All {
		table[i] = declared(&formats.All[i])
	}
	return table
}()

// Format is a way of writing log lines. Get one from [ByName], [Detect] or
// [Formats]; the zero value is not usable.
type Format struct {
	name, description, example string
	declared                   *formats.Format // nil: it is of the user's own, or in a wrapper
	// parser makes the format's own parser. If nil, lines are cut by splitter.
	parser func(Options) Parser
	// splitter makes what cuts the lines into fields, in some formats by the header
	// lines that were read before.
	splitter func(state string) splitter
	utc      bool          // times without a zone are UTC
	port     bool          // a port ends the address, also of an IPv6 address without brackets
	unit     time.Duration // of a duration without one; zero: as W3C logs have it
	order    dateOrder
	// What explains a line: the layouts of a format that has some, the keys of one whose
	// lines are objects, the fields of one whose lines are pairs, or for a format in a
	// wrapper what takes the wrapper off and the format inside.
	layouts layouts
	keys    map[Field][]string
	fields  map[string]Field
	peel    func(line, buffer []byte) (wrappers.Record, bool)
	inner   *Format
	// fits reports whether a line that the parser accepts has the exact shape of
	// the format: a parser is tolerant, and accepts lines that are rather
	// another format's. If nil, every line that the parser accepts has it, and
	// where there is a splitter every line that it can cut to the end.
	fits func(line []byte) bool
}

// declared returns the format of a declaration.
func declared(d *formats.Format) Format {
	f := Format{
		name: d.Name, description: d.Description, example: d.Example, declared: d,
		utc: d.UTC, port: d.Port, unit: d.Unit, layouts: mustLayouts(d.Layouts), fits: shapes[d.Name],
	}
	switch d.Kind {
	case formats.Layout:
		f.order = f.layouts[0].order()
		f.splitter = func(string) splitter { return f.layouts }
		if d.Header != "" {
			f.splitter = func(string) splitter { return headed{f.layouts, d.Header} }
		}
	case formats.CommonLog:
		f.parser = func(o Options) Parser { return newCLF(o, strings.HasPrefix(d.Layouts[0], "$host ")) }
	case formats.Objects:
		f = objectFormat(f, mustFields(d.Fields), d.Logger)
	case formats.Columns:
		known := columnFields(mustFields(d.Fields))
		f.splitter = func(state string) splitter { return newColumns(known, d.Marker, state) }
	case formats.Minimal:
		f.parser = newMinimal
	}
	return f
}

// mustFields returns the keys of fields, as a declaration has them.
func mustFields(text string) map[Field][]string {
	keys := map[Field][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		field := slices.Index(fieldNames[:], words[0])
		if field < 0 {
			panic("unknown field " + words[0])
		}
		keys[Field(field)] = append(keys[Field(field)], words[1:]...)
	}
	return keys
}

// shapes are the exact shapes of formats whose parsers also accept lines of other formats.
var shapes = map[string]func(line []byte) bool{"vhost": isVhost, "combined": isCombined, "lighttpd": isLighttpd}

// Name returns the name of the format, for [ByName].
func (f Format) Name() string { return f.name }

// Aliases returns other names of the format.
func (f Format) Aliases() []string {
	if f.declared == nil {
		return nil
	}
	return slices.Clone(f.declared.Aliases)
}

// Description returns one line for people about the format.
func (f Format) Description() string { return f.description }

// Specification returns the address of the page that defines the format; empty if there is none.
func (f Format) Specification() string {
	if f.declared == nil {
		return ""
	}
	return f.declared.Specification
}

// Example returns a line in the format, after its header lines if it has any.
func (f Format) Example() string { return f.example }

// Origins returns where the real lines came from with which the format was tried: public
// projects and the documentation of servers. It is empty if there were none.
func (f Format) Origins() (origins []string) {
	if f.declared == nil {
		return nil
	}
	for _, line := range f.declared.Real {
		origins = append(origins, line.Origin)
	}
	return origins
}

// New returns a parser of the format's lines.
func (f Format) New(o Options) Parser {
	if f.parser != nil {
		return f.parser(o)
	}
	o.utc, o.order = f.utc, f.order
	p := &fieldParser{
		splitter: f.splitter(o.State), scope: o.scope(), times: newTimeReader(o), values: o.values(f.unit),
		proxies: newProxyList(o), port: f.port, quick: f.layouts.quick(o, f.port),
	}
	if c, ok := p.splitter.(*columns); ok && p.scope == needed {
		p.columns = c
	}
	return p
}

// Formats returns all formats, specific ones before general ones.
func Formats() []Format { return slices.Clone(table[:]) }

// ByName returns the format of that name or alias ("nginx" is "combined"), or of a
// layout as for [ByLayout], which has a $, a % or a blank. The name of a wrapper and a colon
// before it are a wrapped format: "docker:combined". A layout whose text begins so stands in
// quotes, or has a blank behind the colon. The error is an [*UnknownFormatError],
// a [*LayoutError], or about the keys of [ByKeys].
func ByName(name string) (Format, error) {
	if w, inner := unwrap(name); w != nil && !strings.HasPrefix(inner, " ") { // with a blank it is a layout's text
		f, err := ByName(inner)
		if err != nil {
			return f, err
		}
		return wrapped(w, f), nil
	}
	if f, ok, err := keyedByName(name); ok {
		return f, err
	}
	if strings.ContainsAny(name, "$% ") {
		return ByLayout(name)
	}
	if f := named(name); f.declared != nil {
		return f, nil
	}
	return Format{}, &UnknownFormatError{Name: name}
}

// named returns the format that was declared with a name or an alias; one without a declaration
// if there is none.
func named(name string) Format {
	for _, f := range table {
		if f.name == name || slices.Contains(f.declared.Aliases, name) {
			return f
		}
	}
	return Format{}
}

// UnknownFormatError is the error for a name that no format has.
type UnknownFormatError struct {
	Name string
}

// Error returns a text that lists the known formats.
func (e *UnknownFormatError) Error() string {
	var known []string
	for _, f := range table {
		known = append(append(known, f.name), f.declared.Aliases...)
	}
	return fmt.Sprintf("unknown log format %q: use one of %s, or the layout that the server writes, such as '$remote_addr [$time_local]'",
		e.Name, strings.Join(known, ", "))
}

const (
	// DetectLines is the maximum number of lines of a file that [Detect] reads.
	DetectLines = 1000
	// voters is the number of lines that decide on the format, if any of them fits.
	voters = 100
)

// ErrNoFormat is what [Detect] returns for a binary file, an error log, or
// anything else that is no access log.
var ErrNoFormat = errors.New("not an access log in a known format")

// Detect returns the format of the file that starts with these lines, each
// without its newline. Pass the first [DetectLines] lines, or all lines of
// a shorter file; further lines are ignored. The last line may be
// cut off.
//
// Every line votes for one format: the first one in the order of [Formats]
// that parses it and whose exact shape it has. The exact shapes are
//
//   - vhost: a host with a port, or a host name that an address follows, and at
//     least four fields before the time
//   - combined: at least three quoted fields after the time
//   - common and minimal: all that their parsers accept
//   - all others: every field that the format has, in its place
//
// The format with most votes among the first 100 lines wins, and of two with
// as many votes the first in that order. If none of these lines votes, the
// lines up to the 1,000th do. If these don't either, and not all of them are header lines
// of a format, the error is [ErrNoFormat]. Bytes that are no text mean nothing by themselves.
//
// Wrappers come first: if one holds at least half of the lines that are not blank, and
// the lines inside have a format, that is the format.
func Detect(lines [][]byte) (Format, error) {
	lines = lines[:min(len(lines), DetectLines)]
	if format, _, ok := detectWrapped(lines, maxWrappers); ok {
		return format, nil
	}
	format, votes := detectPlain(lines)
	if votes == 0 {
		return detectHeaders(lines)
	}
	return format, nil
}

// detectHeaders is Detect for lines that all are header lines, as of a day without requests.
func detectHeaders(lines [][]byte) (format Format, err error) {
	e, err := newElection(), ErrNoFormat
	for _, line := range lines {
		if len(bytes.TrimRight(trimStart(line), "\r")) == 0 {
			continue
		}
		chosen, verdict := e.choose(line)
		if verdict != NotALine || !isHeader(line) {
			return Format{}, ErrNoFormat
		}
		format, err = table[chosen], nil
	}
	return format, err
}

// detectPlain is Detect for lines without wrappers. It returns the number of lines that
// voted for the format; zero if none fits.
func detectPlain(lines [][]byte) (format Format, votes int) {
	e := newElection()
	for i, line := range lines {
		if i == voters && e.voted {
			break
		}
		e.vote(line)
	}
	return e.winner()
}

// An election counts the lines that fit each format.
type election struct {
	parsers [len(table)]Parser
	votes   [len(table)]int
	voted   bool
}

func newElection() *election {
	e := new(election)
	for i, f := range table {
		e.parsers[i] = f.New(Options{})
	}
	return e
}

func (e *election) vote(line []byte) {
	if chosen, verdict := e.choose(line); verdict == Parsed {
		e.votes[chosen]++
		e.voted = true
	}
}

// choose returns the format whose exact shape a line has, and otherwise one of which it is a
// header line.
func (e *election) choose(line []byte) (chosen int, verdict Verdict) {
	// Every parser sees every line, since some remember header lines.
	for i, p := range e.parsers {
		switch _, v := p.Parse(line); {
		case verdict == Parsed:
		case v == Parsed && table[i].isExact(p, line):
			chosen, verdict = i, Parsed
		case v == NotALine && verdict != Parsed: // of those with such lines, the last one reads most files
			chosen, verdict = i, NotALine
		}
	}
	return chosen, verdict
}

// find returns the format of a line, perhaps in wrappers, of which there are at most depth,
// and the state of a parser that has read it.
func (e *election) find(line []byte, depth int) (f Format, state string, ok bool) {
	if chosen, verdict := e.choose(line); verdict == Parsed || verdict == NotALine && isHeader(line) {
		return table[chosen], e.parsers[chosen].State(), true
	}
	if depth == 0 {
		return Format{}, "", false
	}
	for i := range wrappers.All {
		record, ok := wrappers.All[i].Peel(line, nil)
		if !ok || record.Partial || record.Skip {
			continue
		}
		if f, _, ok := e.find(record.Inner, depth-1); ok {
			return wrapped(&wrappers.All[i], f), "", true
		}
	}
	return Format{}, "", false
}

// isHeader reports whether a line that a format takes for a header is no comment.
func isHeader(line []byte) bool {
	name, _, found := bytes.Cut(trimStart(line), []byte(":"))
	return len(name) > 0 && name[0] != '#' || found && isDirective(string(name))
}

// isExact reports whether a line that the format's parser accepts has its exact shape.
func (f Format) isExact(p Parser, line []byte) bool {
	if fields, ok := p.(*fieldParser); ok && (!fields.fits(line) || f.declared != nil && f.declared.Shared && !fields.values.raw.hasRequest()) {
		return false
	}
	return f.fits == nil || f.fits(line)
}

func (e *election) winner() (format Format, votes int) {
	best := 0
	for i, n := range e.votes {
		if n > e.votes[best] {
			best = i
		}
	}
	return table[best], e.votes[best]
}
