package cli

import (
	"errors"
	"fmt"

	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitFailed      = 1 // something failed, perhaps a single file; the rest was done
	ExitUsage       = 2
	ExitUnreachable = 3 // Redis could not be reached
)

// A usageError is a command line that asks for what there is not.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// AsUsage makes an error one of a wrong command line.
func AsUsage(err error) error { return &usageError{err} }

// WrongUsage returns an error that ends the command with [ExitUsage].
func WrongUsage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// An actionError comes out of a command that was started. All other errors are
// cobra's, about the command line.
type actionError struct{ err error }

func (e *actionError) Error() string { return e.err.Error() }
func (e *actionError) Unwrap() error { return e.err }

// ExitCode returns the code with which a command ends.
func ExitCode(err error) int {
	var usage *usageError
	var action *actionError
	var away *rdb.UnreachableError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage), !errors.As(err, &action):
		return ExitUsage
	case errors.As(err, &away):
		return ExitUnreachable
	}
	return ExitFailed
}

// InvalidAsUsage makes it wrong usage to name or give what can't be.
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
