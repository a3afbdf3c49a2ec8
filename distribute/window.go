package distribute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"skidway"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// The files of a channel share its window: the sum of what their segments use, at most, in
// Redis never exceeds it. A shipper books each segment before the first byte of it is
// uploaded; a segment is freed when no subscriber needs it any more. No process waits for
// ever, because the file that is the oldest one in Redis may hold its reserve, two segments
// or more, whatever the others hold, and workers count the oldest file first.

// A booking is the room of an upload in the window.
type booking struct {
	segment  int64 // bytes per segment
	unit     int64 // bytes of the window for a full segment
	reserve  int64 // bytes of the window that the file may hold while it is the oldest
	segments int64 // number of segments that are booked
	first    int64 // bytes of the window for the segments that are booked by the admission
}

// booking returns the room for a file from base on: for the first segment, or for all if
// its content can't be counted from another place than its start. A file that would take
// more than half of the window then is converted, so that it can. Of a stream each segment
// is booked as a full one.
func (s *Shipper) booking(ctx context.Context, src *stream.Source, base int64) (booking, error) {
	window, err := s.channel.window(ctx)
	if err != nil {
		return booking{}, err
	}
	b := booking{segment: stream.SegmentFor(window, s.channel.segmentSize()), segments: 1}
	b.unit = stream.UploadCost(b.segment, b.segment)
	b.reserve = min(int64(stream.ReserveSegments(b.segment))*b.unit, max(window, 2*b.unit))
	if src.IsStream() {
		b.first = b.unit
		return b, nil
	}
	if cost := stream.UploadCost(src.UploadSize()-base, b.segment); src.IsWhole() {
		if cost <= window/2 {
			b.segments, b.first = int64(stream.SegmentCount(src.UploadSize()-base, b.segment)), cost
			return b, nil
		}
		if err := src.Convert(ctx); err != nil {
			return booking{}, err
		}
	}
	b.first = stream.UploadCost(min(src.UploadSize()-base, b.segment), b.segment)
	return b, nil
}

// window returns the size of the channel's window.
func (c *Channel) window(ctx context.Context) (int64, error) {
	window, err := query(ctx, c.db, func() ([]any, error) { return c.db.HMGet(ctx, c.keys.channel(), "window").Result() })
	if err != nil {
		return 0, fmt.Errorf("read the window of channel %q: %w", c.name, err)
	}
	text, _ := window[0].(string)
	return parseInt(text), nil
}

// A TooLargeError is the error for a file that does not fit the window.
type TooLargeError struct {
	Need   int64 // bytes of memory that the file uses in Redis at once
	Window int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("needs %d bytes in Redis at once, and the channel's window is %d", e.Need, e.Window)
}

// An admission is an upload that has its first segments in the window.
type admission struct {
	booking
	announcement
}

// admit blocks until the window has room for the first segments of the file. Stop ends the
// wait, unless it is for a stream, whose beginning was read.
func (s *Shipper) admit(ctx context.Context, src *stream.Source, p plan) (admitted admission, err error) {
	if err := src.Prepare(ctx); err != nil {
		return admitted, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.registration.leaveLine(ctx))
		}
	}()
	newHead := ""
	if p.newHead {
		newHead = src.Head.Fingerprint().Encode()
	}
	stopped := s.stop.stopped
	if src.IsStream() {
		stopped = nil // what was read of it can't be read again
	}
	for limit := (throttle{}); ; {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return admitted, err
		}
		b, err := s.booking(ctx, src, p.base)
		if err != nil {
			return admitted, err
		}
		reply, err := s.channel.call(ctx, admitScript, target{file: p.id},
			s.registration.token, p.id, p.indexKey, p.index, p.shipment, newHead, b.first, b.segments, b.reserve, s.registration.uploadLease(src).Milliseconds(), p.resets,
			"name", src.Path, "codec", string(src.Codec), "packed", string(src.Packed), "size", src.Size, "mtime", src.Modified().UnixNano(), "hole", src.Hole, "base", p.base,
			"segment", b.segment, "unit", b.unit, "upload", max(0, src.UploadSize()-p.base), "stream", src.IsStream())
		if err != nil {
			return admitted, err
		}
		reason := EventWaitingForTurn
		switch reply.Text(0) {
		case "admitted":
			admitted = admission{b, announcement{formatVersion, p.id, reply.Int(1), reply.Int(2)}}
			return admitted, s.channel.files.clearAbandoned(ctx, p.replaces)
		case "changed":
			return admitted, errChanged
		case "gone":
			return admitted, errGone
		case "large":
			return admitted, &TooLargeError{max(b.first, b.reserve), reply.Int(1)}
		case "full":
			reason = EventWindowFull
		}
		if s.stop.isStopped() && !src.IsStream() {
			return admitted, errStopped
		}
		if err := s.await(ctx, since, reason, src.Path, &limit, stopped); err != nil {
			return admitted, err
		}
	}
}

