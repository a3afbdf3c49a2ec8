package logs

import (
	"fmt"
	"slices"
	"strings"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/accesslog"
)

// advice says what to do about a file in no known format.
func (e *explainedFile) advice() string {
	known := e.path + " has no known format. "
	switch {
	case len(e.lines) == 0:
		return e.path + " has no line that can be explained"
	case e.hasColumns() && e.reads == "":
		return known + "Its #Fields lines name its columns: the server must log c-ip, date and time, and each line must have them"
	case e.reads != "" && e.layout != "":
		return fmt.Sprintf("%sThe layout that is proposed reads %s. If its address is not the client's, put the name $remote_addr where that is%s: %s",
			known, e.reads, e.ambiguousText(), e.command())
	case e.reads != "":
		return fmt.Sprintf("%sThe keys that are proposed read %s. If the address is not the client's, name its key%s: %s", known, e.reads, e.ambiguousText(), e.command())
	case e.options != "":
		return fmt.Sprintf("%sName the keys of its address and its time%s: %s", known, timelessText(e.sample), e.command())
	}
	return known + "If a server's configuration has a layout for it (log_format, LogFormat), give it: " + e.command()
}

// hasColumns reports whether a line of the file names its columns, which are not those that the format needs.
func (e *explainedFile) hasColumns() bool { return e.Format.Name() == e.Format.Wrapper()+"w3c" }

// command returns the command that counts the file.
func (e *explainedFile) command() string {
	if e.options == "" {
		return fmt.Sprintf("skidway logs count --format %s'…' %s", e.Format.Wrapper(), cli.ShellText(e.path))
	}
	return fmt.Sprintf("skidway logs count %s %s", e.options, cli.ShellText(e.path))
}

// ambiguousText says that the day of dates may be the month; it is empty if it is known.
func (e *explainedFile) ambiguousText() string {
	if !e.ambiguous {
		return ""
	}
	return "; if its dates have the month first, write _mdy for _dmy"
}

// advise sets the options that read a file in no known format, and what they read of its lines.
func (e *explainedFile) advise(lines [][]byte) {
	if kind := e.Format.Keyed(); kind != "" && len(e.sample) > 0 {
		var pairs []string
		e.options = "--format " + e.Format.Wrapper() + kind
		for _, k := range chooseKeys(e.sample) {
			e.options += " --field " + k.field.String() + "=" + keyText(k.name, strings.ToUpper(k.field.String())+"_KEY")
			pairs = append(pairs, k.field.String()+"="+k.name)
			e.ambiguous = e.ambiguous || k.isAmbiguous(e.sample)
		}
		e.propose(e.Format.Wrapper()+kind+"("+strings.Join(pairs, ",")+")", lines)
		if e.reads != "" || kind == "json" {
			return
		}
	}
	if e.hasColumns() {
		if name := addressKey(e.sample); name != "" && !strings.HasPrefix(name, "s-") { // that of the server
			e.options = fmt.Sprintf("--format %s --field address=%s", e.Format.Name(), keyText(name, ""))
			e.propose(e.Format.Name()+"(address="+name+")", lines)
		}
		return
	}
	if s := accesslog.SuggestLayout(e.Format.Unwrapped(lines)); s.Layout != "" {
		e.layout, e.ambiguous, e.options = s.Layout, s.Ambiguous, "--format "+e.Format.Wrapper()+cli.ShellText(s.Layout)
		e.propose(e.Format.Wrapper()+s.Layout, lines)
	}
}

// propose sets what a format reads of lines, and explains them in it, unless it reads none.
func (e *explainedFile) propose(name string, lines [][]byte) {
	format, err := accesslog.ByName(name)
	if err != nil {
		return // a key is not known
	}
	first := ""
	parser, zone := format.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Time)}), ""
	for _, line := range lines {
		if record, verdict := parser.Parse(line); verdict == accesslog.Parsed {
			first = recordText(record)
			if at, ok := parser.Values().Time(); ok && !at.Zoned {
				zone = "; its times have no zone (--log-tz)"
			}
			break
		}
	}
	if first == "" {
		return
	}
	c := format.ExplainLines(lines)
	e.reads = fmt.Sprintf("%d of its first %d lines, the first one with %s%s", c.Votes, c.Lines, first, zone)
	if c.Votes < c.Lines {
		e.reads += "; the other lines are counted as unparsable"
	}
	e.lines = explained(format, lines, len(e.lines))
}

// timelessText says that lines have no time; it is empty if they have one.
func timelessText(lines []accesslog.LineExplanation) string {
	if timeKeys(lines)[0].name != "" {
		return ""
	}
	return " (no value of its first lines is a time in a notation that is read, and without one no line is counted)"
}

