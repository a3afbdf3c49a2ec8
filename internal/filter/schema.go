package filter

import (
	"net/netip"
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
	Address              // of the Internet; a constant may be a network, such as "10.0.0.0/8"
)

// A Field is a field of the records.
type Field struct {
	Name  string
	Type  Type
	Words []string // the only texts that it can have; nil: any
	Named bool     // names follow it, as in args.user.id; alone it has no value

	// Definite makes each comparison with a missing value false, also that with !=. A comparison
	// with nil is refused.
	Definite bool
	// Check returns an error for a constant with which an operator never holds, or always does;
	// nil accepts all. It is not called for parts of texts.
	Check func(op, constant string) error
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

// Number returns the number of the field with a name, -1 for none.
func (s Schema) Number(name string) int {
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
	addr  netip.Addr
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
	address
	unknown
)

// Unknown is a value of which nothing is known, for the matchers of [Filter.Bounds].
var Unknown = Value{kind: unknown}

// OfText returns a text.
func OfText(text string) Value { return Value{kind: oneText, text: text} }

// OfTexts returns several texts.
func OfTexts(texts []string) Value { return Value{kind: manyTexts, texts: texts} }

// OfInt returns a whole number.
func OfInt(n int64) Value { return Value{kind: whole, n: n} }

// OfDuration returns a duration.
func OfDuration(d time.Duration) Value { return Value{kind: whole, n: int64(d)} }

// OfAddress returns an address; an invalid one is missing.
func OfAddress(addr netip.Addr) Value {
	if !addr.IsValid() {
		return Value{}
	}
	return Value{kind: address, addr: addr}
}

// OfTime returns a time; the zero time is missing.
func OfTime(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return Value{kind: whole, n: t.UnixMicro()}
}

// words lists the words of the field, for an error.
func (f Field) words() string {
	list := slices.Clone(f.Words)
	if i := slices.Index(list, ""); i >= 0 {
		list[i] = `""`
	}
	return strings.Join(list, ", ")
}

// list returns the names of the fields.
func (s Schema) list() []string {
	names := make([]string, len(s))
	for i, field := range s {
		names[i] = field.Name
	}
	return names
}

// Suggest returns the end of an error about an unknown word: the known word that is most like
// it. It is empty if there is none.
func Suggest(word string, known []string) string {
	best, least := "", min(3, len(word))
	for _, other := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(other)); d < least {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance returns the number of bytes to add, remove or replace to make one text of another one
// (the distance of Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
