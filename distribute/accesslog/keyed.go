package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/distribute/accesslog/formats"
	"skidway/distribute/accesslog/internal/lex"
)

// logfmt is the splitter of lines of key=value pairs with blanks between; values may
// stand in double quotes.
type logfmt struct{ keys map[string]Field }

func (l logfmt) state() string { return "" }

// split implements [splitter].
func (l logfmt) split(line []byte, v *values, _ scope) Verdict {
	*v = values{}
	for key, value := range logfmtPairs(line) {
		if field := l.keys[string(key)]; field != noField && v[field] == nil {
			v[field] = value
		}
	}
	return v.complete()
}

// logfmtPairs returns the pairs of a line; words without a = are skipped.
func logfmtPairs(line []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		for line = bytes.TrimRight(trimStart(line), " \r"); len(line) > 0; line = bytes.TrimLeft(line, " ") {
			end := bytes.IndexAny(line, " =")
			if end < 0 {
				return
			}
			key := line[:end]
			if line[end] == ' ' {
				line = line[end:]
				continue
			}
			line = line[end+1:]
			var value []byte
			if len(line) > 0 && line[0] == '"' {
				quote := lex.StringEnd(line, 1)
				if quote < 0 {
					return
				}
				value, line = line[1:quote], line[quote+1:]
			} else {
				if end = bytes.IndexByte(line, ' '); end < 0 {
					end = len(line)
				}
				value, line = line[:end], line[end:]
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// keyedNames are the names of what [ByKeys] makes, before the keys.
var keyedNames = []string{"json", "logfmt", columnsName}

// columnsName is the name of the Extended Log File Format.
const columnsName = "w3c"

// ByKeys returns the format of lines whose values have keys of the user's own: JSON
// objects ("json"; a dot stands between the key of an object and a key in it), or pairs
// key=value ("logfmt"). The keys of [Address] and [Time] are needed; [Date] and [Clock] are a time
// with two keys. The keys of "w3c" are columns of #Fields, and none is needed: each is read
// instead of those that the format has for its field. [TimeDayFirst] and the like are for dates such as 10/12/2025: without them a time with
// such a date is none.
func ByKeys(kind string, keys map[Field]string) (Format, error) {
	if !slices.Contains(keyedNames, kind) {
		return Format{}, fmt.Errorf("format %q has no keys: they are of lines in json, logfmt or w3c", kind)
	}
	var parts []string
	paths, fields, order := map[Field][]string{}, map[string]Field{}, unknownOrder
	for _, given := range slices.Sorted(maps.Keys(keys)) {
		key := keys[given]
		field, dateOrder := given.ordered()
		if strings.ContainsAny(key, ",\x00\n") || kind != columnsName && strings.ContainsAny(key, "()") {
			return Format{}, fmt.Errorf("format %s: the key %q has a comma or a bracket", kind, key)
		}
		if fields[key] != noField {
			return Format{}, fmt.Errorf("format %s: the key %q is given for %s and for %s", kind, key, fields[key], field)
		}
		if paths[field] != nil {
			return Format{}, fmt.Errorf("format %s: %s is a second key of the %s", kind, key, field)
		}
		parts = append(parts, given.String()+"="+key)
		paths[field], fields[key], order = []string{key}, field, max(order, dateOrder)
	}
	if kind == columnsName {
		return columnFormat(paths, kind+"("+strings.Join(parts, ",")+")", order)
	}
	if paths[Address] == nil || paths[Time] == nil && (paths[Date] == nil || paths[Clock] == nil) {
		return Format{}, fmt.Errorf("format %s: name the keys of the address and of the time", kind)
	}
	f := Format{name: kind + "(" + strings.Join(parts, ",") + ")", unit: time.Second, order: order}
	if kind == "json" {
		return objectFormat(f, paths, formats.Logger{}), nil
	}
	f.splitter, f.fields = func(string) splitter { return logfmt{fields} }, fields
	return f, nil
}

// keyedByName returns the format of a name that ByKeys gave; ok reports whether name may be one.
func keyedByName(name string) (f Format, ok bool, err error) {
	kind, rest, found := strings.Cut(name, "(")
	if !slices.Contains(keyedNames, kind) || kind == columnsName && !found {
		return f, false, nil
	}
	if !found || !strings.HasSuffix(rest, ")") {
		return f, true, fmt.Errorf("format %s: name the keys of the address and of the time", kind)
	}
	keys := map[Field]string{}
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
		field, key, err := ParseKey(part)
		if err != nil {
			return f, true, err
		}
		if keys[field] != "" {
			return f, true, fmt.Errorf("format %s: %s and %s are two keys of the %s", kind, keys[field], key, field)
		}
		keys[field] = key
	}
	f, err = ByKeys(kind, keys)
	return f, true, err
}

// ParseKey reads a field and its key, such as "address=client.ip".
func ParseKey(text string) (Field, string, error) {
	name, key, found := strings.Cut(text, "=")
	if !found || key == "" {
		return noField, "", errors.New("write a field and its key, such as address=client.ip")
	}
	for _, field := range keyFields {
		if field.String() == name {
			return field, key, nil
		}
	}
	var known []string
	for _, field := range keyFields {
		known = append(known, field.String())
	}
	return noField, "", fmt.Errorf("unknown field %q: use one of %s", name, strings.Join(known, ", "))
}

// keyFields are the fields that a key of the user's own can be for.
var keyFields = []Field{Address, Time, TimeDayFirst, TimeMonthFirst, Date, DateDayFirst, DateMonthFirst, Clock, Status, Request, Method, Host, Path, Protocol, Referrer, Agent, User, Bytes, Duration, Country}

// objectFormat completes a format whose lines are JSON objects, of a logger if that has a key.
func objectFormat(f Format, paths map[Field][]string, logger formats.Logger) Format {
	known := newObjectPaths(paths, logger)
	f.splitter, f.keys = func(string) splitter { return &objects{objectPaths: known} }, paths
	return f
}

// columnFormat returns the Extended Log File Format with other columns for some fields.
func columnFormat(columns map[Field][]string, name string, order dateOrder) (Format, error) {
	f := w3c
	fields := mustFields(f.declared.Fields)
	if columns[Time] != nil { // instead of a date and a time of day
		delete(fields, Date)
		delete(fields, Clock)
	}
	for field, named := range columns {
		if strings.ContainsAny(named[0], " \t") {
			return Format{}, fmt.Errorf("format %s: the column %q has a blank", columnsName, named[0])
		}
		fields[field] = named
	}
	known := columnFields(fields)
	for field, named := range columns {
		known[named[0]] = columnName{field: field} // which may have been another field's
	}
	f.name, f.declared, f.order = name, nil, order
	f.splitter = func(state string) splitter { return newColumns(known, "", state) }
	return f, nil
}

// Keyed returns "json" or "logfmt" if the format's lines have keys, and else nothing.
func (f Format) Keyed() string {
	switch f = f.plain(); {
	case f.keys != nil:
		return "json"
	case f.fields != nil:
		return "logfmt"
	}
	return ""
}

// HasObjects reports whether the format's lines are JSON objects, or may be in some.
func (f Format) HasObjects() bool {
	isObject := func(l *layout) bool { return strings.HasPrefix(l.head, "{") }
	return f.keys != nil || f.inner != nil || slices.ContainsFunc(f.layouts, isObject)
}