// A fieldKey is the key of a field; the name is empty if it is not known.
type fieldKey struct {
	field accesslog.Field
	name  string
}

// chooseKeys returns the keys of the address and the time, and those of the request and the status that
// are found.
func chooseKeys(lines []accesslog.LineExplanation) []fieldKey {
	keys := append([]fieldKey{{accesslog.Address, addressKey(lines)}}, timeKeys(lines)...)
	for _, field := range []accesslog.Field{accesslog.Status, accesslog.Request, accesslog.Method, accesslog.Path} {
		name, sum := bestKey(lines, field)
		if 2*sum > len(lines) {
			keys = append(keys, fieldKey{field, name})
		}
	}
	return keys
}

// timeKeys returns the keys of the time of lines, which may be in two values.
func timeKeys(lines []accesslog.LineExplanation) []fieldKey {
	best := likeliestKey(lines, accesslog.Time, accesslog.TimeDayFirst, accesslog.TimeMonthFirst)
	for _, line := range lines {
		for _, value := range line.Fields {
			if value.Name == best.name && accesslog.Rank(best.field, value.Value) > 1 {
				return []fieldKey{best}
			}
		}
	}
	date, clock := likeliestKey(lines, accesslog.Date, accesslog.DateDayFirst, accesslog.DateMonthFirst), likeliestKey(lines, accesslog.Clock)
	if date.name != "" && clock.name != "" {
		return []fieldKey{date, clock}
	}
	return []fieldKey{best}
}

// likeliestKey returns the key of one of some fields that ranks highest; the first field without a key
// if none does.
func likeliestKey(lines []accesslog.LineExplanation, fields ...accesslog.Field) fieldKey {
	best, most := fieldKey{field: fields[0]}, 0
	for _, field := range fields {
		if name, sum := bestKey(lines, field, "expir", "modif", "birth"); sum > most {
			best, most = fieldKey{field, name}, sum
		}
	}
	return best
}

// isAmbiguous reports whether the values of the key are dates that may also have the month first.
func (k fieldKey) isAmbiguous(lines []accesslog.LineExplanation) bool {
	monthFirst, ok := map[accesslog.Field]accesslog.Field{
		accesslog.TimeDayFirst: accesslog.TimeMonthFirst, accesslog.DateDayFirst: accesslog.DateMonthFirst,
	}[k.field]
	return ok && likeliestKey(lines, monthFirst, k.field) == fieldKey{monthFirst, k.name}
}

// addressKey returns the key of the client's address; empty if there is none.
func addressKey(lines []accesslog.LineExplanation) string {
	key, _ := bestKey(lines, accesslog.Address, "server", "upstream", "local", "backend", "dest", "dst", "listen", "bind", "host", "proxy")
	return key
}

// bestKey returns the key under which the values of lines rank highest together, and the sum of the
// ranks; of several keys the one with more different values, because servers write their own address
// into each line, and then the first one. Keys with an unlikely word in their names come last. It is
// empty if no value ranks.
func bestKey(lines []accesslog.LineExplanation, field accesslog.Field, unlikely ...string) (best string, sum int) {
	var most [3]int // likely, ranks, different values
	for _, key := range keysOf(lines) {
		sum, values := 0, map[string]bool{}
		for _, line := range lines {
			i := slices.IndexFunc(line.Fields, func(f accesslog.FieldValue) bool { return f.Name == key })
			if i >= 0 {
				sum, values[line.Fields[i].Value] = sum+accesslog.Rank(field, line.Fields[i].Value), true
			}
		}
		name, score := strings.ToLower(key), [3]int{1, sum, len(values)}
		if slices.ContainsFunc(unlikely, func(word string) bool { return strings.Contains(name, word) }) {
			score[0] = 0
		}
		if sum > 0 && slices.Compare(score[:], most[:]) > 0 {
			best, most = key, score
		}
	}
	return best, most[1]
}

// keysOf returns the keys of lines, in the order in which they are first found.
func keysOf(lines []accesslog.LineExplanation) (keys []string) {
	seen := map[string]bool{}
	for _, line := range lines {
		for _, field := range line.Fields {
			if !seen[field.Name] {
				seen[field.Name] = true
				keys = append(keys, field.Name)
			}
		}
	}
	return keys
}

// keyText returns a key as a shell takes it; the placeholder if it is empty.
func keyText(key, placeholder string) string {
	if key == "" {
		return placeholder
	}
	return cli.ShellWord(key)
}
