package filter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// maxText bounds the text of a filter, in bytes. It also bounds the depth of its expression: the
// parser is recursive and has no bound of its own.
const maxText = 4 << 10

// An Error reports why a text is no filter.
type Error struct {
	At      int // the character from 1 on
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("filter, character %d: %s", e.At, e.Message) }

// refuse returns an error at a place in the text.
func refuse(at file.Location, format string, values ...any) error {
	return &Error{at.From + 1, fmt.Sprintf(format, values...)}
}

// A Filter is a checked expression. It is safe for concurrent use.
type Filter struct {
	root   condition // nil: everything matches
	schema Schema
}

// Parse parses a filter for records of a schema. Everything matches an empty text. The error is
// an [Error].
func Parse(text string, schema Schema) (*Filter, error) {
	f := &Filter{schema: schema}
	switch {
	case strings.TrimSpace(text) == "":
		return f, nil
	case len(text) > maxText:
		return nil, &Error{maxText, fmt.Sprintf("it is too long: %d bytes, the limit is %d", len(text), maxText)}
	case !utf8.ValidString(text):
		return nil, &Error{1, "it is not valid UTF-8"}
	}
	tree, err := parser.Parse(text)
	if err != nil {
		if at, ok := errors.AsType[*file.Error](err); ok {
			return nil, refuse(at.Location, "%s", at.Message)
		}
		return nil, &Error{1, err.Error()}
	}
	c := checker{schema: schema}
	if f.root, err = c.condition(tree.Node); err != nil {
		return nil, err
	}
	return f, nil
}

// A checker turns the nodes of the parser into conditions.
type checker struct {
	schema   Schema
	patterns int // regular expressions so far
}

// condition returns what a node means that is true or false.
func (c *checker) condition(node ast.Node) (condition, error) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator != "!" && n.Operator != "not" {
			return nil, refuse(n.Location(), "%s is refused before a condition", n.Operator)
		}
		of, err := c.condition(n.Node)
		return &negation{of}, err
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and", "||", "or":
			left, err := c.condition(n.Left)
			if err != nil {
				return nil, err
			}
			right, err := c.condition(n.Right)
			return &junction{n.Operator == "||" || n.Operator == "or", left, right}, err
		}
		return c.comparison(n)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.BoolNode, *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.NilNode:
		return nil, refuse(n.Location(), "%s alone is no condition: compare a field with a constant", n)
	}
	return nil, refused(node)
}

// refused returns the error for a node that no filter has.
func refused(node ast.Node) error {
	what := "this"
	switch n := node.(type) {
	case *ast.CallNode:
		what = "the call " + shorten(n.Callee.String()) + "()"
	case *ast.BuiltinNode:
		what = "the function " + n.Name + "()"
	case *ast.ConditionalNode:
		what = "a choice (if, ? :)"
	case *ast.VariableDeclaratorNode:
		what = "a variable (let)"
	case *ast.SequenceNode:
		what = "a sequence (;)"
	case *ast.MapNode:
		what = "a map ({})"
	case *ast.ArrayNode:
		what = "a list here"
	case *ast.SliceNode:
		what = "a part of a list ([:])"
	case *ast.ChainNode:
		what = "?."
	case *ast.BinaryNode:
		what = "the operator " + n.Operator
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			return refuse(n.Location(), "! stands before a condition in parentheses: !(kind == \"a\")")
		}
		what = "the operator " + n.Operator
	case *ast.BytesNode:
		what = "a text of bytes (b\"\")"
	}
	return refuse(node.Location(), "%s is refused: a filter has comparisons, in, startsWith, contains, matches, && || !", what)
}

// shorten returns a text in at most 40 characters.
func shorten(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}

