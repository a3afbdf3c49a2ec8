package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
	"skidway/distribute/accesslog/wrappers"
)

// A Choice is the format of a file, and how many lines show it.
type Choice struct {
	Format Format
	// Votes is the number of lines that the format reads, among the Lines that are not
	// blank: the first 100, or more if it reads none of these.
	Votes, Lines int
}

// Choose returns the format that [Detect] does, with the lines that show it. The error is a
// [*NoFormatError] or an [*OtherLogError]; ErrNoFormat itself if all lines are blank.
func Choose(lines [][]byte) (Choice, error) {
	lines = lines[:min(len(lines), DetectLines)]
	format, err := Detect(lines)
	if err != nil {
		return Choice{}, noFormat(lines)
	}
	return format.choice(lines), nil
}

// choice counts the lines that the format reads.
func (f Format) choice(lines [][]byte) Choice {
	c := Choice{Format: f}
	lines, f = f.Unwrapped(lines), f.plain()
	parser := f.New(Options{})
	for i, line := range lines {
		if i >= voters && c.Votes > 0 {
			break
		}
		_, verdict := parser.Parse(line)
		if verdict != NotALine && len(trimStart(line)) > 0 {
			c.Lines++
		}
		if verdict == Parsed {
			c.Votes++
		}
	}
	return c
}

// Unsure reports whether less than 60 % of the lines have the format.
func (c Choice) Unsure() bool { return 10*c.Votes < 6*c.Lines }

// Percent returns how many of the lines have the format; 100 if there are only header lines.
func (c Choice) Percent() int {
	if c.Lines == 0 {
		return 100
	}
	return 100 * c.Votes / c.Lines
}

// NewAuto returns a parser of a file whose format was chosen. It goes on where the format
// changes inside the file, and also reads lines of further formats, as many as maxMembers.
func (c Choice) NewAuto(o Options) Parser {
	wrapper := c.Format.Wrapper()
	plain, err := ByName(strings.TrimPrefix(c.Format.name, wrapper))
	if err != nil {
		panic(err) // a format was chosen by its name
	}
	p, _ := newAuto(wrapper, o, func(o Options) (Parser, error) {
		p := &autoParser{wrapper: wrapper, options: o}
		p.add(plain, plain.New(o), int64(c.Votes))
		return p, nil
	})
	return p
}

// RestoreAuto returns the parser that goes on behind the lines which another one has read,
// whose State is in the options. The error is that it is not such a state, or of a version
// that this program does not know.
func RestoreAuto(o Options) (Parser, error) {
	text, ok := strings.CutPrefix(o.State, autoVersion)
	wrapper, state, found := strings.Cut(text, autoSeparator)
	if !ok || !found {
		return nil, fmt.Errorf("the state of the file's format, %.20q, is of another version of this program", o.State)
	}
	o.State = state
	return newAuto(wrapper, o, func(o Options) (Parser, error) { return restoreMembers(wrapper, o) })
}

// FormatOf returns the name of the format of the line that was parsed last, as that of
// [Format.Name], if the parser is one that chooses the format of each line; otherwise it is empty.
func FormatOf(p Parser) string {
	file, ok := p.(*autoFile)
	if !ok {
		return ""
	}
	parser := file.Parser
	for {
		switch p := parser.(type) {
		case *wrappedParser:
			parser = p.inner
		case *autoParser:
			return p.members[p.current].name
		default:
			return ""
		}
	}
}

const (
	// autoVersion begins the states of parsers that NewAuto makes.
	autoVersion   = "1 "
	autoSeparator = "\x00"
)

// newAuto puts wrappers around a parser of what they hold.
func newAuto(wrapperNames string, o Options, inner func(Options) (Parser, error)) (p Parser, err error) {
	f := Format{parser: func(o Options) Parser {
		var auto Parser
		if auto, err = inner(o); err != nil {
			return unknown{}
		}
		return auto
	}}
	names := strings.Split(strings.TrimSuffix(wrapperNames, ":"), ":")
	for _, name := range slices.Backward(names) {
		if wrapperNames == "" {
			break
		}
		i := slices.IndexFunc(wrappers.All[:], func(w wrappers.Wrapper) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown wrapper %q", name)
		}
		f = wrapped(&wrappers.All[i], f)
	}
	p = &autoFile{f.New(o), autoVersion + wrapperNames + autoSeparator}
	return p, err
}

// An autoFile is a parser whose state names its wrappers.
type autoFile struct {
	Parser
	prefix string
}

// State implements [Parser].
func (p *autoFile) State() string { return p.prefix + p.Parser.State() }

// maxMembers bounds the formats that are read in one file.
const maxMembers = 8

// An autoParser parses lines without the wrappers of the file, of one or more formats.
type autoParser struct {
	wrapper string // before the names of its formats
	options Options
	members []member
	current int       // the member that read the last line
	search  *election // of further formats
	misses  misses
}

// A member is a format of a file.
type member struct {
	format Format
	parser Parser
	votes  int64  // lines of the file that chose it
	name   string // of the format, with the wrappers of the file
}

func (p *autoParser) add(f Format, parser Parser, votes int64) {
	p.members = append(p.members, member{f, parser, votes, p.wrapper + f.name})
}

// Parse implements [Parser].
func (p *autoParser) Parse(line []byte) (Record, Verdict) {
	record, verdict := p.members[p.current].parser.Parse(line)
	if verdict == Unparsable {
		return p.parseOther(line)
	}
	return record, verdict
}

