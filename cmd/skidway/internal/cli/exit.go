package cli

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/chat"
	"skidway/distribute/stream"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitFailed      = 1 // something failed, perhaps a single file; the rest was done
	ExitUsage       = 2
	ExitUnreachable = 3 // Redis, or the server, could not be reached
)

// A usageError is an error in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// AsUsage returns err as an error in the command line, which ends it with [ExitUsage].
func AsUsage(err error) error { return &usageError{err} }

// WrongUsage returns an error that ends the command with [ExitUsage].
func WrongUsage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// An actionError is an error of a command that was started. All other errors come from
// cobra, and are about the command line.
type actionError struct{ err error }

func (e *actionError) Error() string { return e.err.Error() }
func (e *actionError) Unwrap() error { return e.err }

// ExitCode returns the code with which a command ends.
func ExitCode(err error) int {
	var usage *usageError
	var action *actionError
	var unreachable *rdb.UnreachableError
	var server *UnreachableServerError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage), !errors.As(err, &action):
		return ExitUsage
	case errors.As(err, &unreachable), errors.As(err, &server):
		return ExitUnreachable
	}
	return ExitFailed
}

// InvalidAsUsage returns the library's errors of invalid names and values as errors in
// the command line, and others as they are.
func InvalidAsUsage(err error) error {
	var name *distribute.InvalidNameError
	var window *distribute.InvalidWindowError
	var message *chat.InvalidError
	if errors.Is(err, queue.ErrInvalid) || errors.As(err, &name) || errors.As(err, &window) || errors.As(err, &message) {
		return &usageError{err}
	}
	return err
}

// Unreachable reports whether a command failed because Redis could not be reached.
func Unreachable(err error) bool { return ExitCode(&actionError{err}) == ExitUnreachable }

// WithHint returns the text of an error of the library, with what the user of
// the command can do about it.
func WithHint(err error) string {
	text := err.Error()
	var unreachable *skidway.UnreachableError
	var server *UnreachableServerError
	var tooLarge *distribute.TooLargeError
	var settings *distribute.SettingsError
	var window *stream.WindowError
	var wrongFormat *distribute.WrongFormatError
	switch {
	case errors.As(err, &server):
		text += " (is it running? --server or SKIDWAY_SERVER say where)"
	case errors.As(err, &unreachable) && unreachable.Name != "": // not that of a server
		text += " (is it running? --redis, SKIDWAY_REDIS or REDIS_URL say where)"
	case redis.HasErrorPrefix(err, "OOM"):
		text += ": Redis is full; 'skidway doctor' prints what to change"
	case errors.As(err, &tooLarge):
		text += fmt.Sprintf(": ship it with --window %dMiB or more, or split the file", tooLarge.Need>>20+1)
	case errors.As(err, &window):
		text += ": allow it with --memory, of which 'logs count' needs twice as much"
	case errors.As(err, &settings):
		text += ": use its settings, or another --subscriber"
	case errors.As(err, &wrongFormat):
		text += ": name another --format, or auto (skidway logs explain shows what to give)"
	case errors.Is(err, accesslog.ErrNoFormat):
		text += " (skidway logs explain shows how its lines are read)"
	case errors.Is(err, distribute.ErrVanished):
		text += " (`skidway logs status` shows the channel; is something else deleting keys?)"
	}
	return text
}
