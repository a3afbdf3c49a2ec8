package main

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"
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

// UnmarshalYAML reads a number as flags have it.
func (n *number) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	if err := n.Set(text); err != nil {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q: %w", text, err)}
	}
	return nil
}

// A byteSize is a size, written "20MiB" or as a number.
type byteSize int64

// UnmarshalYAML reads a size as flags have it.
func (b *byteSize) UnmarshalYAML(node ast.Node) error {
	var s size
	if err := s.Set(node.GetToken().Value); err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	*b = byteSize(s)
	return nil
}
