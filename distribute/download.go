package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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
	rest     []byte
	err      error
}

type fetched struct {
	data []byte
	err  error
}

func (c *Channel) download(ctx context.Context, r record, patience time.Duration) *download {
	ctx, cancel := context.WithCancel(ctx)
	d := &download{
		channel: c, id: r.id, shipment: r.shipment, segment: r.segment,
		patience: patience, cancel: cancel, fetched: make(chan fetched, 1),
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
		if d.err != nil {
			return 0, d.err
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
			err = d.err
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

// next takes what was fetched next.
func (d *download) next() {
	next, ok := <-d.fetched
	if !ok {
		next.err = context.Canceled
	}
	d.rest, d.err = next.data, next.err
}

func (d *download) fetchAhead(ctx context.Context) {
	defer close(d.fetched)
	if d.segment <= 0 {
		d.fetched <- fetched{err: errAbandoned}
		return
	}
	for position := int64(0); ; {
		data, err := d.fetch(ctx, position)
		position += int64(len(data))
		select {
		case d.fetched <- fetched{data, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// fetch gets what follows position, waiting for it if need be.
func (d *download) fetch(ctx context.Context, position int64) ([]byte, error) {
	k := d.channel.keys
	segment, within := k.segment(d.id, d.shipment, int(position/d.segment)), position%d.segment
	for {
		var data []byte
		var state uploadState
		err := d.channel.db.Retry(ctx, func() (err error) {
			pipe := d.channel.db.Pipeline()
			// The state first: what it says is there, the range then has.
			fields := pipe.HMGet(ctx, k.file(d.id), "by", "ship", "state", "raw")
			part := pipe.GetRange(ctx, segment, within, within+fetchSize-1)
			if _, err = pipe.Exec(ctx); err != nil {
				return err
			}
			state = parseUpload(fields.Val())
			data, err = part.Bytes()
			return err
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
	_, err = c.abandon(ctx, id, shipment, "")
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
