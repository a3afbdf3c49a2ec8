package queue

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors to be matched with errors.Is.
var (
	// ErrInvalid is returned when an argument breaks a documented rule; nothing was changed.
	ErrInvalid = errors.New("not valid")

	// ErrNotSent is returned when a job was not added because earlier jobs of the same call,
	// or of another call of Enqueue that shares its round trip, could not be added.
	ErrNotSent = errors.New("not sent, since jobs before it failed")

	// ErrNoJob is returned when there is no job with this id. It has finished and its result was
	// not retained, it was deleted, or it never existed.
	ErrNoJob = errors.New("no such job: it has finished, was deleted or never was")

	// ErrNoSchedule is returned when the queue has no schedule with this name.
	ErrNoSchedule = errors.New("no such schedule")

	// ErrState is returned when the operation is not possible in the state of the
	// job, or while the queue is used.
	ErrState = errors.New("the job is in another state")
)

// invalid returns an error that wraps [ErrInvalid].
func invalid(format string, values ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, values...)...)
}

// A FormatError reports that a queue in Redis has a format that this release does not know.
// Nothing was changed.
type FormatError struct {
	Queue   string
	Version string // the format that was found
	Older   bool   // whether an older release wrote it, so that an upgrade does not help
}

func newFormatError(version string) *FormatError {
	found, err := strconv.Atoi(version)
	known, _ := strconv.Atoi(formatVersion)
	return &FormatError{Version: version, Older: err == nil && found < known}
}

func (e *FormatError) Error() string {
	if e.Older {
		return fmt.Sprintf("queue %s has format %.20q, older than this release understands (%s): "+
			"let the release that wrote it run its jobs, then delete its keys", e.Queue, e.Version, formatVersion)
	}
	return fmt.Sprintf("queue %s has format %.20q, newer than this release understands (%s): upgrade", e.Queue, e.Version, formatVersion)
}

// formatVersion is the format that this release reads and writes: of records, and of keys.
// The names of the lines contain it.
const formatVersion = "2"

// A DuplicateError reports that no job was added, because another one holds its unique
// key, or because other jobs were added with its [Options.RequestKey].
type DuplicateError struct {
	Key   string
	Owner string // id of the job that holds the unique key; empty for a request key
}

func (e *DuplicateError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("other jobs were added with the request key %q", e.Key)
	}
	return fmt.Sprintf("unique key %q is held by job %s", e.Key, e.Owner)
}

// A payloadError reports that a job's args are too large. It matches [ErrInvalid].
type payloadError struct {
	kind        string
	size, limit int // bytes
}

func (e *payloadError) Error() string {
	return fmt.Sprintf("args of %s take %d bytes, the limit is %d: store them elsewhere and pass a reference, or raise MaxPayload", e.kind, e.size, e.limit)
}

func (e *payloadError) Is(target error) bool { return target == ErrInvalid }
