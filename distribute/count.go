package distribute

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"skidway/distribute/stream"
)

// A fileCount is the count of a file for one subscriber, under its claim.
type fileCount struct {
	*claim
	subscription *subscription
	work         context.Context   // ends with the claim
	from         stream.Checkpoint // where the subscriber goes on
	scan         *fileScan         // nil until the record of the file is read
}

// A fileRead downloads and decompresses a file once, for all subscribers of a worker that
// have a claim on it. It begins at the earliest place where one of them goes on. Each of
// them skips what it has counted, and commits on its own. One whose count ends, because its
// claim is lost or its aggregation refuses the file, leaves; the others go on.
type fileRead struct {
	worker *Worker
	ctx    context.Context // of the worker
	name   string          // of the file
	upload uploadReader
	window int64
	counts []*fileCount // of the subscribers that have not left
	err    error        // that ends the worker
}

// process counts and commits a claimed file for its subscribers; if it is brief, what is
// uploaded when it begins. Its error ends the worker.
func (w *Worker) process(ctx context.Context, claims []*claim, brief bool) error {
	w.active.Add(1)
	defer w.active.Add(-1)
	r := &fileRead{worker: w, ctx: ctx, name: claims[0].id}
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var held atomic.Int32
	held.Store(int32(len(claims)))
	for _, c := range claims {
		c.since = time.Now()
		s := w.subscription(c.subscriber)
		count := &fileCount{claim: c, subscription: s, work: s.claims.hold(ctx, c)}
		context.AfterFunc(count.work, func() {
			if held.Add(-1) == 0 {
				cancel(context.Cause(count.work))
			}
		})
		r.counts = append(r.counts, count)
	}
	if err := r.begin(reading); err != nil {
		r.endAll(err)
	}
	if brief && r.upload.state == FileUploading {
		r.upload.until = r.upload.raw
	}
	r.read(reading)
	return r.err
}

// begin reads the record of the file, and prepares the count for each subscriber. Those
// that can't count the file leave.
func (r *fileRead) begin(ctx context.Context) error {
	w, first := r.worker, r.counts[0]
	record, err := w.channel.files.record(ctx, first.id)
	if err != nil {
		return err
	}
	r.name = record.name
	for _, c := range r.counts {
		if c.epoch, err = w.channel.epoch(ctx, c.subscriber); err != nil {
			return err
		}
	}
	if record.shipment != first.shipment {
		return errAbandoned
	}
	if r.window, err = w.channel.window(ctx); err != nil {
		return err
	}
	r.upload = uploadReader{
		files: w.channel.files, queues: w.queues, record: record, maxWindow: w.config.MaxWindow, windows: w.windows, patience: w.config.Lease,
		lookInterval: w.lookInterval, detour: func() error { return w.detour(r.ctx, record.upload, nil) },
		othersWait: w.sometimes(func() (bool, error) { return w.othersWait(ctx, record.id) }), aside: &w.aside,
	}
	for _, c := range slices.Backward(r.counts) {
		if err := r.beginCount(c); err != nil {
			r.end(c, err)
		}
	}
	from := r.start()
	for _, c := range slices.Backward(r.counts) {
		c.scan.seek(from)
		urgent := whenDue
		if c.from.Raw > c.scan.before.keep { // what another subscriber has not counted is not kept for this one
			urgent = soon
		}
		if err := c.scan.commitPart(urgent); err != nil {
			r.end(c, err)
		}
	}
	return nil
}

// beginCount sets where the count for a subscriber goes on.
func (r *fileRead) beginCount(c *fileCount) (err error) {
	record := r.upload.record
	before := record.counted[c.subscriber]
	late := record.freed > 0 && before.part != c.shipment
	if before.part == c.shipment {
		c.commits = before.commits
	} else {
		before.keep = 0
	}
	c.segment = record.segment
	aggregation := c.subscription.aggregation
	aggregation.file = record.name
	c.scan = newFileScan(aggregation, before, record.base, &c.lines)
	switch {
	case record.malformed() || before.part == c.shipment && before.commits == 0:
		return &refusal{errMalformed}
	case before.refused() && record.base > 0:
		return &refusal{errors.New(before.note)} // of more than its sample
	case late || before.resume < record.base:
		return &refusal{errLaterPart}
	}
	if c.from, err = c.checkpoint(c.work, record, before); err != nil {
		return err
	}
	if err := c.subscription.aggregation.retention.refresh(c.work); err != nil {
		return err
	}
	c.scan.parts = newPartCommits(r.worker.config, record, r.window, c.from, func(result *fileResult, checkpoint []byte) error {
		return r.commitPart(c, result, checkpoint)
	})
	c.scan.parts.lines = r.worker.aside.take(c.subscriber, c.id, c.shipment).lines
	return nil
}

