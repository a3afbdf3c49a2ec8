package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"skidway/distribute/accesslog/internal/lex"
)

// columns is the splitter of logs in the Extended Log File Format (W3C working draft
// WD-logfile) and its relatives: lines that start with # are directives, one of them,
// #Fields, names the columns of the lines that follow, and it may come again.
// Columns are separated by blanks or tabs; values may stand in double quotes, in
// which two quotes are one.
type columns struct {
	known  map[string]columnName
	marker string // a column that #Fields must have
	// named is the value of the last #Fields, and fields what is in each column.
	named  string
	fields []Field
	needed []neededColumn
	quick  bool   // the needed columns are an address, and a date and then a time, each once
	plain  bool   // #Software is one that quotes no value
	local  bool   // the time is that of the server's clock
	zone   []byte // its offset from UTC; empty: it is not known
	// date is that of #Date, for lines that have only a time; clock is the time of
	// the last line: when it falls, a day has passed.
	dated bool // date is known
	date  Day
	clock [len("15:04:05")]byte
	text  [dateLen]byte // date as written in a line
}

// A neededColumn is a column with a field that every line needs.
type neededColumn struct {
	skipped int // columns behind the needed one before
	field   Field
}

// A columnName is what the name of a column means.
type columnName struct {
	field Field
	rank  int // of several columns for one field, that with the least is read, and of those the first
}

// columnFields returns the fields by the names of their columns, better ones first.
func columnFields(names map[Field][]string) map[string]columnName {
	known := map[string]columnName{}
	for field, columns := range names {
		for rank, name := range columns {
			known[name] = columnName{field, rank}
		}
	}
	return known
}

func newColumns(known map[string]columnName, marker, state string) *columns {
	c := &columns{known: known, marker: marker, zone: []byte{}}
	for line := range strings.Lines(state) {
		c.directive([]byte(strings.TrimSuffix(line, "\n")))
	}
	return c
}

// state returns the directives that a file which goes on here would start with.
func (c *columns) state() string {
	var lines []string
	if c.plain {
		lines = append(lines, "#Software: "+plainSoftware)
	}
	if c.dated {
		lines = append(lines, "#Date: "+c.date.String()+" "+string(c.clock[:]))
	}
	if len(c.zone) > 0 {
		lines = append(lines, gmtOffset+": "+string(c.zone))
	}
	if c.named != "" {
		lines = append(lines, "#Fields: "+c.named)
	}
	return strings.Join(lines, "\n")
}

// split implements [splitter].
func (c *columns) split(line []byte, v *values, s scope) Verdict {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > 0 && (line[0] == '#' || line[0] == 0 || line[0] == 0xef) {
		if line = trimStart(line); len(line) > 0 && line[0] == '#' {
			c.directive(line)
			return NotALine
		}
	}
	v.clear(s)
	if s == needed && !c.cutNeeded(line, v) || s != needed && !c.cut(line, v, s) {
		return Unparsable
	}
	if c.local {
		v[clockZone] = c.zone
	}
	if v[Date] == nil && v[Clock] != nil && c.dated {
		c.dateOf(v)
	}
	return v.complete()
}

// cut sets the fields of a line, and reports whether it has all columns that it must have.
func (c *columns) cut(line []byte, v *values, s scope) bool {
	at, left := 0, len(c.needed)
	for _, field := range c.fields {
		start, end, next := c.column(line, at)
		if next < 0 {
			return s == wanted && left == 0
		}
		if at = next; neededFields.Has(field) {
			left--
		}
		if field != noField && v[field] == nil {
			v[field] = line[start:end]
		}
	}
	return true
}

// cutNeeded sets the fields that every line needs, and reports whether the line has them.
func (c *columns) cutNeeded(line []byte, v *values) bool {
	at := 0
	for _, needed := range c.needed {
		if needed.skipped > 0 {
			if at = c.skipColumns(line, at, needed.skipped); at < 0 {
				return false
			}
		}
		start, end, next := c.column(line, at)
		if next < 0 {
			return false
		}
		if at = next; v[needed.field] == nil {
			v[needed.field] = line[start:end]
		}
	}
	return true
}

