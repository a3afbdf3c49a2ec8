package rdb

import (
	"fmt"
	"strconv"
	"time"
)

// A Reply is what a script returned. Its methods return the zero value for what
// is not there.
type Reply struct {
	Op     string // what the script does, for errors
	Word   string // "ok", or another of the package's [Words]
	Values []any  // what follows the word: texts, int64 numbers, lists, nil
}

// Len returns the number of values.
func (r Reply) Len() int { return len(r.Values) }

// Text returns the value at i as text.
func (r Reply) Text(i int) string {
	if i >= len(r.Values) {
		return ""
	}
	switch value := r.Values[i].(type) {
	case string:
		return value
	case int64:
		return strconv.FormatInt(value, 10)
	}
	return ""
}

// Int returns the value at i as a number.
func (r Reply) Int(i int) int64 {
	if i < len(r.Values) {
		if n, ok := r.Values[i].(int64); ok {
			return n
		}
	}
	n, _ := strconv.ParseInt(r.Text(i), 10, 64)
	return n
}

// Uint returns the value at i as a number, 0 if it is negative.
func (r Reply) Uint(i int) uint64 { return uint64(max(r.Int(i), 0)) }

// Time returns the time at i, which Redis has in ms, or the zero time if it is
// not above 0.
func (r Reply) Time(i int) time.Time {
	if ms := r.Int(i); ms > 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// List returns the list at i.
func (r Reply) List(i int) Reply {
	if i >= len(r.Values) {
		return Reply{Op: r.Op}
	}
	values, _ := r.Values[i].([]any)
	return Reply{Op: r.Op, Values: values}
}

// From returns the reply without its first n values.
func (r Reply) From(n int) Reply {
	_, rest := r.Cut(n)
	return rest
}

// Cut returns the first n values, and the others.
func (r Reply) Cut(n int) (first, rest Reply) {
	n = max(0, min(n, len(r.Values)))
	first, rest = r, r
	first.Values, rest.Values = r.Values[:n], r.Values[n:]
	return first, rest
}

// Texts returns all values as text.
func (r Reply) Texts() []string {
	texts := make([]string, len(r.Values))
	for i := range texts {
		texts[i] = r.Text(i)
	}
	return texts
}

// reply sorts out what a script returned, by the words of its package.
func (s *Script) reply(value any) (Reply, error) {
	r := Reply{Op: s.op}
	list, isList := value.([]any)
	switch {
	case value == nil:
		return r, nil
	case !isList:
		r.Values = []any{value}
		return r, nil
	case s.words == nil:
		r.Values = list
		return r, nil
	}
	r.Values = list
	r.Word, r.Values = r.Text(0), r.From(1).Values
	if r.Word == "ok" {
		return r, nil
	}
	refuse, known := s.words[r.Word]
	if !known {
		return r, fmt.Errorf("%s: unexpected answer %.40q from the script", s.op, r.Word)
	}
	if refuse == nil {
		return r, nil
	}
	return r, refuse(r)
}