// commitPart commits a part of the file for a subscriber.
func (r *fileRead) commitPart(c *fileCount, result *fileResult, checkpoint []byte) error {
	_, err := c.commit(c.work, part{result: result, checkpoint: checkpoint, build: c.subscription.aggregation.Build()})
	if err != nil {
		return err
	}
	c.claim.lines.Store(0) // first, so that Progress counts no line twice
	r.worker.addTally(c.subscription, result.read)
	if err := c.foldAndFree(c.work, c.subscription.aggregation.retention.settings, false, result.progress.keep); err != nil {
		return err
	}
	return c.subscription.aggregation.retention.refresh(c.work)
}

// start returns the earliest place where one of the subscribers goes on.
func (r *fileRead) start() (from stream.Checkpoint) {
	for i, c := range r.counts {
		if i == 0 || c.from.Content < from.Content {
			from = c.from
		}
	}
	return from
}

// read reads the content, and counts it for each subscriber to its end.
func (r *fileRead) read(ctx context.Context) {
	for len(r.counts) > 0 && r.err == nil {
		from := r.start()
		for _, c := range r.counts {
			c.scan.seek(from)
		}
		err := scanFile(ctx, r.upload, from, r, r.checkpoints(), r.worker.files, stream.Idle{Interval: r.worker.config.CommitInterval / 4, Do: r.idle})
		var starved *starvedError
		var inUse *stream.WindowsInUseError
		var rest *restError
		waits := errors.As(err, &starved)
		switch {
		case waits:
			r.commitAll(atAnyEnd)
		case errors.Is(err, errOlder):
			r.commitAll(givenUp)
		case errors.As(err, &rest):
			r.commitAll(givenUp)
			r.setAside(asideFile{raw: rest.position})
		case errors.As(err, &inUse): // the file is only read later
			r.commitAll(soon)
			r.setAside(asideFile{need: inUse.Need})
		}
		if waits && r.err == nil {
			err = r.awaitRoom(ctx, starved.position)
		}
		switch {
		case r.err != nil:
		case waits && err == nil:
			r.rewind()
		case errors.Is(err, ErrVanished) && r.anyAhead():
			// It was freed when the subscriber that is behind left.
			r.endBehind(err)
			r.rewind()
		default:
			r.endAll(err)
		}
	}
	r.releaseAll()
}

// setAside sets the file aside for the subscribers.
func (r *fileRead) setAside(why asideFile) {
	for _, c := range r.counts {
		why.lines = c.scan.parts.lines
		r.worker.aside.set(c.subscriber, c.id, c.shipment, why)
	}
}

// rewind prepares the counts for content that begins at a checkpoint again.
func (r *fileRead) rewind() {
	for _, c := range r.counts {
		c.from = c.scan.rewind()
	}
}

// anyAhead reports whether the reading has not reached the place where a subscriber goes on.
func (r *fileRead) anyAhead() bool {
	return slices.ContainsFunc(r.counts, func(c *fileCount) bool { return c.scan.skip > 0 })
}

// endBehind ends the counts of the subscribers whose place the reading has reached.
func (r *fileRead) endBehind(err error) {
	for _, c := range slices.Backward(r.counts) {
		if c.scan.skip <= 0 {
			r.end(c, err)
		}
	}
}

// checkpoints returns the places for the checkpoints of the subscribers.
func (r *fileRead) checkpoints() (all []*stream.Checkpoints) {
	for _, c := range r.counts {
		all = append(all, c.scan.parts.checkpoints)
	}
	return all
}

// errAllLeft ends the reading of a file whose last subscriber has left.
var errAllLeft = errors.New("no subscriber counts the file any more")

