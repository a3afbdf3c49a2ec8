// Package fields has the error of a field of args, for all built-in kinds.
package fields

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"skidway/queue"
)

// Error is the error of one field of args. It matches [queue.ErrInvalid].
type Error struct {
	Field   string // as in JSON
	Problem string // what is wrong, and what is allowed
}

func (e *Error) Error() string { return "field " + e.Field + ": " + e.Problem }

// Is makes it match [queue.ErrInvalid].
func (e *Error) Is(target error) bool { return target == queue.ErrInvalid }

// Wrong returns an [Error] whose problem is formatted.
func Wrong(field, format string, values ...any) error {
	return &Error{field, fmt.Sprintf(format, values...)}
}

// Names returns the keys of a map for a message.
func Names[V any](values map[string]V) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}

// Reason returns err without the URL, which may contain secrets.
func Reason(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}
