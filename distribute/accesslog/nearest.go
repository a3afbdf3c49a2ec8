package accesslog

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"skidway/distribute/accesslog/wrappers"
)

// A NoFormatError is the error for a file in no known format. It wraps [ErrNoFormat].
type NoFormatError struct {
	Nearest string // the name of the format that reads most of the first lines
	Problem string // what of the first such line it cannot read
}

// Error returns a text that names the nearest format and what does not match.
func (e *NoFormatError) Error() string {
	return fmt.Sprintf("%v: the nearest is %s, but %s", ErrNoFormat, e.Nearest, e.Problem)
}

// Unwrap returns ErrNoFormat.
func (e *NoFormatError) Unwrap() error { return ErrNoFormat }

// noFormat returns the error for lines that have no known format.
func noFormat(lines [][]byte) error {
	if kind := OtherLog("", lines); kind != "" {
		return &OtherLogError{kind}
	}
	format, first := nearestOf(lines)
	if problem := format.Mismatch(lines[first:]); problem != "" {
		return &NoFormatError{format.name, problem}
	}
	return ErrNoFormat
}

// Mismatch returns what of the first line that is not blank and that the format cannot read does not
// match, with the keys that the line has where one is missing. It is empty if there is no such line.
func (f Format) Mismatch(lines [][]byte) string {
	explain := f.Explainer()
	for _, line := range lines {
		e := explain(line)
		if e.Problem == "" || len(trimStart(line)) == 0 {
			continue
		}
		if strings.HasPrefix(e.Problem, missingKey) && len(e.Fields) > 0 {
			var keys []string
			for _, field := range e.Fields[:min(len(e.Fields), maxShownKeys)] {
				keys = append(keys, strconv.Quote(string(shortened([]byte(field.Name)))))
			}
			return e.Problem + ", only " + strings.Join(keys, ", ")
		}
		return e.Problem
	}
	return ""
}

// maxShownKeys is the number of keys of a line that are shown where one is missing.
const maxShownKeys = 12

// maxNearest is the number of lines, of those that are not blank, that decide on the nearest format.
const maxNearest = 20

// nearestOf returns the format that is nearest to most of the first lines, and the place of the first of
// these lines: an application also writes how it was started. A line that names the columns of those
// behind it decides alone.
func nearestOf(lines [][]byte) (format Format, first int) {
	type candidate struct {
		format Format
		first  int
		votes  int
	}
	var candidates []candidate
	best, seen := candidate{format: combined}, 0
	for at, line := range lines {
		if line = trimStart(line); len(line) == 0 {
			continue
		}
		if seen++; seen > maxNearest {
			break
		}
		f := nearest(line, maxWrappers)
		if f.plain().name == w3c.name {
			return f, at
		}
		i := slices.IndexFunc(candidates, func(c candidate) bool { return c.format.name == f.name })
		if i < 0 {
			i = len(candidates)
			candidates = append(candidates, candidate{format: f, first: at})
		}
		if candidates[i].votes++; candidates[i].votes > best.votes {
			best = candidates[i]
		}
	}
	return best.format, best.first
}

// nearest returns the format that reads most of a line, in at most depth wrappers.
func nearest(line []byte, depth int) Format {
	for i := range wrappers.All {
		record, ok := wrappers.All[i].Peel(line, nil)
		if !ok || depth == 0 {
			continue
		}
		inner := trimStart(record.Inner)
		alone := slices.Contains(timesAlone, wrappers.All[i].Name) || wrappers.All[i].Name == "cri" && countPairs(inner) < 3
		if alone && !isObject(inner) && !hasTime(inner) {
			continue // the line's only time
		}
		if wrappers.All[i].Name == "message" && !isObject(inner) && countPairs(inner) < 3 {
			continue // a text of its own, in an object that has the fields
		}
		return wrapped(&wrappers.All[i], nearest(inner, depth-1))
	}
	if bytes.HasPrefix(line, []byte("#Fields:")) {
		return w3c
	}
	if isObject(line) {
		return nearestObject(line)
	}
	if countPairs(line) >= 3 {
		return unknownPairs
	}
	best, most := combined, combined.readOf(line)
	for _, f := range table {
		if n := f.readOf(line); n > most {
			best, most = f, n
		}
	}
	return best
}

// readOf returns how much of a line the format reads: the number of values, and one more for an
// address that is one.
func (f Format) readOf(line []byte) (n int) {
	for _, value := range f.Explainer()(line).Fields {
		if n++; variables[value.Name].field == Address && Rank(Address, value.Value) > 0 {
			n++
		}
	}
	return n
}

// nearestObject returns the format whose keys of the address, the time and other fields most of an
// object's are.
func nearestObject(line []byte) Format {
	best, most := unknownJSON, 0
	for _, f := range table {
		if f.keys == nil {
			continue
		}
		var v values
		f.splitter("").split(line, &v, wanted)
		n := 0
		for _, value := range v[:logger] {
			if value != nil {
				n++
			}
		}
		if n > most && (v[Address] != nil || v[Time] != nil || v[Date] != nil) {
			best, most = f, n
		}
	}
	return best
}

// timesAlone are the wrappers that may be the first fields of a line without one.
var timesAlone = []string{"timestamp", "fluentd"}

func isObject(line []byte) bool {
	scan := objectScan{line: line, found: func(string, string) {}}
	return len(line) > 0 && line[0] == '{' && scan.object(0, nil) >= 0
}

func countPairs(line []byte) (n int) {
	for range logfmtPairs(line) {
		n++
	}
	return n
}