// flipped has the comparisons for exchanged sides.
var flipped = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// comparison returns the comparison of a field with a constant.
func (c *checker) comparison(n *ast.BinaryNode) (condition, error) {
	op, left, right := n.Operator, n.Left, n.Right
	switch op {
	case "in", "startsWith", "contains", "matches":
	case "==", "!=", "<", "<=", ">", ">=":
		if isConstant(left) && !isConstant(right) {
			op, left, right = flipped[op], right, left
		}
	default:
		return nil, refused(n)
	}
	if isConstant(left) {
		return nil, refuse(left.Location(), "want a field on the left of %s", op)
	}
	r, err := c.reference(left)
	if err != nil {
		return nil, err
	}
	if !isConstant(right) && op != "in" {
		if _, err := c.reference(right); err != nil {
			return nil, err
		}
		return nil, refuse(right.Location(), "two fields can't be compared: want a constant beside %s", op)
	}
	cmp := &comparison{ref: r, op: op}
	constants := []ast.Node{right}
	if op == "in" {
		list, ok := right.(*ast.ArrayNode)
		if !ok || len(list.Nodes) == 0 {
			return nil, refuse(n.Location(), `want a list of constants behind in, such as ["a", "b"]`)
		}
		constants = list.Nodes
	}
	for _, node := range constants {
		constant, err := c.constant(cmp, node)
		if err != nil {
			return nil, err
		}
		cmp.constants = append(cmp.constants, constant)
	}
	if op == "matches" {
		return cmp, c.compilePattern(cmp, right.Location())
	}
	return cmp, nil
}

// isConstant reports whether a node is a constant.
func isConstant(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return true
	case *ast.UnaryNode:
		return (n.Operator == "-" || n.Operator == "+") && isConstant(n.Node)
	}
	return false
}

// reference returns the field that a node names.
func (c *checker) reference(node ast.Node) (reference, error) {
	var path []string
	at := node
	for {
		member, ok := at.(*ast.MemberNode)
		if !ok {
			break
		}
		if member.Optional {
			return reference{}, refuse(member.Location(), "?. is refused: a missing value is no error")
		}
		switch name := member.Property.(type) {
		case *ast.StringNode:
			path = append(path, name.Value)
		case *ast.IntegerNode:
			path = append(path, strconv.Itoa(name.Value))
		default:
			return reference{}, refuse(member.Location(), "want a name or a number in []")
		}
		at = member.Node
	}
	name, ok := at.(*ast.IdentifierNode)
	if !ok {
		return reference{}, refused(at)
	}
	slices.Reverse(path)
	number := c.schema.Number(name.Value)
	if number < 0 {
		return reference{}, refuse(name.Location(), "there is no field %s: want one of %s%s", shorten(name.Value), c.schema.names(), Suggest(name.Value, c.schema.list()))
	}
	field := c.schema[number]
	switch {
	case field.Named && path == nil:
		return reference{}, refuse(name.Location(), "%s needs a name: %s.NAME", field.Name, field.Name)
	case !field.Named && path != nil:
		return reference{}, refuse(node.Location(), "%s has no parts", field.Name)
	}
	return reference{number, field, path}, nil
}

// constant returns a constant with which a field is compared.
func (c *checker) constant(cmp *comparison, node ast.Node) (constant, error) {
	field, at := cmp.ref.field, node.Location()
	value, err := constantOf(node)
	if err != nil {
		return value, err
	}
	switch cmp.op {
	case "startsWith", "contains", "matches":
		switch {
		case field.Type != Text && field.Type != Any:
			return value, refuse(at, "%s is for texts, %s is %s", cmp.op, cmp.ref, typeNames[field.Type])
		case value.value.kind != oneText:
			return value, refuse(at, "want a text behind %s", cmp.op)
		}
		return value, nil
	case "<", "<=", ">", ">=":
		if value.value.kind == missing || value.value.kind == boolean || field.Words != nil || field.Type == Address {
			return value, refuse(at, "%s has no order here: want == or !=", cmp.ref)
		}
	}
	if value.value.kind == missing {
		if field.Definite {
			return value, refuse(at, "%s is never nil: no comparison with a missing value holds", cmp.ref)
		}
		return value, nil // nil
	}
	word := value.value.text
	if value.value.kind != oneText {
		word = value.String()
	}
	if err := value.suit(cmp.ref, at); err != nil {
		return value, err
	}
	if field.Check != nil {
		if err := field.Check(cmp.op, word); err != nil {
			return value, refuse(at, "%s", err)
		}
	}
	return value, nil
}

