package filter

import (
	"slices"
	"strings"
	"time"
)

// A Type is the type of the values of a field.
type Type int

// The types.
const (
	Text     Type = iota // one text or several
	Number               // whole or not
	Time                 // compared in whole microseconds
	Duration             //
	Any                  // a value of JSON: a text, a number, true, false or null; objects and arrays are texts
)

// A Field is a field of the records.
type Field struct {
	Name  string
	Type  Type
	Words []string // the only texts that it can have; nil: any
	Named bool     // names follow it, as in args.user.id; alone it has no value
}

// A Schema is the fields of records. The place of a field in it is its number.
type Schema []Field

// names lists the fields as a filter may write them.
func (s Schema) names() string {
	var names []string
	for _, field := range s {
		name := field.Name
		if field.Named {
			name += ".NAME"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// find returns the number of the field with a name, -1 for none.
func (s Schema) find(name string) int {
	return slices.IndexFunc(s, func(f Field) bool { return f.Name == name })
}

// A Record has the values of the fields of a schema.
type Record interface {
	// Value returns the value of the field with a number. path has the names that follow the
	// field if it is [Field.Named].
	Value(field int, path []string) Value
}

// A Value is the value of a field. The zero value is a missing one.
type Value struct {
	kind  valueKind
	text  string   // of a text, and of JSON as it is written
	texts []string // of several
	n     int64    // whole number, microseconds since 1970, nanoseconds; 1 for true
	f     float64  // number that is not whole
}

type valueKind uint8

const (
	missing valueKind = iota
	oneText
	manyTexts
	whole
	fraction
	boolean
	other // an object or an array of JSON
)

// OfText returns a text.
func OfText(text string) Value { return Value{kind: oneText, text: text} }

// OfTexts returns several texts.
func OfTexts(texts []string) Value { return Value{kind: manyTexts, texts: texts} }

// OfInt returns a whole number.
func OfInt(n int64) Value { return Value{kind: whole, n: n} }

// OfDuration returns a duration.
func OfDuration(d time.Duration) Value { return Value{kind: whole, n: int64(d)} }

// OfTime returns a time; the zero time is missing.
func OfTime(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return Value{kind: whole, n: t.UnixMicro()}
}
