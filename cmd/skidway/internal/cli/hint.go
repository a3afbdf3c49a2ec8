package cli

import (
	"errors"
	"fmt"

	"skidway"
	"skidway/distribute"
)

// WithHint returns the text of an error of the library, with what the user of
// the command can do about it.
func WithHint(err error) string {
	text := err.Error()
	var unreachable *skidway.UnreachableError
	var tooLarge *distribute.TooLargeError
	var settings *distribute.SettingsError
	switch {
	case errors.As(err, &unreachable):
		text += " (is it running? --redis, SKIDWAY_REDIS or REDIS_URL say where)"
	case errors.As(err, &tooLarge):
		text += fmt.Sprintf(": ship it with --window %dMiB or more, or split the file", tooLarge.Need>>20+1)
	case errors.As(err, &settings):
		text += ": use its settings, or another --subscriber"
	}
	return text
}
