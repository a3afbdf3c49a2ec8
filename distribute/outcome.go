package distribute

import (
	"errors"
	"fmt"
	"io/fs"

	"skidway/distribute/stream"
)

// An Outcome is the result of shipping one file.
type Outcome int

// Outcomes. The zero value is Failed.
const (
	Failed         Outcome = iota // see the error
	Shipped                       // it is in Redis and announced
	AlreadyCounted                // every subscriber has counted all of it before
	AlreadyShipped                // an earlier shipment of it is in Redis and not counted yet
	Empty                         // it has no content
	NotReached                    // Ship was stopped before its turn
	Vanished                      // it does not exist: it was deleted after it was listed
	Skipped                       // a function of the configuration leaves it out: see Reason
)

func (o Outcome) String() string {
	switch o {
	case Shipped:
		return "shipped"
	case AlreadyCounted:
		return "already counted"
	case AlreadyShipped:
		return "already shipped"
	case Empty:
		return "empty"
	case NotReached:
		return "not reached"
	case Vanished:
		return "deleted meanwhile"
	case Skipped:
		return "left out"
	}
	return "failed"
}

// A ShippedFile is the outcome for one file, or for one member of an archive.
type ShippedFile struct {
	Path    string
	Outcome Outcome
	Bytes   int64  // uploaded, compressed or not
	Err     error  // of a file that failed
	Reason  string // for which a file is skipped

	// Base is the offset in the uncompressed content where the upload of a
	// shipped file began: everything before it was counted earlier.
	Base int64

	// Grown is the number of bytes that the file grew by during its upload. They were
	// not uploaded.
	Grown int64

	// Length and Counted are set if this copy of a counted file is shorter than
	// what was counted: the bytes of both, uncompressed.
	Length, Counted int64

	// Problem is what was wrong with a counted file; nil if nothing was. Of a shipped file it is
	// known only with ShipperConfig.Wait.
	Problem *Problem

	// Lines is the number of lines of the file that each subscriber has counted.
	// It is set only with ShipperConfig.Wait.
	Lines map[string]int64

	id       string
	shipment int64
}

// setFailure stores the error for which a source can't be opened.
func (f *ShippedFile) setFailure(err error) {
	var skipped *stream.SkippedError
	switch {
	case errors.As(err, &skipped):
		f.Outcome, f.Reason = Skipped, skipped.Reason
	case errors.Is(err, stream.ErrEmpty):
		f.Outcome = Empty
	case errors.Is(err, fs.ErrNotExist):
		f.Outcome = Vanished
	default:
		f.Outcome, f.Err = Failed, &stream.FileError{Path: f.Path, Err: err}
	}
}

// A PartialError is the error for a file that was counted only up to damage in its
// content. Lines lines were counted, from byte Start to byte End of the uncompressed
// content.
type PartialError struct {
	Err               error
	Lines, Start, End int64
}

func (e *PartialError) Error() string { return "counted in part: " + e.detail() }

func (e *PartialError) Unwrap() error { return e.Err }

// detail returns the text that is recorded with the file.
func (e *PartialError) detail() string {
	if e.Start == 0 {
		return fmt.Sprintf("%v; counted up to line %d, byte %d of the uncompressed content", e.Err, e.Lines, e.End)
	}
	return fmt.Sprintf("%v; counted up to byte %d of the uncompressed content", e.Err, e.End)
}
