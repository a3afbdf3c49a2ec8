package distribute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway/distribute/stream"
)

// A plan is how a file is to be shipped.
type plan struct {
	id       string
	indexKey string
	index    string // the index entry when it was read
	shipment int64  // number of the last shipment when it was read; 0: none
	base     int64  // offset where the upload begins
	newHead  bool   // the head is to be recorded
	replaces string // prefix of the ids of the same content, if shipping is forced
	known    *ShippedFile
}

// plan returns how to ship a file: which part of it the channel has not counted yet. It
// returns errInRedis if the file can't be shipped before it is counted.
func (s *Shipper) plan(ctx context.Context, src *stream.Source) (plan, error) {
	index, known, err := s.channel.files.lookup(ctx, src, s.sketches)
	if err != nil {
		return plan{}, err
	}
	p := plan{id: src.ID(), indexKey: src.Head.IndexKey(), index: index, newHead: true}
	if known != nil && s.config.Force {
		return s.planForced(ctx, p)
	}
	if known == nil {
		return p, nil
	}
	p.id, p.shipment, p.newHead = known.id, known.shipment, len(src.Head) > known.head.Length
	if known.inRedis() {
		if known.state == FileUploaded && known.sameSize(src) {
			p.known = &ShippedFile{Outcome: AlreadyShipped}
			return p, nil
		}
		return p, errInRedis
	}
	return s.planMore(ctx, src, known, p)
}

// planForced plans to ship a file that the channel knows as if it were new: under
// another id, which is the same at each try.
func (s *Shipper) planForced(ctx context.Context, p plan) (plan, error) {
	plainID := p.id
	p.id += s.forced
	forced, err := s.channel.files.record(ctx, p.id)
	if err != nil {
		return p, err
	}
	if forced.inRedis() {
		return p, errInRedis
	}
	p.shipment, p.replaces = forced.shipment, plainID
	return p, nil
}

// planMore compares a file with what the subscribers have counted of it. A file of
// which lines are missing is shipped again if they were lost in Redis; if the file
// was damaged, when it has changed since.
func (s *Shipper) planMore(ctx context.Context, src *stream.Source, known *record, p plan) (plan, error) {
	subscribers, err := s.channel.subscriberNames(ctx)
	if err != nil || len(subscribers) == 0 {
		return p, err
	}
	same, unfinished := known.state == FileDone && known.sameSize(src), false
	resume, end := int64(-1), int64(-1)
	var problem *Problem
	for _, name := range subscribers {
		at := known.counted[name]
		unfinished = unfinished || at.unfinished()
		same = same && at.shipment == known.shipment && at.end > 0 &&
			(!at.missing || !at.lost && known.modified == src.Modified().UnixNano())
		if resume < 0 || at.resume < resume {
			resume = at.resume
		}
		if end < 0 || at.end < end {
			end = at.end
		}
		if found := at.problem(known.name); found != nil {
			problem = found
		}
	}
	length := end
	if !same {
		if length, err = src.Length(ctx); err != nil {
			return p, err
		}
	}
	switch {
	case length < end:
		p.known = &ShippedFile{Outcome: AlreadyCounted, Length: length, Counted: end, Problem: problem}
	case length == end && end > 0 && !unfinished:
		p.known = &ShippedFile{Outcome: AlreadyCounted, Problem: problem}
	case src.Codec == stream.Plain:
		p.base = min(resume, src.Size-1) // an upload has content, so that it is counted to its end
	}
	return p, nil
}

// A TooLargeError is the error for a file that does not fit the window.
type TooLargeError struct {
	Need   int64 // bytes of memory that the file uses in Redis
	Window int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("needs %d bytes in Redis at once, and the channel's window is %d", e.Need, e.Window)
}

