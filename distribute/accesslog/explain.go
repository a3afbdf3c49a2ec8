package accesslog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// An Explanation tells how the lines of a file are read.
type Explanation struct {
	// The format is that of the file; if none fits, the one that reads most of its first
	// line, which may be a "json" or "logfmt" whose keys are not known.
	Choice
	Fits bool // at least one line has the format, or all are its header lines
	// Second is the name of the format with the next most votes; empty if there is none.
	Second      string
	SecondVotes int
}

// Explain tells how the lines with which a file starts are read. It chooses as [Detect].
func Explain(lines [][]byte) Explanation {
	lines = lines[:min(len(lines), DetectLines)]
	format, err := Detect(lines)
	if err != nil {
		return explainUnknown(lines)
	}
	e := format.ExplainLines(lines)
	e.Fits = true
	return e
}

// ExplainLines tells how lines are read in the format.
func (f Format) ExplainLines(lines [][]byte) Explanation {
	e := Explanation{Choice: f.choice(lines)}
	e.Fits = e.Votes > 0
	lines, f = f.Unwrapped(lines), f.plain()
	election := newElection()
	for i, line := range lines {
		if i >= voters && e.Fits {
			break
		}
		election.vote(line)
	}
	for i, votes := range election.votes {
		if table[i].name != f.name && votes > e.SecondVotes {
			e.Second, e.SecondVotes = table[i].name, votes
		}
	}
	return e
}

// explainUnknown returns the format that is nearest to most of the first lines, in its wrapper if there
// is one.
func explainUnknown(lines [][]byte) Explanation {
	format, _ := nearestOf(lines)
	return Explanation{Choice: Choice{Format: format}}
}

// plain returns the format without its wrappers.
func (f Format) plain() Format {
	for f.inner != nil {
		f = *f.inner
	}
	return f
}

// Unwrapped returns the lines that the format's wrappers hold.
func (f Format) Unwrapped(lines [][]byte) [][]byte {
	for f.inner != nil {
		lines, f = peelAll(f.peel, lines), *f.inner
	}
	return lines
}

// combined is the format of lines that are like no other, w3c that of lines below names of columns.
var combined, w3c = named("combined"), named("w3c")

// unknownJSON and unknownPairs are the formats of lines whose keys the user must name.
var (
	unknownJSON  = Format{name: "json", parser: newUnknown, keys: map[Field][]string{Address: {"that is known"}}}
	unknownPairs = Format{name: "logfmt", parser: newUnknown, fields: map[string]Field{"that is known": Address}}
)

// unknown is the parser of a format whose keys are not known.
type unknown struct{ wholeLines }

func newUnknown(Options) Parser                { return unknown{} }
func (unknown) Parse([]byte) (Record, Verdict) { return Record{}, Unparsable }
func (unknown) State() string                  { return "" }
func (unknown) Values() *Values                { return new(Values) }

// A LineExplanation tells how a line is read.
type LineExplanation struct {
	Verdict Verdict
	Record  Record // if the verdict is Parsed
	Fields  []FieldValue
	// Problem says what is wrong with the line: which field is missing, or is none. It is empty
	// for header lines, and if the line is parsed and nothing speaks against the format.
	Problem string
}

// A FieldValue is a field of a line as it is written there.
type FieldValue struct{ Name, Value string }

