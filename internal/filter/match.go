package filter

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// A Matcher reports whether a record matches a filter. It is safe for concurrent use.
type Matcher func(Record) bool

// Matcher returns the matcher of the filter for a time that is now.
func (f *Filter) Matcher(now time.Time) Matcher { return f.MatcherUntil(now, nil) }

// MatcherUntil is Matcher for records of which one alone may take too long: a regular expression
// that takes more than a millisecond calls stop again and again, and ends when it returns
// true. What the matcher returns then means nothing. It is not safe for concurrent use unless
// stop is.
func (f *Filter) MatcherUntil(now time.Time, stop func() bool) Matcher {
	if f.root == nil {
		return func(Record) bool { return true }
	}
	return f.root.matcher(setting{now: now, stop: stop})
}

// Bounds returns two matchers for records of which values may be [Unknown]: certain reports
// whether a record matches whatever they are, and possible whether it may. Conditions are judged
// one by one: of two about an unknown value that never hold together, each one may.
func (f *Filter) Bounds(now time.Time) (certain, possible Matcher) {
	if f.root == nil {
		return f.Matcher(now), f.Matcher(now)
	}
	of := func(holds bool) Matcher { return f.root.matcher(setting{now: now, partial: true, unknown: holds}) }
	return of(false), of(true)
}

// A setting is what a matcher knows beside its condition.
type setting struct {
	now  time.Time
	stop func() bool // nil: never

	partial bool // values may be unknown
	unknown bool // whether comparisons of these hold
}

// A condition is true or false for a record.
type condition interface {
	matcher(setting) Matcher
	append(text []byte, inside rank) []byte // its text, in parentheses if it needs them there
	each(func(*comparison))                 // calls a function for all its comparisons
}

// conjuncts calls a function for the comparisons of which all must hold, and the negated and
// joined conditions among them are left out.
func conjuncts(c condition, f func(*comparison)) {
	switch c := c.(type) {
	case *junction:
		if !c.or {
			conjuncts(c.left, f)
			conjuncts(c.right, f)
		}
	case *comparison:
		f(c)
	}
}

// Split returns two filters that both match where the filter matches: the first one has the
// conditions that use only fields which a function accepts.
func (f *Filter) Split(accepts func(field int) bool) (accepted, rest *Filter) {
	accepted, rest = &Filter{schema: f.schema}, &Filter{schema: f.schema}
	var add func(condition)
	add = func(c condition) {
		if j, ok := c.(*junction); ok && !j.or {
			add(j.left)
			add(j.right)
			return
		}
		to := accepted
		c.each(func(c *comparison) {
			if !accepts(c.ref.number) {
				to = rest
			}
		})
		if to.root != nil {
			c = &junction{left: to.root, right: c}
		}
		to.root = c
	}
	if f.root != nil {
		add(f.root)
	}
	return accepted, rest
}

// IsEmpty reports whether everything matches because there is no condition.
func (f *Filter) IsEmpty() bool { return f.root == nil }

// Allows reports whether a record can match whose field with a number has a value: it is false
// only if a comparison that must hold does not.
func (f *Filter) Allows(field int, value Value) bool {
	allows := true
	conjuncts(f.root, func(c *comparison) {
		if c.ref.number == field && c.ref.path == nil {
			allows = allows && c.matcher(setting{})(only{value})
		}
	})
	return allows
}

// only is a record with one value.
type only struct{ value Value }

func (o only) Value(int, []string) Value { return o.value }

// From returns a time before which the time field with a number is in no record that matches; it
// is zero if there is none.
func (f *Filter) From(field int, now time.Time) (from time.Time) {
	conjuncts(f.root, func(c *comparison) {
		if c.ref.number == field && slices.Contains([]string{">", ">=", "=="}, c.op) && c.constants[0].time != nil {
			if at := c.constants[0].time.at(now); at.After(from) {
				from = at
			}
		}
	})
	return from
}

// A junction is two conditions of which both must hold, or one.
type junction struct {
	or          bool
	left, right condition
}

func (j *junction) matcher(with setting) Matcher {
	left, right := j.left.matcher(with), j.right.matcher(with)
	if j.or {
		return func(r Record) bool { return left(r) || right(r) }
	}
	return func(r Record) bool { return left(r) && right(r) }
}

func (j *junction) each(f func(*comparison)) {
	j.left.each(f)
	j.right.each(f)
}

// A negation holds if its condition does not.
type negation struct{ of condition }

func (n *negation) matcher(with setting) Matcher {
	with.unknown = !with.unknown
	of := n.of.matcher(with)
	return func(r Record) bool { return !of(r) }
}

func (n *negation) each(f func(*comparison)) { n.of.each(f) }

// A reference names a field, and a value inside of it.
type reference struct {
	number int
	field  Field
	path   []string
}

