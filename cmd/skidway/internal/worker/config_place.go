package worker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A lineError is an error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// A configError says what is wrong with a configuration, and where.
type configError struct {
	file string // empty: it comes from no file
	line int    // 0: nowhere in particular
	err  error
}

func (e *configError) Error() string {
	switch {
	case e.file == "":
		return e.err.Error()
	case e.line == 0:
		return e.file + ": " + e.err.Error()
	}
	return e.file + ":" + strconv.Itoa(e.line) + ": " + e.err.Error()
}

func (e *configError) Unwrap() error { return e.err }

// An origin knows where the values of a configuration come from. Places are
// written kinds.email.send.host or queues[0].name.
type origin struct {
	lines     map[string]int    // of the file
	variables map[string]string // of the environment, where they are set
}

// note remembers the lines of a node and all below.
func (o *origin) note(node ast.Node, place string) {
	if _, known := o.lines[place]; !known {
		o.lines[place] = node.GetToken().Position.Line
	}
	switch node := node.(type) {
	case *ast.AnchorNode:
		o.note(node.Value, place)
	case *ast.MappingNode:
		for _, value := range node.Values {
			o.note(value, place)
		}
	case *ast.MappingValueNode:
		key := node.Key.GetToken()
		below := strings.TrimPrefix(place+"."+key.Value, ".")
		o.lines[below] = key.Position.Line
		o.note(node.Value, below)
	case *ast.SequenceNode:
		for i, value := range node.Values {
			o.note(value, fmt.Sprintf("%s[%d]", place, i))
		}
	}
}

// line is that of a place, or of the nearest around it.
func (o *origin) line(place string) int {
	for place != "" {
		if line, known := o.lines[place]; known {
			return line
		}
		place = place[:max(0, strings.LastIndexAny(place, ".["))]
	}
	return 0
}

// wrong is an error of a value, or of several that belong together: it tells the
// line, or the variables that say so instead.
func (c *config) wrong(place string, format string, values ...any) error {
	e := &configError{c.file, c.origin.line(place), fmt.Errorf(place+": "+format, values...)}
	if name, set := c.origin.variables[place]; set {
		return &configError{err: fmt.Errorf("the environment variable %s: %w", name, e.err)}
	}
	var below []string
	for _, other := range slices.Sorted(maps.Keys(c.origin.variables)) {
		if strings.HasPrefix(other, place+".") {
			below = append(below, c.origin.variables[other])
		}
	}
	if len(below) > 0 {
		e.err = fmt.Errorf("%w (with %s of the environment)", e.err, strings.Join(below, ", "))
	}
	return e
}
