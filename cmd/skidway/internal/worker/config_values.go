package worker

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"

	"skidway/cmd/skidway/internal/cli"
)

// A duration is a length of time, written "90s" or "2h".
type duration time.Duration

// UnmarshalYAML wants a text with a unit.
func (d *duration) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q is no length of time such as 90s or 2h", text)}
	}
	*d = duration(parsed)
	return nil
}

// A wholeNumber is zero or more.
type wholeNumber int

// UnmarshalYAML reads a number as flags have it.
func (n *wholeNumber) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	var parsed cli.Number
	if err := parsed.Set(text); err != nil {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q: %w", text, err)}
	}
	*n = wholeNumber(parsed)
	return nil
}

// A byteSize is a size, written "20MiB" or as a number.
type byteSize int64

// UnmarshalYAML reads a size as flags have it.
func (b *byteSize) UnmarshalYAML(node ast.Node) error {
	var s cli.Size
	if err := s.Set(node.GetToken().Value); err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	*b = byteSize(s)
	return nil
}
