// Package yamltext reads YAML of users without a panic.
package yamltext

import (
	"errors"
	"io"

	"github.com/goccy/go-yaml"
)

// Decode sets value, a pointer, from a YAML text, whose unknown fields are errors. An empty text
// leaves it as it is. The error shows the place in the text.
func Decode(text []byte, value any) error {
	err := Guard(func() error { return yaml.UnmarshalWithOptions(text, value, yaml.Strict()) })
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New(yaml.FormatError(err, false, false))
}

// Guard calls read and returns its error, or one for its panic: the YAML library panics at some
// tags (goccy/go-yaml issues 735 and 909).
func Guard(read func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a value in it can't be read as YAML: look for one with a tag (!name)")
		}
	}()
	return read()
}
