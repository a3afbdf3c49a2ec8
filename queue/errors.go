package queue

import (
	"errors"
	"fmt"
)

// Errors to be matched with errors.Is.
var (
	// ErrInvalid: an argument breaks a documented rule; nothing was changed.
	ErrInvalid = errors.New("not valid")

	// ErrDuplicate: another job holds the unique key; none was added.
	ErrDuplicate = errors.New("a job with this unique key is there already")

	// ErrNotSent: the job is not there, since some before it in the same call
	// could not be added.
	ErrNotSent = errors.New("not sent, since jobs before it failed")

	// ErrNoJob: no state holds a job of this id. It has finished without
	// its result being kept, was deleted, or never was.
	ErrNoJob = errors.New("no such job: it has finished, was deleted or never was")

	// ErrState: the job is there, in a state that the operation is not for.
	ErrState = errors.New("the job is in another state")

	// ErrLeaseLost: the worker was declared dead; its jobs are or will be
	// given to others and nothing that it says counts any more.
	ErrLeaseLost = errors.New("lease lost: the worker was silent for too long, its jobs go to others")
)

// invalid returns an error that wraps [ErrInvalid].
func invalid(format string, values ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, values...)...)
}

// A FormatError says that a structure in Redis was written by a newer release.
type FormatError struct {
	Queue   string
	Version string // what was found
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("queue %s has format %.20q, newer than this release understands (%s): upgrade", e.Queue, e.Version, formatVersion)
}

// formatVersion is what this release writes.
const formatVersion = "1"

// A DuplicateError names the job that holds a unique key. It matches
// [ErrDuplicate].
type DuplicateError struct {
	Key   string
	Owner string // id of the job that is there
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("unique key %q is held by job %s", e.Key, e.Owner)
}

func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// A PayloadError says that a job's args are larger than allowed. It matches
// [ErrInvalid].
type PayloadError struct {
	Kind        string
	Size, Limit int // bytes; Size may be a lower bound where args are compressed
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("args of %s take %d bytes, the limit is %d: store them elsewhere and pass a reference, or raise MaxPayload", e.Kind, e.Size, e.Limit)
}

func (e *PayloadError) Is(target error) bool { return target == ErrInvalid }
