package accesslog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A Suggestion is a layout that reads lines in no known format.
type Suggestion struct {
	Layout string // for [ByLayout]; empty if there is none
	// Ambiguous reports whether its dates may also have the month first: the lines do not tell.
	Ambiguous bool
}

// SuggestLayout returns a layout that reads the address of most of the lines: it has the first public
// address, or else the first one, and the time of one of the first lines where they stand there; the
// request and the status if they are found; and names for all else.
func SuggestLayout(lines [][]byte) Suggestion {
	starts, tried := make([][]byte, len(lines)), 0
	for i, line := range lines {
		starts[i] = startOf(line)
	}
	for _, line := range starts {
		line = bytes.TrimRight(trimStart(line), "\r")
		if len(line) == 0 {
			continue
		}
		if tried++; tried > maxNearest {
			break
		}
		if s := suggestFor(line, starts); s.Layout != "" {
			return s
		}
	}
	return Suggestion{}
}

// startOf returns the part of a line in which its fields are searched: all times and addresses of access
// logs stand there.
func startOf(line []byte) []byte { return line[:min(len(line), 8<<10)] }

// suggestFor returns the layout of a line that reads the address of most of the lines. A time that is sure
// is better than one that is not, whatever is read.
func suggestFor(line []byte, lines [][]byte) (s Suggestion) {
	best, most := lineLayout{}, 0
	for _, order := range []dateOrder{unknownOrder, dayFirst, monthFirst} {
		for _, cut := range wordCutters {
			l := lineLayout{line: line, words: cut(line)}
			if !l.find(order) {
				continue
			}
			read := l.read(lines, false)
			switch {
			case read == 0, best.sure && !l.sure:
			case read > most, l.sure && !best.sure:
				best, most, s.Ambiguous = l, read, false
			case read == most && order == monthFirst && best.order == dayFirst:
				s.Ambiguous = true
			}
		}
	}
	if most == 0 {
		return s
	}
	best.addRequest(lines, most)
	best.addStatus(lines, most)
	s.Layout = best.text()
	return s
}

// hasTime reports whether a time stands anywhere in a line.
func hasTime(line []byte) bool {
	line = startOf(line)
	for _, cut := range wordCutters {
		l := lineLayout{line: line, words: cut(line)}
		for _, order := range []dateOrder{unknownOrder, dayFirst} {
			if l.findTime(order) {
				return true
			}
		}
	}
	return false
}

// A lineLayout is the layout that a line seems to have.
type lineLayout struct {
	line  []byte
	words []span
	marks []mark // in the order of the line
	order dateOrder
	sure  bool // the time is no number, which may also be something else, and no date alone
}

// A mark is a part of a line, of one or more words, that has a name in the layout.
type mark struct {
	span
	name string
}

// add adds a mark, unless a word of it has one.
func (l *lineLayout) add(m mark) bool {
	i := 0
	for ; i < len(l.marks) && l.marks[i].start < m.end; i++ {
		if l.marks[i].end > m.start {
			return false
		}
	}
	l.marks = slices.Insert(l.marks, i, m)
	return true
}

// find marks the time and the address, and reports whether there are both.
func (l *lineLayout) find(order dateOrder) bool {
	if !l.findTime(order) {
		return false
	}
	best, rank := span{}, 0
	for _, w := range l.words {
		inTime := slices.ContainsFunc(l.marks, func(m mark) bool { return w.start < m.end && m.start < w.end })
		if r := Rank(Address, string(l.value(w))); r > rank && !inTime {
			best, rank = w, r
		}
	}
	return rank > 0 && l.add(mark{best, "$remote_addr"})
}

func (l *lineLayout) value(s span) []byte { return l.line[s.start:s.end] }

// maxTimeWords is the number of words that a time may have.
const maxTimeWords = 7

// findTime marks the first time: best one with a date and a time of day, then these in two places, then a
// number or a date alone.
func (l *lineLayout) findTime(order dateOrder) bool {
	l.order = order
	var other mark
	for i, first := range l.words {
		for last := min(i+maxTimeWords, len(l.words)) - 1; last >= i; last-- {
			at := span{first.start, l.words[last].end}
			w, ok := readTime(l.value(at), order)
			switch {
			case !ok:
			case !w.dateOnly && !w.epoch:
				l.sure = true
				return l.add(mark{at, timeName(l.value(at), order)})
			case other.name == "":
				other = mark{at, timeName(l.value(at), order)}
			}
		}
	}
	return l.findDateAndClock(order) || other.name != "" && l.add(other)
}

// timeName returns the name of a time.
func timeName(value []byte, order dateOrder) string {
	w, ok := plainTime(value)
	switch {
	case ok && w.epoch:
		return "$msec"
	case ok && isStampDate(value):
		return "$time_local"
	case ok:
		return "$time_iso8601"
	}
	return "$time" + orderSuffix[order]
}

var (
	orderSuffix = [...]string{dayFirst: "_dmy", monthFirst: "_mdy"}
	dateFields  = [...]Field{Date, DateDayFirst, DateMonthFirst}
)

// findDateAndClock marks the first date, and the first time of day behind it. If there is none, none is
// behind a later date.
func (l *lineLayout) findDateAndClock(order dateOrder) bool {
	isDate := func(w span) bool { return Rank(dateFields[order], string(l.value(w))) > 0 }
	i := slices.IndexFunc(l.words, isDate)
	if i < 0 {
		return false
	}
	date := l.words[i]
	for _, clock := range l.words[i+1:] {
		if Rank(Clock, string(l.value(clock))) > 0 {
			name := "$date"
			if Rank(Date, string(l.value(date))) == 0 {
				name += orderSuffix[order]
			}
			l.sure = true
			return l.add(mark{date, name}) && l.add(mark{clock, "$clock"})
		}
	}
	return false
}

