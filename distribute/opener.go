package distribute

import (
	"context"
	"errors"

	"skidway/distribute/stream"
)

// opener returns the function that opens a file by its path.
func (s *Shipper) opener(ctx context.Context, path string) func() (stream.Object, error) {
	return func() (object stream.Object, err error) {
		if s.config.Open != nil {
			object, err = s.config.Open(ctx, path)
		} else {
			object, err = stream.Open(path)
		}
		if pipe, ok := object.(*stream.Pipe); ok {
			if s.registration.mode == modeFollow {
				return nil, errFollowedPipe
			}
			go s.stop.interrupt(ctx, pipe)
		}
		return object, err
	}
}

// errFollowedPipe is the error for a pipe where files are followed.
var errFollowedPipe = errors.New("a pipe can't be followed: ship it without following, it is read until its writer closes it")

// interrupt ends the reading of a pipe when the signal comes or ctx is done. It returns when
// the pipe is closed.
func (s *stopSignal) interrupt(ctx context.Context, pipe *stream.Pipe) {
	select {
	case <-s.stopped:
		pipe.Interrupt(errStopped)
	case <-ctx.Done():
		pipe.Interrupt(context.Cause(ctx))
	case <-pipe.Closed():
	}
}