// Explainer returns a function that tells how the lines of a file, one after the other, are read.
func (f Format) Explainer() func(line []byte) LineExplanation {
	if f.inner != nil {
		return f.explainWrapped()
	}
	parser := f.New(Options{})
	var header *columns
	if fields, ok := parser.(*fieldParser); ok {
		header, _ = fields.splitter.(*columns)
	}
	return func(line []byte) (e LineExplanation) {
		e.Record, e.Verdict = parser.Parse(line)
		if e.Verdict == NotALine {
			return e
		}
		line = bytes.TrimSuffix(trimStart(line), []byte("\r"))
		switch {
		case len(line) == 0:
			e.Problem = "the line is blank"
			return e
		case header != nil:
			e.Fields, e.Problem = header.explain(line)
		case f.keys != nil:
			e.Fields, e.Problem = f.explainObject(line)
		case f.fields != nil:
			e.Fields, e.Problem = f.explainPairs(line)
		default:
			e.Fields, e.Problem = f.layouts.explain(line, e.Verdict == Parsed)
		}
		switch {
		case e.Verdict == Parsed && f.isExact(parser, line):
			e.Problem = ""
		case e.Verdict == Parsed && e.Problem == "" && f.declared != nil && f.declared.Shared:
			e.Problem = "it has neither a status nor a part of the request"
		case e.Verdict == Parsed:
		case e.Problem == "":
			e.Problem = "the time or the address is not one"
		}
		return e
	}
}

// explainWrapped explains what the format's wrapper holds.
func (f Format) explainWrapped() func(line []byte) LineExplanation {
	inner, j := f.inner.Explainer(), joiner{peel: f.peel}
	return func(line []byte) LineExplanation {
		held, result := j.join(line)
		switch result {
		case joined:
			return inner(held)
		case nothing:
			return LineExplanation{Verdict: NotALine}
		case tooLong:
			return LineExplanation{Problem: "the line is too long"}
		}
		if e := inner(line); e.Verdict != Unparsable {
			return e
		}
		wrapper, _, _ := strings.Cut(f.name, ":")
		return LineExplanation{Problem: "the line is not in the wrapper " + wrapper}
	}
}

// explain returns the values of a line in the layout that reads most of it, and where the
// others begin to differ. If the line is read, its values may be any.
func (l layouts) explain(line []byte, read bool) (best []FieldValue, problem string) {
	for _, layout := range l {
		fields, p := layout.explain(line, read)
		if best == nil || len(fields) > len(best) {
			best, problem = fields, p
		}
	}
	return best, problem
}

func (l *layout) explain(line []byte, read bool) (list []FieldValue, problem string) {
	rest, ok := cutPrefix(line, l.head)
	if !ok {
		return nil, fmt.Sprintf("the line does not begin with %q", l.head)
	}
	for _, part := range l.parts {
		end := part.valueEnd(rest)
		if end < 0 && part.stamp { // what follows is no time
			part.stamp = false
			end = part.valueEnd(rest)
		}
		if end < 0 {
			return list, fmt.Sprintf("no %q after %s, which begins with %q", part.end, part.name, shortened(rest))
		}
		if part.timed {
			end = part.timeEnd(rest, end)
		}
		value := rest[:end]
		if kind := mismatch(part.field, value, part.order); kind != "" && !read {
			return list, fmt.Sprintf("%s is no %s: %q", part.name, kind, shortened(value))
		}
		list = append(list, FieldValue{part.name, string(value)})
		if rest = rest[end+len(part.end):]; part.end == " " {
			rest = bytes.TrimLeft(rest, " ")
		}
	}
	return list, ""
}

// mismatch returns what a value of a field should be and is not; empty if it may be one.
func mismatch(field Field, value []byte, order dateOrder) string {
	ok := true
	switch field {
	case Time:
		_, ok = readTime(value, order)
	case Date:
		_, ok = twoFieldDate(value, order)
	case Clock:
		var padded [clockLen]byte
		_, _, _, ok = lex.ClockTime(padClock(value, &padded))
	case Address:
		ok = len(value) == 0 || client(withoutPort(value), nil).IsValid() || isHostName(value)
	case Status:
		ok = isStatus(value)
	default:
		return ""
	}
	if ok {
		return ""
	}
	return map[Field]string{Time: "time", Date: "date", Clock: "time of day", Address: "address", Status: "number"}[field]
}

// isHostName reports whether a value may be the name of a host, "-", or a unix socket.
func isHostName(value []byte) bool {
	for _, c := range value {
		if c-'0' > 9 && lex.Lower(c)-'a' > 'z'-'a' && c != '.' && c != '-' && c != '_' && c != ':' {
			return false
		}
	}
	return len(value) > 0
}

