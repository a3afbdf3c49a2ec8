// Package fields makes the errors of fields of args, for all built-in kinds.
package fields

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"skidway/workers"
)

// Wrong returns a [workers.FieldError] whose problem is formatted.
func Wrong(field, format string, values ...any) error {
	return &workers.FieldError{Field: field, Problem: fmt.Sprintf(format, values...)}
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