// Write counts the next block of the content for each subscriber.
func (r *fileRead) Write(block []byte) (int, error) {
	for _, c := range slices.Backward(r.counts) {
		err := c.work.Err()
		if err == nil {
			_, err = c.scan.Write(block)
		}
		if err != nil {
			r.end(c, err)
		}
	}
	if r.err == nil && len(r.counts) > 0 {
		if err := r.worker.detour(r.ctx, r.upload.upload, func() { r.commitAll(soon) }); err != nil {
			r.err = errors.Join(r.err, err)
		}
	}
	if r.err != nil || len(r.counts) == 0 {
		return 0, errAllLeft
	}
	return len(block), nil
}

// idle commits what is due while no content comes.
func (r *fileRead) idle() error {
	r.commitAll(whenDue)
	if r.err != nil || len(r.counts) == 0 {
		return errAllLeft
	}
	return nil
}

// commitAll commits what was counted for each subscriber.
func (r *fileRead) commitAll(urgent urgency) {
	for _, c := range slices.Backward(r.counts) {
		if err := c.scan.commitAll(urgent); err != nil {
			r.end(c, err)
		}
	}
}

// awaitRoom blocks until the upload, whose shipper waits for room, has more than position
// bytes or ends. Subscribers that hold up the shipper for ever leave.
func (r *fileRead) awaitRoom(ctx context.Context, position int64) error {
	for len(r.counts) > 0 {
		keep := int64(math.MaxInt64)
		for _, c := range r.counts {
			keep = min(keep, c.scan.before.keep)
		}
		err := r.upload.awaitRoom(ctx, position, keep, r.window)
		if !errors.Is(err, errStuck) {
			return err
		}
		for _, c := range slices.Backward(r.counts) {
			if c.scan.before.keep/r.upload.segment == keep/r.upload.segment {
				r.end(c, err)
			}
		}
	}
	return nil
}

// endAll ends the counts of all subscribers.
func (r *fileRead) endAll(err error) {
	for _, c := range slices.Backward(r.counts) {
		r.end(c, err)
	}
}

// end ends the count for a subscriber. err is the error that ended it, nil at the regular
// end of the content: then, and if something is wrong with the file itself, the last part is
// committed.
func (r *fileRead) end(c *fileCount, err error) {
	r.counts = slices.DeleteFunc(slices.Clone(r.counts), func(other *fileCount) bool { return other == c })
	if err := r.commitLast(c, err); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

func (r *fileRead) commitLast(c *fileCount, err error) error {
	var result *fileResult
	if c.scan != nil {
		result, err = c.scan.result(err)
	}
	allCounted := false
	if err == nil {
		result.tallyFile(c.scan.before)
		// Not with the claim's context: the heartbeat can't distinguish a claim
		// that was lost from one that the seal has just ended. The scripts can.
		cut := result.failure != nil || result.damage != nil
		allCounted, err = c.commit(r.ctx, part{result: result, last: true, cut: cut, build: c.subscription.aggregation.Build()})
	} else if cause := context.Cause(c.work); cause != nil && r.ctx.Err() == nil {
		err = cause // the heartbeat found out first
	}
	c.subscription.claims.drop(c.claim)
	if err == nil {
		r.worker.record(c.subscription, r.name, result)
		return c.foldAndFree(r.ctx, c.subscription.aggregation.retention.settings, allCounted, math.MaxInt64)
	}
	return r.giveUp(c, err)
}

// giveUp releases the claim of a subscriber that can't count the file now. It returns the
// error if that ends the worker.
func (r *fileRead) giveUp(c *fileCount, err error) error {
	event := Event{Subscriber: c.subscriber, File: r.name}
	released := c.release(r.ctx)
	var inUse *stream.WindowsInUseError
	var rest *restError
	switch {
	case errors.Is(err, errOlder):
		for _, q := range r.worker.queues {
			q.older.Store(true)
		}
		return released
	case errors.As(err, &inUse), errors.As(err, &rest):
		return released
	case errors.Is(err, errClaimLost):
		event.Kind = EventClaimLost
	case errors.Is(err, errAbandoned):
		event.Kind = EventAbandoned
	default:
		return errors.Join(fmt.Errorf("count %s: %w", r.name, err), released)
	}
	r.worker.config.Notify.send(event)
	return nil
}

// releaseAll releases the claims of all subscribers, because the worker ends.
func (r *fileRead) releaseAll() {
	for _, c := range r.counts {
		c.subscription.claims.drop(c.claim)
		r.err = errors.Join(r.err, c.release(r.ctx))
	}
	r.counts = nil
}

// files returns the number of files that are counted now.
func (w *Worker) files() int { return int(w.active.Load()) }