// skipColumns returns the place behind some columns of a line; -1 if it has not as many.
func (c *columns) skipColumns(line []byte, at, n int) int {
	for at < len(line) && lex.IsBlank(line[at]) {
		at++
	}
	if next := wordsEnd(line, at, n, true); next >= 0 {
		return next
	}
	for ; n > 0 && at >= 0; n-- {
		_, _, at = c.column(line, at)
	}
	return at
}

// column returns where the value of the first column from a place on is, and the place behind
// it; that is -1 if there is none. A value is quoted if a blank or the end of the line follows its last
// quote: a server that quotes nothing writes what clients send, which may begin with one.
func (c *columns) column(b []byte, at int) (start, end, next int) {
	for at < len(b) && lex.IsBlank(b[at]) {
		at++
	}
	if at == len(b) {
		return at, at, -1
	}
	if b[at] == '"' && !c.plain {
		if end = closingQuote(b, at+1); end >= 0 {
			return at + 1, end, end + 1
		}
	}
	end = nextBlank(b, at)
	return at, end, end
}

// closingQuote returns the place of the quote that ends a value which begins at a place; -1 if none does.
// Two quotes together are one of the value.
func closingQuote(b []byte, at int) int {
	for {
		quote := bytes.IndexByte(b[at:], '"')
		if quote < 0 {
			return -1
		}
		at += quote
		switch {
		case at+1 == len(b), lex.IsBlank(b[at+1]):
			return at
		case b[at+1] != '"':
			return -1
		}
		at += 2
	}
}

// nextBlank returns the place of the first blank from a place on; the length of b if there is
// none.
func nextBlank(b []byte, at int) int {
	const ones, highs, blanks, tabs = 0x0101010101010101, 0x8080808080808080, 0x2020202020202020, 0x0909090909090909
	for ; at+8 <= len(b); at += 8 {
		word := binary.LittleEndian.Uint64(b[at:])
		x, y := word^blanks, word^tabs
		if marks := ((x-ones)&^x | (y-ones)&^y) & highs; marks != 0 { // the lowest one is right
			return at + bits.TrailingZeros64(marks)/8
		}
	}
	for at < len(b) && !lex.IsBlank(b[at]) {
		at++
	}
	return at
}

// plainSoftware begins the value of #Software of IIS, which writes a blank in a value as a plus.
// Source: https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging
const plainSoftware = "Microsoft"

// gmtOffset is the directive with the offset of the server's clock from UTC.
const gmtOffset = "#GMT-Offset"

// isDirective reports whether a word is a directive of the format.
func isDirective(name string) bool {
	switch name {
	case "#Version", "#Fields", "#Software", "#Start-Date", "#End-Date", "#Date", "#Remark", gmtOffset:
		return true
	}
	return false
}

// directive reads a line that starts with #.
func (c *columns) directive(line []byte) {
	name, value, _ := strings.Cut(string(line), ":")
	value = strings.TrimSpace(value)
	switch name {
	case "#Fields":
		c.setFields(value)
	case "#Software":
		c.plain = strings.HasPrefix(value, plainSoftware)
	case gmtOffset:
		if _, ok := lex.UTCOffset([]byte(value)); ok {
			c.zone = []byte(value)
		}
	case "#Date", "#Start-Date":
		date, clock, _ := strings.Cut(value, " ")
		if day, ok := columnDate([]byte(date)); ok {
			c.setDate(day)
			c.clock = [len(c.clock)]byte{}
			if _, _, _, ok := lex.ClockTime([]byte(clock)); ok {
				copy(c.clock[:], clock)
			}
		}
	}
}