// maxCandidates bounds the words of a line that are tried as its request, and as its status: each is tried
// on all lines.
const maxCandidates = 8

// addRequest marks the request, or its method and what follows, if most lines are still read.
func (l *lineLayout) addRequest(lines [][]byte, most int) {
	tried := 0
	for i, w := range l.words {
		var marks []mark
		switch {
		case Rank(Request, string(l.value(w))) > 0:
			marks = []mark{{w, "$request"}}
		case isMethod(l.value(w)) && i+1 < len(l.words) && Rank(Path, string(l.value(l.words[i+1]))) > 0:
			marks = []mark{{w, "$request_method"}, {l.words[i+1], "$request_uri"}}
		default:
			continue
		}
		if tried++; tried > maxCandidates || l.extend(marks, lines, most, false) {
			return
		}
	}
}

// addStatus marks the status, if most lines are still read and have one there.
func (l *lineLayout) addStatus(lines [][]byte, most int) {
	tried := 0
	for _, w := range l.words {
		if Rank(Status, string(l.value(w))) == 0 {
			continue
		}
		if tried++; tried > maxCandidates || l.extend([]mark{{w, "$status"}}, lines, most, true) {
			return
		}
	}
}

// extend adds marks, and reports whether most lines are still read with them, and with a status if that is
// true. If not, the layout is as before.
func (l *lineLayout) extend(marks []mark, lines [][]byte, most int, status bool) bool {
	extended := *l
	extended.marks = slices.Clone(l.marks)
	for _, m := range marks {
		if !extended.add(m) {
			return false
		}
	}
	if extended.read(lines, status) < most {
		return false
	}
	*l = extended
	return true
}

// text returns the layout, with a name for each word up to the last mark.
func (l *lineLayout) text() string {
	var text strings.Builder
	end, marks := 0, l.marks
	for i, w := range l.words {
		if len(marks) == 0 {
			break
		}
		name := fmt.Sprintf("$field%d", i+1)
		switch {
		case w.start < end: // a further word of the time
			continue
		case w.start == marks[0].start:
			w, name, marks = marks[0].span, marks[0].name, marks[1:]
		}
		text.Write(l.line[end:w.start])
		text.WriteString(name)
		end = w.end
	}
	if end < len(l.line) {
		text.WriteByte(l.line[end])
		text.WriteString("$rest")
	}
	return text.String()
}

// read returns the number of lines of which the layout reads a time and an address, and if status is true
// a status; 0 if they are too few.
func (l *lineLayout) read(lines [][]byte, status bool) (n int) {
	format, err := ByLayout(l.text())
	if err != nil {
		return 0
	}
	parser, all := format.New(Options{Fields: Fields(Status)}), 0
	for _, line := range lines {
		if len(trimStart(line)) == 0 {
			continue
		}
		all++
		record, verdict := parser.Parse(line)
		if verdict != Parsed || !record.Addr.IsValid() {
			continue
		}
		if value, _ := parser.Values().Get(Status); !status || Rank(Status, string(value)) > 0 {
			n++
		}
	}
	if 10*n < 6*all {
		return 0
	}
	return n
}

// Rank returns how much a value is like one of a field: 0 if it is something else, and more the more
// likely it is. A list of addresses, or an array of them in JSON, ranks higher with a public one, and a
// time higher than a date alone. Only values of [Address], [Time], [Date], [Clock], [Status], [Request],
// [Method] and [Path] rank, and those of times and dates with the day or the month first.
func Rank(field Field, value string) int {
	switch base, order := field.ordered(); base {
	case Address:
		return rankAddress(value)
	case Time:
		w, ok := readTime([]byte(value), order)
		return rankIf(ok) * (1 + rankIf(!w.dateOnly))
	case Clock:
		_, ok := readClock([]byte(value))
		return rankIf(ok)
	case Date:
		_, ok := twoFieldDate([]byte(value), order)
		return rankIf(ok)
	case Request:
		method, rest, _ := strings.Cut(value, " ")
		return rankIf(isMethod([]byte(method)) && rest != "")
	case Status:
		return rankIf(slices.Contains(statuses, value))
	case Method:
		return rankIf(isMethod([]byte(value)))
	case Path:
		return rankIf(strings.HasPrefix(value, "/"))
	}
	return 0
}

func rankIf(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func rankAddress(value string) int {
	if array, ok := strings.CutPrefix(value, "[\""); ok {
		value, _, _ = strings.Cut(array, "\"")
	}
	first, _, _ := strings.Cut(value, ",")
	switch {
	case !address([]byte(strings.TrimSpace(first))).IsValid():
		return 0
	case !IsPublic(client([]byte(value), nil)):
		return 1
	}
	return 2
}

// statuses are those that servers answer with: other numbers of three digits are sizes or durations.
var statuses = strings.Fields(`101 200 201 202 203 204 206 207 301 302 303 304 307 308
	400 401 402 403 404 405 406 408 409 410 411 412 413 414 415 416 417 418 421 422 423 425 426 428 429 431 444 451 499
	500 501 502 503 504 505 507 508 511 520 521 522 523 524 525 526 527 530`)

// isMethod reports whether a word is a method of HTTP.
func isMethod(word []byte) bool {
	return slices.Contains(methods, string(word))
}

var methods = []string{"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"}
