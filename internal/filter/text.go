package filter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// String returns the filter in its canonical form: two filters with the same form match the same
// records, and [Parse] accepts it.
func (f *Filter) String() string {
	if f.root == nil {
		return ""
	}
	return string(f.root.append(nil, ofNothing))
}

// Uses reports whether the filter needs the values of the field with a number.
func (f *Filter) Uses(field int) (uses bool) {
	if f.root != nil {
		f.root.each(func(c *comparison) { uses = uses || c.ref.number == field })
	}
	return uses
}

// Quote returns a text as a constant.
func Quote(text string) string { return strconv.Quote(text) }

// A rank is how strongly the surrounding of a condition binds.
type rank int

const (
	ofNothing rank = iota
	ofOr
	ofAnd
	ofNot
)

func (j *junction) append(text []byte, inside rank) []byte {
	own, op := ofAnd, " && "
	if j.or {
		own, op = ofOr, " || "
	}
	return inParentheses(text, own < inside, func(text []byte) []byte {
		text = j.left.append(text, own)
		return j.right.append(append(text, op...), own)
	})
}

func (n *negation) append(text []byte, _ rank) []byte { return n.of.append(append(text, '!'), ofNot) }

func (c *comparison) append(text []byte, inside rank) []byte {
	return inParentheses(text, inside == ofNot, func(text []byte) []byte {
		text = append(c.ref.append(text), " "+c.op+" "...)
		if c.op != "in" {
			return append(text, c.constants[0].String()...)
		}
		constants := make([]string, len(c.constants))
		for i, constant := range c.constants {
			constants[i] = constant.String()
		}
		return append(text, "["+strings.Join(constants, ", ")+"]"...)
	})
}

// inParentheses appends a text, in parentheses if it needs them.
func inParentheses(text []byte, needed bool, inner func([]byte) []byte) []byte {
	if !needed {
		return inner(text)
	}
	return append(inner(append(text, '(')), ')')
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainText = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

	// operators are the names that the syntax uses.
	operators = []string{"in", "not", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"}
)

// append appends the reference as a filter writes it.
func (r reference) append(text []byte) []byte {
	text = append(text, r.field.Name...)
	for _, name := range r.path {
		switch {
		case plainName.MatchString(name) && !slices.Contains(operators, name):
			text = append(append(text, '.'), name...)
		case plainText.MatchString(name):
			text = append(append(append(text, '['), name...), ']')
		default:
			text = append(strconv.AppendQuote(append(text, '['), name), ']')
		}
	}
	return text
}

func (r reference) String() string { return string(r.append(nil)) }

// String returns the constant as a filter writes it.
func (c constant) String() string {
	switch {
	case c.written != "":
		return Quote(c.written)
	case c.value.kind == oneText:
		return Quote(c.value.text)
	case c.value.kind == whole:
		return strconv.FormatInt(c.value.n, 10)
	case c.value.kind == fraction:
		return strconv.FormatFloat(c.value.f, 'g', -1, 64)
	case c.value.kind == boolean:
		return strconv.FormatBool(c.value.n == 1)
	}
	return "nil"
}