func (c *columns) setFields(value string) {
	names := strings.Fields(value)
	c.named, c.fields, c.needed, c.quick = value, nil, nil, false
	c.local = slices.Contains(names, "time-local") && !slices.Contains(names, "time")
	if c.marker != "" && !slices.Contains(names, c.marker) {
		return
	}
	var best [numFields]int // places of the columns
	for i, name := range names {
		known := c.known[name]
		if strings.HasSuffix(name, "-local") && !c.local {
			known.field = noField
		}
		c.fields = append(c.fields, known.field)
		switch b := best[known.field]; {
		case i == b || c.fields[b] != known.field: // it is the first one
			best[known.field] = i
		case known.rank < c.known[names[b]].rank:
			c.fields[b], best[known.field] = noField, i
		default:
			c.fields[i] = noField
		}
	}
	skipped := 0
	for _, field := range c.fields {
		if skipped++; neededFields.Has(field) {
			c.needed = append(c.needed, neededColumn{skipped - 1, field})
			skipped = 0
		}
	}
	c.quick = len(c.needed) == 3
	for i, column := range c.needed {
		switch column.field {
		case Date:
			c.quick = c.quick && i < 2 && c.needed[i+1].field == Clock && c.needed[i+1].skipped == 0
		case Clock:
			c.quick = c.quick && i > 0 && c.needed[i-1].field == Date
		}
	}
	c.quick = c.quick && c.needed[0].field != c.needed[2].field && slices.ContainsFunc(c.needed, func(n neededColumn) bool { return n.field == Address })
}

// read reads a line with an IPv4 address and the date and time of the last one but for its
// seconds, and reports whether it could: split reads such a line with the same result.
func (c *columns) read(line []byte, times *timeReader) (record Record, ok bool) {
	if !c.quick || len(line) == 0 || line[0] <= '#' || line[0] == 0xef {
		return record, false
	}
	at := 0
	for i := range c.needed {
		needed := &c.needed[i]
		if needed.field == Clock { // it was read with its date
			continue
		}
		if needed.skipped > 0 {
			if at = wordsEnd(line, at, needed.skipped, true); at < 0 {
				return record, false
			}
		}
		for at < len(line) && lex.IsBlank(line[at]) {
			at++
		}
		if needed.field == Date {
			if !times.both.begins(line, at) {
				return record, false
			}
			at += times.both.size
			record.Day = times.bothDay
		} else {
			quoted := !c.plain && at < len(line) && line[at] == '"'
			if quoted {
				at++
			}
			addr, n := ipv4(line[at:])
			if at += n; n == 0 {
				return record, false
			}
			if record.Addr = addr; quoted {
				if at == len(line) || line[at] != '"' {
					return record, false
				}
				at++
			}
		}
		if at == len(line) || !lex.IsBlank(line[at]) {
			return record, false
		}
	}
	return record, true
}

// dateOf sets the date of a line that has only a time.
func (c *columns) dateOf(v *values) {
	clock := v[Clock]
	if _, _, _, ok := lex.ClockTime(clock); !ok || len(clock) < len(c.clock) {
		return
	}
	// Servers write lines a little out of order: a day has passed if the clock fell by
	// half a day. A line of the last ten minutes may still follow midnight, and counts
	// for the new day.
	if lex.Number(c.clock[:2])-lex.Number(clock[:2]) >= 12 {
		c.setDate(c.date + 1)
		copy(c.clock[:], clock)
	} else if late := string(c.clock[:4]) == "00:0" && string(clock[:4]) == "23:5"; !late && bytes.Compare(clock[:len(c.clock)], c.clock[:]) > 0 {
		copy(c.clock[:], clock)
	}
	v[Date] = c.text[:]
}

func (c *columns) setDate(day Day) {
	c.date, c.dated = day, true
	copy(c.text[:], day.String())
}

// columnDate reads a date written as 2006-01-02 or 02/Jan/2006.
func columnDate(b []byte) (Day, bool) {
	switch {
	case len(b) == dateLen:
		return isoDate(b)
	case len(b) == len("02/Jan/2006") && b[2] == '/' && b[6] == '/':
		return dateDay(lex.Number(b[7:]), lex.MonthNumber(b[3:6]), lex.Number(b[:2]))
	}
	return 0, false
}