// shortened returns the first bytes of a value that is to be shown.
func shortened(b []byte) []byte { return b[:min(len(b), 40)] }

// explain returns the values of a line under the names of its columns.
func (c *columns) explain(line []byte) (list []FieldValue, problem string) {
	if len(c.fields) == 0 {
		return nil, "no #Fields line with the columns that the format needs stands before it"
	}
	at := 0
	for i, name := range strings.Fields(c.named) {
		start, end, next := c.column(line, at)
		if next < 0 {
			problem = "the line ends before the column " + name
			break
		}
		value := line[start:end]
		list, at = append(list, FieldValue{name, string(value)}), next
		if kind := mismatch(c.fields[i], value, unknownOrder); kind != "" && problem == "" {
			problem = fmt.Sprintf("%s is no %s: %q", name, kind, shortened(value))
		}
	}
	switch {
	case !slices.Contains(c.fields, Address):
		problem = "#Fields names no column with the address of the client (" + c.columnOf(Address) + ")"
	case !slices.Contains(c.fields, Clock) && !slices.Contains(c.fields, Time):
		problem = "#Fields names no column with the time"
	}
	return list, problem
}

// columnOf returns the name of the best column that the field is read from.
func (c *columns) columnOf(field Field) string {
	for name, known := range c.known {
		if known.field == field && known.rank == 0 {
			return name
		}
	}
	return ""
}

// explainObject returns all values of an object under their keys.
func (f Format) explainObject(line []byte) (list []FieldValue, problem string) {
	line = bytes.TrimLeft(line, "[, ")
	if len(line) == 0 || line[0] != '{' {
		return nil, "the line is no JSON object"
	}
	scan := objectScan{line: line, found: func(path, value string) { list = append(list, FieldValue{path, value}) }}
	if scan.object(0, nil) < 0 {
		return list, "the JSON object is damaged"
	}
	if f.declared != nil && f.declared.Logger.Key != "" {
		logger := f.declared.Logger
		if name := valueOf(list, logger.Key); name != "" && !isOfLogger(name, f.declared.Logger) {
			return list, fmt.Sprintf("the %s %s writes no requests: %s does", logger.Key, name, logger.Name+logger.Suffix)
		}
	}
	return list, missing(list, f.keys, f.order)
}

// valueOf returns the value of a key; empty if there is none.
func valueOf(list []FieldValue, key string) string {
	i := slices.IndexFunc(list, func(v FieldValue) bool { return v.Name == key })
	if i < 0 {
		return ""
	}
	return list[i].Value
}

// explainPairs returns the pairs of a line in logfmt.
func (f Format) explainPairs(line []byte) (list []FieldValue, problem string) {
	for key, value := range logfmtPairs(line) {
		list = append(list, FieldValue{string(key), string(value)})
	}
	paths := map[Field][]string{}
	for key, field := range f.fields {
		paths[field] = append(paths[field], key)
	}
	return list, missing(list, paths, f.order)
}

// missingKey begins the problem of a line that lacks a key.
const missingKey = "it has no key "

// missing says that a line has none of the keys of the address or of the time, or what the value of
// the time or of the status is.
func missing(list []FieldValue, paths map[Field][]string, order dateOrder) string {
	found := func(field Field) (key, value string) {
		for _, key := range paths[field] {
			if value := valueOf(list, key); value != "" && value != "null" {
				return key, value
			}
		}
		return "", ""
	}
	_, date := found(Date)
	_, clock := found(Clock)
	for _, field := range []Field{Address, Time, Date, Clock, Status} {
		key, value := found(field)
		needless := field != Address && field != Time || field == Time && date != "" && clock != ""
		if key == "" && !needless && len(paths[field]) > 0 {
			return fmt.Sprintf(missingKey+"%s for the %s", strings.Join(paths[field], " or "), field)
		}
		if kind := mismatch(field, []byte(value), order); key != "" && kind != "" {
			return fmt.Sprintf("%s is no %s: %q", key, kind, shortened([]byte(value)))
		}
	}
	return ""
}