// A comparison compares a field with constants: several for in, else one.
type comparison struct {
	ref       reference
	op        string
	constants []constant
	pattern   *pattern // of matches
}

func (c *comparison) each(f func(*comparison)) { f(c) }

func (c *comparison) matcher(with setting) Matcher {
	known := c.known(with)
	if !with.partial {
		return known
	}
	number, path := c.ref.number, c.ref.path
	return func(r Record) bool {
		if r.Value(number, path).kind == unknown {
			return with.unknown
		}
		return known(r)
	}
}

// known returns the matcher for values that are not unknown.
func (c *comparison) known(with setting) Matcher {
	if c.ref.field.Type == Address {
		return c.networkMatcher()
	}
	constants := make([]Value, len(c.constants))
	for i, constant := range c.constants {
		constants[i] = constant.at(with.now)
	}
	number, path, first := c.ref.number, c.ref.path, constants[0]
	switch c.op {
	case "==":
		return func(r Record) bool { return r.Value(number, path).equals(&first) }
	case "!=":
		if c.ref.field.Definite {
			return func(r Record) bool {
				value := r.Value(number, path)
				return value.kind != missing && !value.equals(&first)
			}
		}
		return func(r Record) bool { return !r.Value(number, path).equals(&first) }
	case "in":
		return func(r Record) bool {
			value := r.Value(number, path)
			return slices.ContainsFunc(constants, func(constant Value) bool { return value.equals(&constant) })
		}
	case "startsWith":
		return func(r Record) bool {
			return r.Value(number, path).anyText(func(text string) bool { return strings.HasPrefix(text, first.text) })
		}
	case "contains":
		return func(r Record) bool {
			return r.Value(number, path).anyText(func(text string) bool { return strings.Contains(text, first.text) })
		}
	case "matches":
		matches := c.pattern.matcher(with.stop)
		return func(r Record) bool { return r.Value(number, path).anyText(matches) }
	}
	holds := orders[c.op]
	return func(r Record) bool { return r.Value(number, path).compares(&first, holds) }
}

// networkMatcher returns the matcher of a field that is an address.
func (c *comparison) networkMatcher() Matcher {
	number, path, differs := c.ref.number, c.ref.path, c.op == "!="
	return func(r Record) bool {
		value := r.Value(number, path)
		if value.kind == missing && c.ref.field.Definite {
			return false
		}
		for i := range c.constants {
			if n := c.constants[i].network; n.Contains(value.addr) || !n.IsValid() && value.kind == missing {
				return !differs
			}
		}
		return differs
	}
}

// orders has the results of a comparison for which an operator holds.
var orders = map[string]func(int) bool{
	"<":  func(result int) bool { return result < 0 },
	"<=": func(result int) bool { return result <= 0 },
	">":  func(result int) bool { return result > 0 },
	">=": func(result int) bool { return result >= 0 },
}

// equals reports whether the value, or one of several, is a constant.
func (v Value) equals(constant *Value) bool {
	switch v.kind {
	case oneText:
		return constant.kind == oneText && v.text == constant.text
	case manyTexts:
		return constant.kind == oneText && slices.Contains(v.texts, constant.text) || constant.kind == missing && len(v.texts) == 0
	case whole, fraction:
		return (constant.kind == whole || constant.kind == fraction) && v.number(constant) == 0
	case boolean:
		return constant.kind == boolean && v.n == constant.n
	case missing:
		return constant.kind == missing
	}
	return false
}

// compares reports whether the order of the value, or of one of several, and a constant is one
// that holds.
func (v Value) compares(constant *Value, holds func(int) bool) bool {
	switch v.kind {
	case whole, fraction:
		return (constant.kind == whole || constant.kind == fraction) && holds(v.number(constant))
	case oneText, manyTexts:
		return constant.kind == oneText && v.anyText(func(text string) bool { return holds(strings.Compare(text, constant.text)) })
	}
	return false
}

// number compares two numbers exactly.
func (v *Value) number(other *Value) int {
	switch {
	case v.kind == whole && other.kind == whole:
		return cmp.Compare(v.n, other.n)
	case v.kind == whole:
		return compareWhole(v.n, other.f)
	case other.kind == whole:
		return -compareWhole(other.n, v.f)
	}
	return cmp.Compare(v.f, other.f)
}

// compareWhole compares a whole number with another one.
func compareWhole(n int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	floor := math.Floor(f)
	return cmp.Or(cmp.Compare(n, int64(floor)), cmp.Compare(floor, f))
}

// anyText reports whether a function returns true for the value as a text, or for one of several.
func (v Value) anyText(f func(string) bool) bool {
	switch v.kind {
	case missing:
		return false
	case manyTexts:
		return slices.ContainsFunc(v.texts, f)
	}
	return f(v.text)
}