// admit blocks until the window has room for the file, and returns the number of
// the shipment.
func (s *Shipper) admit(ctx context.Context, src *stream.Source, p plan) (shipment int64, err error) {
	if err := src.Prepare(ctx); err != nil {
		return 0, err
	}
	size := src.UploadSize() - p.base
	segment := s.channel.segmentSize()
	cost := stream.UploadCost(size, segment)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leaveLine(ctx))
		}
	}()
	newHead := ""
	if p.newHead {
		newHead = src.Head.Fingerprint().Encode()
	}
	for limit := (throttle{}); ; {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return 0, err
		}
		reply, err := s.channel.call(ctx, admitScript, target{file: p.id},
			s.token, p.id, p.indexKey, p.index, p.shipment, newHead, cost, s.config.Lease.Milliseconds(),
			"name", src.Path, "codec", string(src.Codec), "packed", string(src.Packed), "size", src.Size, "mtime", src.Modified().UnixNano(), "hole", src.Hole, "base", p.base, "segment", segment, "upload", size)
		if err != nil {
			return 0, err
		}
		reason := EventWaitingForTurn
		switch reply.Text(0) {
		case "admitted":
			return reply.Int(1), s.channel.files.clearAbandoned(ctx, p.replaces)
		case "changed":
			return 0, errChanged
		case "large":
			return 0, &TooLargeError{cost, reply.Int(1)}
		case "full":
			reason = EventWindowFull
		}
		if s.stop.isStopped() {
			return 0, errStopped
		}
		if err := s.await(ctx, since, reason, src.Path, &limit); err != nil {
			return 0, err
		}
	}
}

var (
	errChanged = errors.New("the record changed since it was read")
	errStopped = errors.New("stopped")
)

// leaveLine removes the shipper from the line of those that wait for the window.
func (s *Shipper) leaveLine(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	return s.channel.db.Retry(ctx, func() error { return s.channel.db.ZRem(ctx, s.channel.keys.line(), s.token).Err() })
}

// await sweeps the channel, reports the reason of the wait unless an event was
// sent a short while ago, and blocks until the channel has changed.
func (s *Shipper) await(ctx context.Context, since wakeCursor, reason EventKind, file string, limit *throttle) error {
	if err := s.channel.files.sweep(ctx); err != nil {
		return err
	}
	if limit.allow() {
		event := Event{Kind: reason, File: file, Channel: s.channel.name}
		if reason != EventWaitingForTurn {
			var err error
			if event.Laggards, err = s.channel.laggards(ctx); err != nil {
				return err
			}
		}
		s.config.Notify.send(event)
	}
	return s.channel.wait(ctx, since, s.config.Lease/2, s.stop.stopped)
}

// awaitNotInRedis returns when an earlier shipment of the file may have been freed.
// With skipBusy it does not wait, and returns errInRedis if the shipment is still
// in Redis.
func (s *Shipper) awaitNotInRedis(ctx context.Context, since wakeCursor, src *stream.Source, mode busyMode, limit *throttle) error {
	if mode == waitBusy {
		if s.stop.isStopped() {
			return errStopped
		}
		return s.await(ctx, since, EventFileBusy, src.Path, limit)
	}
	if err := s.channel.files.sweep(ctx); err != nil {
		return err
	}
	_, known, err := s.channel.files.lookup(ctx, src, s.sketches)
	if err == nil && (known == nil || known.inRedis()) {
		return errInRedis
	}
	return err
}

// awaitCounted blocks until every subscriber has counted the files, and sets how
// many lines each of them has counted.
func (s *Shipper) awaitCounted(ctx context.Context, results []ShippedFile) error {
	limit := throttle{}
	for i := range results {
		result := &results[i]
		if result.id == "" {
			continue
		}
		r, err := s.awaitFile(ctx, result, &limit)
		if err != nil {
			return err
		}
		result.Lines = map[string]int64{}
		for subscriber, progress := range r.counted {
			result.Lines[subscriber] = progress.lines
		}
	}
	return nil
}

// awaitFile blocks until a file's shipment is counted or abandoned, or Stop is
// called.
func (s *Shipper) awaitFile(ctx context.Context, result *ShippedFile, limit *throttle) (record, error) {
	for {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return record{}, err
		}
		r, err := s.channel.files.record(ctx, result.id)
		if err != nil {
			return record{}, err
		}
		if r.shipment != result.shipment || !r.inRedis() || s.stop.isStopped() {
			return r, nil
		}
		if err := s.await(ctx, since, EventWaitingForAll, "", limit); err != nil {
			return record{}, err
		}
	}
}

// laggards returns the subscribers with the time since their last heartbeat.
func (c *Channel) laggards(ctx context.Context) ([]Laggard, error) {
	subscribers, err := c.Subscribers(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	laggards := make([]Laggard, len(subscribers))
	for i, s := range subscribers {
		laggards[i] = Laggard{s.Name, s.Seen, now.Sub(s.Seen)}
	}
	return laggards, nil
}
