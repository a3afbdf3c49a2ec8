package distribute

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"skidway/distribute/stream"
)

// A registration is the entry of a shipper in its channel.
type registration struct {
	channel *Channel
	token   string // of the shipper; never used again
	mode    string
	lease   time.Duration

	mu      sync.Mutex    // guards current and given
	current *ShippedFile  // its lease is renewed by the heartbeat
	given   time.Duration // its lease, and that of the shipper meanwhile
}

// streamLeases is how many leases the upload of a stream outlives its last heartbeat: it can't
// be shipped again from where it was. So it ends, when its shipper alone loses Redis, no earlier
// than the shipper's calls do ([rdb.DefaultPatience]).
const streamLeases = 4

// Modes of a shipper.
const (
	modeBatch  = "batch"  // it ends when its files are shipped
	modeFollow = "follow" // it goes on until it is stopped
)

// begin registers the shipper. Workers with UntilDone wait until it ends, or is swept,
// unless it follows.
func (r *registration) begin(ctx context.Context) error {
	host, _ := os.Hostname()
	reply, err := r.channel.call(ctx, beginScript, target{}, r.token, r.lease.Milliseconds(), r.mode, fmt.Sprintf("%s:%d", host, os.Getpid()))
	if err == nil && reply.Int(0) == 0 {
		err = ErrNoChannel
	}
	if err != nil {
		return fmt.Errorf("ship to channel %q: %w", r.channel.name, err)
	}
	return nil
}

// end removes the registration, even when ctx is done.
func (r *registration) end(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	_, err := r.channel.call(ctx, endScript, target{}, r.token, 0)
	return err
}

// beat is the shipper's heartbeat: it renews the leases of the shipper and of the
// current upload, and registers the shipper again if its lease had expired.
func (r *registration) beat(ctx context.Context) {
	id, shipment, given := "", int64(0), r.lease
	r.mu.Lock()
	if r.current != nil {
		id, shipment, given = r.current.id, r.current.shipment, r.given
	}
	r.mu.Unlock()
	alive, err := r.channel.call(ctx, beatScript, target{file: id}, r.token, r.lease.Milliseconds(), shipment, id, given.Milliseconds())
	if err == nil && alive.Int(0) == 0 {
		_ = r.begin(ctx)
	}
}

// uploadLease returns the lease of the upload of a source.
func (r *registration) uploadLease(src *stream.Source) time.Duration {
	if src.IsStream() {
		return streamLeases * r.lease
	}
	return r.lease
}

// setCurrent sets the upload that the heartbeat renews, and its lease; nil if there is none.
func (r *registration) setCurrent(file *ShippedFile, lease time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.given = file, lease
}

// leaveLine removes the shipper from the line of those that wait for the window.
func (r *registration) leaveLine(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	return r.channel.db.Retry(ctx, func() error { return r.channel.db.ZRem(ctx, r.channel.keys.line(), r.token).Err() })
}
