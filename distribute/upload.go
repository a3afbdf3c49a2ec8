package distribute

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
)

// upload announces a file and uploads its content. If it fails, the upload is
// abandoned, so that no reader waits for the rest.
func (s *Shipper) upload(ctx context.Context, src *stream.Source, p plan, a *admission, result *ShippedFile) error {
	s.registration.setCurrent(result, s.registration.uploadLease(src))
	defer s.registration.setCurrent(nil, 0)
	err := s.channel.announce(ctx, s.registration.token, a.announcement)
	if err == nil {
		err = src.Pieces(p.base, a.segment, func(piece []byte) error {
			if result.Bytes == a.segments*a.segment {
				if err := s.book(ctx, a, src.Path); err != nil {
					return err
				}
			}
			// Workers count it at once: what is in Redis must be of one state of the file.
			if err := src.CheckUnchanged(); err != nil {
				return err
			}
			return s.append(ctx, result, a.segment, piece)
		})
	}
	switch {
	case err == nil && src.IsStream() && s.stop.isStopped():
		// What stopped the shipper has perhaps ended the process that writes the stream, too.
		err = &stream.SourceError{Err: errStopped}
	case err == nil:
		err = s.complete(ctx, src, p, result)
	}
	if err != nil {
		if errors.Is(err, errLeaseLost) && src.Passed() > p.base {
			err = &stream.SourceError{Err: errStreamLost}
		}
		return errors.Join(err, s.abandon(ctx, result, err))
	}
	result.Outcome, result.Base = Shipped, p.base
	if s.registration.mode == modeBatch { // a shipper that follows uploads the rest later
		result.Grown = src.Grown()
	}
	s.config.Notify.send(Event{Kind: EventShipped, File: src.Path, Shipped: *result})
	return nil
}

// abandon abandons the current upload for an error, even when ctx is done. A file with an
// error of its own may never be shipped again: what was counted of it is then reported.
func (s *Shipper) abandon(ctx context.Context, result *ShippedFile, cause error) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	a := abandonment{id: result.id, shipment: result.shipment, shipper: s.registration.token, reship: interrupted || !fileProblem(cause)}
	var changed *stream.ChangedError
	switch {
	case errors.As(cause, &changed):
		a.note = (&stream.ChangedError{Change: changed.Change, Counted: true}).Error()
	case !a.reship && !errors.Is(cause, errLeaseLost):
		a.note = cause.Error()
	}
	abandoned, counted, err := s.channel.files.abandon(ctx, a)
	if changed != nil {
		changed.Counted = counted
	}
	if err != nil || !abandoned {
		return err
	}
	return s.channel.files.freeSegments(ctx, result.id)
}

// errStreamLost is the error for a stream whose upload was ended by another process.
var errStreamLost = errors.New("the shipper's lease has run out, and what was read of a pipe can't be read again: ship the same content again to have the rest counted")

var errForeign = errors.New("a segment in Redis is not as it was left: something else writes to it")

// append appends to a segment in one transaction and wakes the readers of the
// file. The transaction fails if the file's record has changed since it was read;
// the record shows whether an earlier try has succeeded. (A script would need one
// round trip less, but to pass a block through Lua costs Redis more than twice as
// much: 650 µs instead of 280 for 256 KiB.)
func (s *Shipper) append(ctx context.Context, result *ShippedFile, segment int64, content []byte) error {
	k, before := s.channel.keys, result.Bytes
	file, after := k.file(result.id), before+int64(len(content))
	name := k.segment(result.id, result.shipment, int(before/segment))
	try := func(tx *redis.Tx) error {
		fields := tx.HMGet(ctx, file, uploadFields...)
		if err := fields.Err(); err != nil {
			return err
		}
		r := parseUpload(fields.Val())
		switch {
		case r.by != s.registration.token || r.shipment != result.shipment || r.state != FileUploading:
			return errLeaseLost
		case r.raw == after:
			return nil
		case r.raw < before:
			return errLeaseLost // Redis went back to an earlier state: start again
		case r.raw != before:
			return errForeign
		}
		var length *redis.Cmd
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for block := range slices.Chunk(content, stream.BlockSize) {
				length = pipe.Do(ctx, "append", name, block)
			}
			pipe.HSet(ctx, file, "raw", after)
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: k.fileWake(result.id, result.shipment), MaxLen: 1,
				ID: strconv.FormatInt(after, 10) + "-0", Values: []any{"more", 1}})
			return nil
		})
		if err != nil {
			return cmp.Or(length.Err(), err) // its own error is the reason why the transaction is refused
		}
		if n, err := length.Int64(); err != nil || n != before%segment+int64(len(content)) {
			return errors.Join(errForeign, err)
		}
		return nil
	}
	var err error = redis.TxFailedErr
	for errors.Is(err, redis.TxFailedErr) { // the record changed in between: try again
		err = s.channel.db.Retry(ctx, func() error { return s.channel.db.Watch(ctx, try, file) })
	}
	if err == nil {
		result.Bytes = after
		s.bytes.Add(int64(len(content)))
	}
	return err
}

// complete checks that the file did not change during the upload, and marks the
// upload as complete.
func (s *Shipper) complete(ctx context.Context, src *stream.Source, p plan, result *ShippedFile) error {
	if err := src.CheckUnchanged(); err != nil {
		return err
	}
	reply, err := s.channel.call(ctx, completeScript, target{file: p.id, shipment: result.shipment},
		s.registration.token, result.shipment, result.Bytes, p.id)
	switch done := reply.Int(0); {
	case err != nil:
		return err
	case done == 0:
		return errLeaseLost
	case done == 2:
		return s.channel.files.freeSegments(ctx, p.id)
	}
	return nil
}

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
