package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"skidway/distribute/accesslog"
)

// advice says what to do about a file in no known format.
func (e *explainedFile) advice() string {
	wrapper := e.Format.Wrapper()
	if len(e.lines) == 0 {
		return e.path + " has no line that can be explained"
	}
	if kind := e.Format.Keyed(); kind != "" {
		return fmt.Sprintf("%s has no known format. Name the keys of its address and its time%s: skidway logs count --format %s%s --field address=%s%s %s",
			e.path, timelessText(e.sample), wrapper, kind, keyText(addressKey(e.sample), "ADDRESS_KEY"), timeOptions(e.sample), shellText(e.path))
	}
	if e.layout != "" {
		return fmt.Sprintf("%s has no known format: what is shown above is how the nearest one fails. This layout reads it (first line: %s; if that is not the client, put $remote_addr where its address is): skidway logs count --format %s%s %s",
			e.path, e.reads, wrapper, shellText(e.layout), shellText(e.path))
	}
	return fmt.Sprintf("%s has no known format. If a server's configuration has a layout for it (log_format, LogFormat), give it: skidway logs count --format %s'…' %s",
		e.path, wrapper, shellText(e.path))
}

// timelessText says that lines have no time; it is empty if they have one.
func timelessText(lines []accesslog.LineExplanation) string {
	if bestKey(lines, accesslog.RankTime, nil) != "" {
		return ""
	}
	return " (no value of its first lines is a time in a notation that is read, and without one no line is counted)"
}

// timeOptions returns the options for the time of lines, which may be in two values.
func timeOptions(lines []accesslog.LineExplanation) string {
	key := bestKey(lines, accesslog.RankTime, []string{"expir", "modif", "birth"})
	clock := bestKey(lines, accesslog.RankClock, nil)
	if clock != "" && bestKey(lines, wholeTime, nil) == "" {
		return " --field date=" + keyText(key, "") + " --field clock=" + keyText(clock, "")
	}
	return " --field time=" + keyText(key, "TIME_KEY")
}

// wholeTime ranks the times that are no dates alone.
func wholeTime(value string) int { return max(0, accesslog.RankTime(value)-1) }

// addressKey returns the key of the client's address; empty if there is none.
func addressKey(lines []accesslog.LineExplanation) string {
	return bestKey(lines, accesslog.RankAddress, []string{"server", "upstream", "local", "backend", "dest", "dst", "listen", "bind", "host", "proxy"})
}

// bestKey returns the key under which the values of lines rank highest together; of several the
// one with more different values, because servers write their own address into each line, and
// then the first one. Keys with an unlikely word in their names come last. It is empty if no value
// ranks.
func bestKey(lines []accesslog.LineExplanation, rank func(value string) int, unlikely []string) (best string) {
	var most [3]int // likely, ranks, different values
	for _, field := range lines[0].Fields {
		sum, values := 0, map[string]bool{}
		for _, line := range lines {
			i := slices.IndexFunc(line.Fields, func(f accesslog.FieldValue) bool { return f.Name == field.Name })
			if i >= 0 {
				sum, values[line.Fields[i].Value] = sum+rank(line.Fields[i].Value), true
			}
		}
		name, score := strings.ToLower(field.Name), [3]int{1, sum, len(values)}
		if slices.ContainsFunc(unlikely, func(word string) bool { return strings.Contains(name, word) }) {
			score[0] = 0
		}
		if sum > 0 && slices.Compare(score[:], most[:]) > 0 {
			best, most = field.Name, score
		}
	}
	return best
}

// keyText returns a key as a shell takes it; the placeholder if it is empty.
func keyText(key, placeholder string) string {
	if strings.ContainsFunc(key, func(r rune) bool {
		return r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return shellText(key)
	}
	return cmp.Or(key, placeholder)
}

// shellText returns a text as a shell takes it; it may have tabs, which a terminal does not show.
func shellText(text string) string {
	if strings.Contains(text, "\t") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`).Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