// parseOther parses a line that the current format cannot read.
func (p *autoParser) parseOther(line []byte) (Record, Verdict) {
	if len(bytes.TrimRight(trimStart(line), "\r")) == 0 {
		return Record{}, Unparsable
	}
	for i := range p.members {
		if i == p.current {
			continue
		}
		if record, verdict := p.members[i].parser.Parse(line); verdict != Unparsable {
			p.members[i].votes++
			p.current = i
			return record, verdict
		}
	}
	if len(p.members) == maxMembers || !p.misses.maySearch(line) {
		return Record{}, Unparsable
	}
	if p.search == nil {
		p.search = newElection()
	}
	format, state, ok := p.search.find(line, maxWrappers)
	if !ok {
		p.misses.add(line)
		return Record{}, Unparsable
	}
	p.misses = misses{}
	o := p.options
	o.State = state // from header lines
	parser := format.New(o)
	record, verdict := parser.Parse(line)
	if verdict == Unparsable { // its wrapper has header lines inside
		return record, verdict
	}
	p.current = len(p.members)
	p.add(format, parser, 1)
	return record, verdict
}

// Values implements [Parser].
func (p *autoParser) Values() *Values { return p.members[p.current].parser.Values() }

// Open implements [Parser].
func (p *autoParser) Open() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.parser.Open() })
}

// Held implements [Parser].
func (p *autoParser) Held() bool {
	return !slices.ContainsFunc(p.members, func(m member) bool { return !m.parser.Held() })
}

// Flush implements [Parser].
func (p *autoParser) Flush(yield func(Record, Verdict)) {
	for _, m := range p.members {
		m.parser.Flush(yield)
	}
}

// An autoState is the state of an autoParser as JSON.
type autoState struct {
	Current int `json:"current"`
	misses
	Formats []memberState `json:"formats"`
}

type memberState struct {
	Name  string `json:"name"`
	Votes int64  `json:"votes"`
	State []byte `json:"state,omitempty"`
}

// State implements [Parser].
func (p *autoParser) State() string {
	state := autoState{Current: p.current, misses: p.misses}
	for _, m := range p.members {
		state.Formats = append(state.Formats, memberState{m.format.name, m.votes, []byte(m.parser.State())})
	}
	text, err := json.Marshal(state)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return string(text)
}

// restoreMembers returns the autoParser of a state.
func restoreMembers(wrapper string, o Options) (Parser, error) {
	var state autoState
	if err := json.Unmarshal([]byte(o.State), &state); err != nil {
		return nil, fmt.Errorf("the state of the file's format: %w", err)
	}
	if state.Current < 0 || state.Current >= len(state.Formats) || len(state.Formats) > maxMembers {
		return nil, fmt.Errorf("the state of the file's format has %d formats", len(state.Formats))
	}
	p := &autoParser{wrapper: wrapper, options: o, current: state.Current, misses: state.misses}
	for _, m := range state.Formats {
		format, err := ByName(m.Name)
		if err != nil {
			return nil, err
		}
		o.State = string(m.State)
		p.add(format, format.New(o), m.Votes)
	}
	return p, nil
}

// A search tries all formats and wrappers, which takes a hundred times as long as parsing. The
// first freeMisses lines that no format reads are searched, and then one of missInterval.
//
// Lines that resemble none of the last maxShapes for which a search failed are searched too:
// another format may begin there. Where all lines differ, they are freeMisses and one of
// unlikeInterval.
const (
	freeMisses     = 100
	missInterval   = 32
	maxShapes      = 16
	unlikeInterval = 8
)

// misses are the lines since the last format was found that no format read. They are a part of
// the state of a parser, so that one that goes on in the middle of a file searches the same lines.
type misses struct {
	Count  int64    `json:"misses,omitempty"`
	Unlike int64    `json:"unlike,omitempty"` // those that were searched because they resembled none
	Shapes []uint32 `json:"shapes,omitempty"` // of the last ones that were searched
}

// maySearch reports whether a search of the line's format is due. Header lines are always
// searched: lines behind them cannot be read without.
func (m *misses) maySearch(line []byte) bool {
	if m.Count < freeMisses || m.Count%missInterval == 0 {
		return true
	}
	line = trimStart(line)
	if len(line) > 0 && line[0] == '#' && isHeader(line) {
		return true
	}
	if m.Unlike < freeMisses+m.Count/unlikeInterval && !slices.Contains(m.Shapes, shapeOf(line)) {
		m.Unlike++
		return true
	}
	m.Count++
	return false
}

// add adds a line whose search failed.
func (m *misses) add(line []byte) {
	m.Count++
	shape := shapeOf(trimStart(line))
	if slices.Contains(m.Shapes, shape) {
		return
	}
	if len(m.Shapes) >= maxShapes {
		m.Shapes = slices.Delete(m.Shapes, 0, len(m.Shapes)-maxShapes+1)
	}
	m.Shapes = append(m.Shapes, shape)
}

// shapeOf returns a hash of how a line begins, the same whatever its numbers are, also
// hexadecimal ones.
func shapeOf(line []byte) uint32 {
	const length = 24 // a time, and what follows it
	var start [length]byte
	for i := range copy(start[:], line) {
		if c := start[i]; c-'0' <= 9 || lex.Lower(c)-'a' <= 'f'-'a' {
			start[i] = '0'
		}
	}
	hash := fnv.New32a()
	_, _ = hash.Write(start[:])
	return hash.Sum32()
}
