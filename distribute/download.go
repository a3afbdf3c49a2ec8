package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
	"skidway/internal/rdb"
)

// ErrVanished is the error for a file whose segments are no longer in Redis, because
// something else has deleted them.
var ErrVanished = errors.New("its segments vanished from Redis: ship it again")

// errLaterPart is the error for a shipment of the lines that were new to the
// subscribers of that time, for a subscriber that lacks earlier ones.
var errLaterPart = errors.New("only a later part of it is in Redis: ship it again")

// errMalformed is the error for a file whose record can't be used.
var errMalformed = errors.New("its record in Redis is malformed: ship it again")

// errAbandoned ends the reading of an upload that will never be complete.
var errAbandoned = errors.New("the upload was abandoned: its shipper gave up or died")

// An uploadReader reads the upload of a file, also while it is going on.
type uploadReader struct {
	files fileStore
	record
	maxWindow int64         // of compressed data, in bytes
	patience  time.Duration // how long to wait for a block before the shipper's lease is checked
}

// open returns the upload from a position on; io.EOF comes when the upload is complete
// and read.
func (u uploadReader) open(ctx context.Context, position int64) *stream.Prefetcher {
	return stream.Prefetch(ctx, position, func(ctx context.Context, position int64, buffer []byte) ([]byte, error) {
		if u.segment <= 0 {
			return nil, errAbandoned
		}
		return u.fetch(ctx, position, buffer)
	})
}

// fetch reads what follows position into the buffer, and waits for it if it is
// not uploaded yet.
func (u uploadReader) fetch(ctx context.Context, position int64, buffer []byte) ([]byte, error) {
	db, k := u.files.db, u.files.keys
	segment, within := k.segment(u.id, u.shipment, int(position/u.segment)), position%u.segment
	for {
		var data []byte
		var state uploadState
		err := db.Retry(ctx, func() error {
			pipe := db.Pipeline()
			// The state first: the range then has everything that it counts.
			fields := pipe.HMGet(ctx, k.file(u.id), "by", "ship", "state", "raw")
			// The buffer has room for the two bytes of the protocol's line end.
			part := redis.NewZeroCopyStringCmd(ctx, buffer, "getrange", segment, within, within+stream.FetchSize-1)
			_ = pipe.Process(ctx, part) // Exec returns its error
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
			state, data = parseUpload(fields.Val()), part.Bytes()
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case len(data) > 0:
			return data, nil
		case state.shipment != u.shipment || state.state == FileAbandoned:
			return nil, errAbandoned
		case state.raw > position:
			return nil, ErrVanished
		case state.state == FileUploaded:
			return nil, io.EOF
		case state.state != FileUploading:
			return nil, errAbandoned
		}
		if err := u.awaitBlock(ctx, position); err != nil {
			return nil, err
		}
	}
}

// awaitBlock blocks until the upload has more than position bytes, is complete
// or is abandoned. If nothing is uploaded for long and the shipper's lease has
// expired, it abandons the upload.
func (u uploadReader) awaitBlock(ctx context.Context, position int64) error {
	// The ids of the wake stream are the length of the upload, so a block that
	// is appended between the read and the wait ends the wait.
	mark := rdb.Mark{Key: u.files.keys.fileWake(u.id, u.shipment), ID: fmt.Sprintf("%d-0", position)}
	woken, err := u.files.db.Wait(ctx, u.patience, mark)
	if err != nil || woken {
		return err
	}
	_, _, err = u.files.abandon(ctx, abandonment{id: u.id, shipment: u.shipment, reship: true})
	return err
}

// awaitComplete blocks until the upload is complete, for a reader that does not
// read its content to the end.
func (u uploadReader) awaitComplete(ctx context.Context) error {
	for {
		r, err := u.files.record(ctx, u.id)
		switch {
		case err != nil:
			return err
		case r.shipment != u.shipment || r.state == FileAbandoned:
			return errAbandoned
		case r.state != FileUploading:
			return nil
		}
		if err := u.awaitBlock(ctx, r.raw); err != nil {
			return err
		}
	}
}
