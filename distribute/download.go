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

// errOlder ends the reading of an upload that has to wait while an older file has no worker
// of a subscriber: that one is counted first.
var errOlder = errors.New("an older file has no worker")

// A cutError ends the reading of a stream that was not uploaded to its end: no more follows.
type cutError struct{ reason string }

func (e *cutError) Error() string { return "cut off: " + e.reason }

// A restError ends the reading of an upload that goes on, after position bytes, because another
// file waits.
type restError struct{ position int64 }

func (e *restError) Error() string {
	return fmt.Sprintf("nothing follows yet after %d bytes", e.position)
}

// A starvedError ends the reading of an upload whose shipper waits for room in the window,
// and of which all that is uploaded was read: to commit it frees segments.
type starvedError struct{ position int64 }

func (e *starvedError) Error() string {
	return fmt.Sprintf("the shipper waits for room after %d bytes", e.position)
}

// errStuck is the error for a file that can't be counted piece by piece in its window.
var errStuck = errors.New("a line or a block of compressed data is longer than its window has room for: ship it again with a larger window")

// An uploadReader reads the upload of a file, also while it is going on.
type uploadReader struct {
	files  fileStore
	queues claimQueues // of the worker
	record
	maxWindow    int64 // of compressed data, in bytes
	windows      *stream.Windows
	patience     time.Duration // how long to wait for a block before leases are checked
	lookInterval time.Duration // how long to wait before small files are counted in between
	detour       func() error  // counts them
	othersWait   func() (bool, error)
	aside        *asideFiles // of the worker
	until        int64       // bytes after which another file is read; 0: when there is nothing more, and another one waits
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
	if u.until > 0 && position >= u.until {
		return nil, &restError{position}
	}
	for began := time.Now(); ; {
		var data []byte
		var state uploadState
		err := db.Retry(ctx, func() error {
			pipe := db.Pipeline()
			// The state first: the range then has everything that it counts.
			fields := pipe.HMGet(ctx, k.file(u.id), uploadFields...)
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
		case state.state == FileUploaded && state.cut != "":
			return nil, &cutError{state.cut}
		case state.state == FileUploaded && position > state.raw:
			return nil, errShorter
		case state.state == FileUploaded:
			return nil, io.EOF
		case state.state != FileUploading:
			return nil, errAbandoned
		case state.full:
			return nil, &starvedError{position}
		}
		wait, err := u.othersWait()
		if wait && err == nil {
			err = &restError{position}
		}
		if err == nil {
			err = u.awaitBlock(ctx, position, state.full, &began)
		}
		if err != nil {
			return nil, err
		}
	}
}

// awaitBlock blocks until the upload has more than position bytes, is complete or
// abandoned, or, unless full is true, its shipper waits for room. It may return early. If
// nothing has happened since began for long, it abandons the uploads whose shippers' leases
// have expired, and returns the error of checkOlder; began is the time of the last check then.
// Meanwhile it lets small files be counted in between.
func (u uploadReader) awaitBlock(ctx context.Context, position int64, full bool, began *time.Time) error {
	// The ids of the wake stream are the length of the upload and what happened there,
	// so a change between the read and the wait ends the wait.
	mark := rdb.Mark{Key: u.files.keys.fileWake(u.id, u.shipment), ID: fmt.Sprintf("%d-0", position)}
	if full {
		mark.ID = fmt.Sprintf("%d-1", position)
	}
	woken, err := u.files.db.Wait(ctx, min(u.patience, u.lookInterval), mark)
	if err != nil || woken {
		return err
	}
	if err := u.detour(); err != nil {
		return err
	}
	if time.Since(*began) < u.patience {
		return nil
	}
	*began = time.Now()
	if _, _, err = u.files.abandon(ctx, abandonment{id: u.id, shipment: u.shipment, reship: true}); err != nil {
		return err
	}
	if err := u.files.sweepLeases(ctx); err != nil { // of files that are set aside
		return err
	}
	return u.checkOlder(ctx)
}

// checkOlder returns errOlder if an older file has no worker of one of the subscribers that
// the worker serves, or if the file itself has none: then the worker reads it for that
// subscriber, too, from its place on. Files that are set aside don't count.
func (u uploadReader) checkOlder(ctx context.Context) error {
	place, err := u.files.place(ctx, u.id)
	if err != nil {
		return err
	}
	for _, subscriber := range u.queues.subscribers() {
		unclaimed, err := u.files.unclaimed(ctx, subscriber, place, func(a openShipment) bool { return !u.aside.waits(subscriber, a) })
		if err == nil && unclaimed {
			return errOlder
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitRoom blocks until an upload, whose shipper waits for room, has more than position
// bytes or ends. It returns the error of checkOlder, and errStuck if the upload holds its
// reserve, and none of it can be freed before more is uploaded because a subscriber needs
// what follows its first keep bytes.
func (u uploadReader) awaitRoom(ctx context.Context, position, keep, window int64) error {
	reserve := min(int64(stream.ReserveSegments(u.segment)), window/max(u.unit, 1))
	for began := time.Now(); ; {
		r, err := u.files.record(ctx, u.id)
		if err != nil {
			return err
		}
		if r.shipment != u.shipment || r.state != FileUploading || r.raw > position {
			return nil
		}
		if err := u.checkOlder(ctx); err != nil {
			return err
		}
		if r.full && r.freed == keep/u.segment && r.booked-r.freed >= reserve {
			return errStuck
		}
		if err := u.awaitBlock(ctx, position, true, &began); err != nil {
			return err
		}
	}
}
