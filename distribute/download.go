package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// fetchSize is how much of a segment one round trip brings, in bytes.
const fetchSize = 1 << 20

// errVanished says that Redis no longer has what was uploaded.
var errVanished = errors.New("its segments vanished from Redis: ship it again (`skidway logs status` shows the channel; is something else deleting keys?)")

// A download reads an upload from Redis, from its first byte on, while it is
// still going on. A goroutine fetches ahead. It is an io.Reader; io.EOF comes
// when the upload is complete and read.
type download struct {
	channel  *Channel
	id       string
	shipment int64
	segment  int64
	patience time.Duration // how long to wait for a block before asking whether the shipper lives
	cancel   context.CancelFunc
	fetched  chan fetched
	free     chan []byte // buffers to fetch into: fresh ones would cost more than the fetching
	current  fetched
	rest     []byte // of the current data
}

type fetched struct {
	buffer []byte
	data   []byte // in the buffer
	err    error
}

// fetchBuffers is how many buffers a download has: one is read from, one waits,
// one is fetched into.
const fetchBuffers = 3

func (c *Channel) download(ctx context.Context, r record, patience time.Duration) *download {
	ctx, cancel := context.WithCancel(ctx)
	d := &download{
		channel: c, id: r.id, shipment: r.shipment, segment: r.segment,
		patience: patience, cancel: cancel, fetched: make(chan fetched, 1), free: make(chan []byte, fetchBuffers),
	}
	for range fetchBuffers {
		d.free <- nil // made when it is needed: most files are small
	}
	go d.fetchAhead(ctx)
	return d
}

// close ends the goroutine and waits for it.
func (d *download) close() {
	d.cancel()
	for range d.fetched {
	}
}

func (d *download) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.current.err != nil {
			return 0, d.current.err
		}
		d.next()
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// WriteTo writes all that follows to w, as it comes.
func (d *download) WriteTo(w io.Writer) (sum int64, err error) {
	for {
		n, err := w.Write(d.rest)
		sum, d.rest = sum+int64(n), nil
		if err == nil {
			err = d.current.err
		}
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
		d.next()
	}
}

// next takes what was fetched next, and gives the buffer of what was read back.
func (d *download) next() {
	if d.current.buffer != nil {
		d.free <- d.current.buffer
	}
	next, ok := <-d.fetched
	if !ok {
		next.err = context.Canceled
	}
	d.current, d.rest = next, next.data
}

func (d *download) fetchAhead(ctx context.Context) {
	defer close(d.fetched)
	if d.segment <= 0 {
		d.fetched <- fetched{err: errAbandoned}
		return
	}
	for position := int64(0); ; {
		var next fetched
		select {
		case next.buffer = <-d.free:
		case <-ctx.Done():
			return
		}
		if next.buffer == nil {
			next.buffer = make([]byte, fetchSize+2) // the two of the protocol's line end
		}
		next.data, next.err = d.fetch(ctx, position, next.buffer)
		position += int64(len(next.data))
		select {
		case d.fetched <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// fetch gets what follows position into the buffer, waiting for it if need be.
func (d *download) fetch(ctx context.Context, position int64, buffer []byte) ([]byte, error) {
	k := d.channel.keys
	segment, within := k.segment(d.id, d.shipment, int(position/d.segment)), position%d.segment
	for {
		var data []byte
		var state uploadState
		err := d.channel.db.Retry(ctx, func() error {
			pipe := d.channel.db.Pipeline()
			// The state first: what it says is there, the range then has.
			fields := pipe.HMGet(ctx, k.file(d.id), "by", "ship", "state", "raw")
			part := redis.NewZeroCopyStringCmd(ctx, buffer, "getrange", segment, within, within+fetchSize-1)
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
		case state.shipment != d.shipment || state.state == abandoned:
			return nil, errAbandoned
		case state.raw > position:
			return nil, errVanished
		case state.state == uploaded:
			return nil, io.EOF
		case state.state != uploading:
			return nil, errAbandoned
		}
		if err := d.channel.awaitBlock(ctx, d.id, d.shipment, position, d.patience); err != nil {
			return nil, err
		}
	}
}

// An uploadState is how an upload stands.
type uploadState struct {
	by       string
	shipment int64
	state    string
	raw      int64
}

// parseUpload reads the fields by, ship, state and raw of a record. What is
// missing is empty.
func parseUpload(fields []any) uploadState {
	text := func(i int) string {
		s, _ := fields[i].(string)
		return s
	}
	return uploadState{text(0), parseInt(text(1)), text(2), parseInt(text(3))}
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
