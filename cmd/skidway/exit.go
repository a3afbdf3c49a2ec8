package main

import (
	"errors"
	"fmt"

	"skidway/internal/rdb"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1 // something failed, perhaps a single file; the rest was done
	exitUsage       = 2
	exitUnreachable = 3 // Redis could not be reached
)

// A usageError is a command line that asks for what there is not.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func wrongUsage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// An actionError comes out of a command that was started. All other errors are
// cobra's, about the command line.
type actionError struct{ err error }

func (e *actionError) Error() string { return e.err.Error() }
func (e *actionError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var usage *usageError
	var action *actionError
	var away *rdb.UnreachableError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), !errors.As(err, &action):
		return exitUsage
	case errors.As(err, &away):
		return exitUnreachable
	}
	return exitFailed
}