// suit converts a constant to the type of the field with which it is compared, or returns why it
// cannot.
func (c *constant) suit(ref reference, at file.Location) error {
	field := ref.field
	text, isText := c.value.text, c.value.kind == oneText
	switch field.Type {
	case Text:
		if !isText {
			return refuse(at, "%s is a text: want %q", ref, c.String())
		}
		if field.Words != nil && !slices.Contains(field.Words, text) {
			return refuse(at, "%s is never %q: want one of %s%s", ref, shorten(text), field.words(), Suggest(text, field.Words))
		}
	case Number:
		if c.value.kind != whole && c.value.kind != fraction {
			return refuse(at, "%s is a number, %s is not", ref, shorten(c.String()))
		}
	case Time:
		parsed, err := parseTime(text)
		if !isText || err != nil {
			return refuse(at, "%s is a time: %s", ref, timeAdvice(err, `want a text such as "-12h"`))
		}
		c.time = &parsed
	case Duration:
		d, err := parseDuration(text)
		if !isText || err != nil {
			return refuse(at, "%s is a duration: %s", ref, timeAdvice(err, `want a text such as "90s"`))
		}
		c.value = OfDuration(d)
		c.written = text
	case Address:
		network, err := parseNetwork(text)
		if !isText || err != nil {
			return refuse(at, `%s is an address: want a text such as "192.0.2.1" or "10.0.0.0/8"`, ref)
		}
		c.network, c.written = network, network.String()
		if network.IsSingleIP() {
			c.written = network.Addr().String()
		}
	}
	return nil
}

// parseNetwork parses an address or a network.
func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		network, err := netip.ParsePrefix(text)
		if addr := network.Addr(); addr.Is4In6() && network.Bits() >= 96 {
			network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
		}
		return network.Masked(), err
	}
	addr, err := netip.ParseAddr(text)
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()), err
}

func timeAdvice(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}

// typeNames has the types for messages.
var typeNames = map[Type]string{Text: "a text", Number: "a number", Time: "a time", Duration: "a duration", Any: "any value", Address: "an address"}

// constantOf returns the constant that a node is.
func constantOf(node ast.Node) (constant, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return constant{value: OfText(n.Value)}, nil
	case *ast.IntegerNode:
		return constant{value: OfInt(int64(n.Value))}, nil
	case *ast.FloatNode:
		return constant{value: Value{kind: fraction, f: n.Value}}, nil
	case *ast.BoolNode:
		value := Value{kind: boolean}
		if n.Value {
			value.n = 1
		}
		return constant{value: value}, nil
	case *ast.NilNode:
		return constant{}, nil
	case *ast.UnaryNode:
		of, err := constantOf(n.Node)
		if err != nil || of.value.kind != whole && of.value.kind != fraction {
			return of, refuse(node.Location(), "want a number behind %s", n.Operator)
		}
		if n.Operator == "-" {
			of.value.n, of.value.f = -of.value.n, -of.value.f
		}
		return of, nil
	}
	return constant{}, refuse(node.Location(), "want a constant")
}

// A constant is what a field is compared with.
type constant struct {
	value   Value
	time    *timeLiteral // of a time
	written string       // a duration as it was written
	network netip.Prefix // of an address; invalid for nil
}

// at returns the value for a match at a time.
func (c constant) at(now time.Time) Value {
	if c.time != nil {
		return OfTime(c.time.at(now))
	}
	return c.value
}
