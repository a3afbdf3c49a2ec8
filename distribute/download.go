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

// errVanished says that Redis no longer has what was uploaded.
var errVanished = errors.New("its segments vanished from Redis: ship it again (`skidway logs status` shows the channel; is something else deleting keys?)")

// download reads an upload from Redis, from its first byte on, while it is still
// going on: io.EOF comes when the upload is complete and read. patience is how
// long to wait for a block before asking whether the shipper lives.
func (c *Channel) download(ctx context.Context, r record, patience time.Duration) *stream.Prefetcher {
	return stream.Prefetch(ctx, func(ctx context.Context, position int64, buffer []byte) ([]byte, error) {
		if r.segment <= 0 {
			return nil, errAbandoned
		}
		return c.fetch(ctx, r, position, buffer, patience)
	})
}

// fetch gets what follows position into the buffer, waiting for it if need be.
func (c *Channel) fetch(ctx context.Context, r record, position int64, buffer []byte, patience time.Duration) ([]byte, error) {
	k := c.keys
	segment, within := k.segment(r.id, r.shipment, int(position/r.segment)), position%r.segment
	for {
		var data []byte
		var state uploadState
		err := c.db.Retry(ctx, func() error {
			pipe := c.db.Pipeline()
			// The state first: what it says is there, the range then has.
			fields := pipe.HMGet(ctx, k.file(r.id), "by", "ship", "state", "raw")
			// The buffer has room for the two bytes of the protocol's line end.
			part := redis.NewZeroCopyStringCmd(ctx, buffer, "getrange", segment, within, within+stream.FetchSize-1)
			_ = pipe.Process(ctx, part) // Exec tells
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
		case state.shipment != r.shipment || state.state == abandoned:
			return nil, errAbandoned
		case state.raw > position:
			return nil, errVanished
		case state.state == uploaded:
			return nil, io.EOF
		case state.state != uploading:
			return nil, errAbandoned
		}
		if err := c.awaitBlock(ctx, r.id, r.shipment, position, patience); err != nil {
			return nil, err
		}
	}
}

// awaitBlock waits until the upload has more than position bytes, is complete
// or abandoned. When nothing comes for long it has the upload abandoned, if its
// shipper is dead.
func (c *Channel) awaitBlock(ctx context.Context, id string, shipment, position int64, patience time.Duration) error {
	// The ids of the wake stream are the length of the upload: so there is no
	// moment between looking and waiting in which a wake-up could be missed.
	mark := rdb.Mark{Key: c.keys.fileWake(id, shipment), ID: fmt.Sprintf("%d-0", position)}
	woken, err := c.db.Wait(ctx, patience, mark)
	if err != nil || woken {
		return err
	}
	_, err = c.abandon(ctx, id, shipment, "", true)
	return err
}

// awaitUploaded waits until an upload is complete, for a reader that has given
// up on its content.
func (c *Channel) awaitUploaded(ctx context.Context, id string, shipment int64, patience time.Duration) error {
	for {
		r, err := c.record(ctx, id)
		switch {
		case err != nil:
			return err
		case r.shipment != shipment || r.state == abandoned:
			return errAbandoned
		case r.state != uploading:
			return nil
		}
		if err := c.awaitBlock(ctx, id, shipment, r.raw, patience); err != nil {
			return err
		}
	}
}