var (
	errChanged = errors.New("the record changed since it was read")
	errStopped = errors.New("stopped before its end")
)

// book blocks until the window has room for the next segment of an upload. Stop does not
// end the wait: it waits for the workers that count the file.
func (s *Shipper) book(ctx context.Context, a *admission, path string) error {
	for limit := (throttle{}); ; {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return err
		}
		reply, err := s.channel.call(ctx, bookScript, target{file: a.File, shipment: a.Shipment}, s.registration.token, a.Shipment, a.File, a.segments, a.unit)
		if err != nil {
			return err
		}
		switch reply.Text(0) {
		case "booked":
			a.segments++
			return nil
		case "lost":
			return errLeaseLost
		case "large":
			return &TooLargeError{a.reserve, reply.Int(1)}
		}
		// A worker that was killed may have left segments that it had committed.
		if err := s.channel.files.trim(ctx, a.File); err != nil {
			return err
		}
		if err := s.await(ctx, since, EventWindowFull, path, &limit, nil); err != nil {
			return err
		}
	}
}

// await sweeps the channel, reports the reason of the wait unless an event was
// sent a short while ago, and blocks until the channel has changed.
func (s *Shipper) await(ctx context.Context, since wakeCursor, reason EventKind, file string, limit *throttle, stop <-chan struct{}) error {
	if err := s.channel.files.sweep(ctx); err != nil {
		return err
	}
	if limit.allow() {
		event := Event{Kind: reason, File: file, Channel: s.channel.name}
		if reason != EventWaitingForTurn && reason != EventFileUploading {
			var err error
			if event.Laggards, err = s.channel.laggards(ctx); err != nil {
				return err
			}
		}
		s.config.Notify.send(event)
	}
	return s.channel.wait(ctx, since, s.config.Lease/2, stop, nil)
}

// A MemoryError is the error for channels that can fill Redis: their windows have
// room for more bytes than Redis has left.
type MemoryError struct {
	Channels  int
	Left      int64  // bytes that the windows of these channels have left
	Server    string // address of the master that holds them, on a Cluster; else empty
	Used      int64  // bytes of memory that it uses
	MaxMemory int64  // its setting maxmemory, in bytes
}

func (e *MemoryError) Error() string {
	server := "Redis"
	if e.Server != "" {
		server = "their master " + e.Server
	}
	return fmt.Sprintf("the windows of %d channels have %s left, and %s has %s (maxmemory is %s, %s are used): once it is full, shippers fail and no job is added",
		e.Channels, humanize.IBytes(uint64(e.Left)), server, humanize.IBytes(uint64(max(0, e.MaxMemory-e.Used))), humanize.IBytes(uint64(e.MaxMemory)), humanize.IBytes(uint64(e.Used)))
}

// CheckMemory returns a [MemoryError] if the channels can fill Redis; on a Cluster, if
// they can fill one of its masters, as all keys of a channel are on one. It returns nil
// for a Redis without a limit, or whose limit the user may not read.
func CheckMemory(ctx context.Context, db *skidway.DB) error {
	conn := handle.Conn(db)
	if conn.Embedded() {
		return nil
	}
	channels, err := Channels(ctx, db)
	if err != nil {
		return err
	}
	servers, err := conn.Servers(ctx)
	if err != nil {
		return fmt.Errorf("compare the windows with maxmemory: %w", err)
	}
	byServer := map[string][]ChannelInfo{}
	for _, c := range channels {
		addr, err := conn.MasterOf(ctx, channelKeys(conn.Prefix(), c.Name).channel())
		if err != nil {
			return fmt.Errorf("compare the windows with maxmemory: %w", err)
		}
		byServer[addr] = append(byServer[addr], c)
	}
	for _, server := range servers {
		if found := compareWindows(server, byServer[server.Addr]); found != nil {
			return found
		}
	}
	return nil
}

// compareWindows returns an error if channels can fill the server that holds them.
func compareWindows(server rdb.Server, channels []ChannelInfo) *MemoryError {
	found := &MemoryError{Channels: len(channels), Server: server.Addr, Used: server.UsedMemory, MaxMemory: server.MaxMemory}
	for _, c := range channels {
		found.Left += max(0, c.Window-c.Bytes)
	}
	if found.Channels == 0 || found.MaxMemory == 0 || found.Left <= found.MaxMemory-found.Used {
		return nil
	}
	return found
}

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
		err = errGone
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
