package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// claimBatch is the number of announcements that one read or one claim takes.
const claimBatch = 50

// A claimQueue claims files for a subscriber, in the order of their admission.
// What there is to claim is the set of open files: announcements are the fast way to
// a file, and may be lost (a foreign reader of the chat, a Redis that went back to an
// earlier state). A claimQueue is used by one goroutine at a time.
type claimQueue struct {
	channel    *Channel
	subscriber string
	settings   string
	others     claimQueues // of the other subscribers of the worker: a file is claimed for them, too
	lease      time.Duration
	aside      *asideFiles // of the worker; nil: none
	notify     Notify

	removed atomic.Bool // the subscriber does not exist any more

	// open holds announcements read but not yet finished by the subscriber, so
	// that those behind one slow file are read once.
	open []announced

	// lookInterval is the least time between two looks at the set of open files,
	// and looked the time of the last one.
	lookInterval time.Duration
	looked       time.Time

	// older is set when a file was given up for an older one, which may not be in open yet.
	older atomic.Bool

	lastRead     uint64 // message id
	acknowledged uint64 // message id
}

type announced struct {
	message uint64 // 0: found in the set of open files
	announcement
}

// A claimResult is the outcome of looking for a file to claim.
type claimResult struct {
	claims  []*claim      // on one file, each of another subscriber; empty: no file was claimed
	pending bool          // other claims hold all files that are left, or they are set aside
	retryIn time.Duration // until the first of those claims expires
	blocked bool          // no worker has a file for whose window there is no room: it comes before others
	rested  []rdb.Mark    // where news of files come that are set aside until then
}

// held adds that another claim holds a file for some time.
func (r *claimResult) held(left time.Duration) {
	if !r.pending || left < r.retryIn {
		r.pending, r.retryIn = true, left
	}
}

// next claims the first unclaimed file of those that were admitted before a place, and
// acknowledges the announcements before the first one that is not finished.
func (q *claimQueue) next(ctx context.Context, before int64) (claimResult, error) {
	result := claimResult{}
	if len(q.open) == 0 { // all that was read is acknowledged; ids may have been given again
		q.lastRead, q.acknowledged = 0, 0
	}
	if q.older.Swap(false) {
		q.looked = time.Time{}
		if _, err := q.look(ctx); err != nil {
			return result, err
		}
	}
	for from := 0; ; from = 0 { // what is added may come first
		result.rested = nil
		for from < len(q.open) && q.open[from].Place < before && len(result.claims) == 0 && !result.blocked {
			next, err := q.tryClaim(ctx, from, before, &result)
			if err != nil {
				return result, err
			}
			from = next
		}
		if len(result.claims) > 0 || result.blocked {
			break
		}
		more, err := q.read(ctx)
		// Once another subscriber has claimed a file, one that was not announced may wait a little.
		if err == nil && !more && (before == math.MaxInt64 || time.Since(q.looked) >= q.lease/2) {
			more, err = q.look(ctx)
		}
		if err != nil {
			return result, err
		}
		if !more {
			break
		}
	}
	return result, q.acknowledge(ctx)
}

// tryClaim tries to claim one file of q.open[from:], at most claimBatch of them that were
// admitted before a place, and removes finished files. It adds the outcome to result and
// returns the index of the first file not examined.
func (q *claimQueue) tryClaim(ctx context.Context, from int, before int64, result *claimResult) (int, error) {
	files := q.open[from:min(len(q.open), from+claimBatch)]
	if i := slices.IndexFunc(files, func(a announced) bool { return a.Place >= before }); i >= 0 {
		files = files[:i]
	}
	isAside := func(a announced) bool { _, found := q.aside.get(q.subscriber, a.announcement); return found }
	if i := slices.IndexFunc(files, isAside); i > 0 {
		files = files[:i]
	} else if i == 0 {
		passed, err := q.passAside(ctx, files[0].announcement, result)
		return from + passed, err
	}
	statuses, err := q.claimFirst(ctx, files, result)
	if err != nil {
		return from, err
	}
	var kept []announced
	for i, status := range statuses {
		if status >= 0 {
			kept = append(kept, files[i])
		} else {
			q.aside.take(q.subscriber, files[i].File, files[i].Shipment)
		}
	}
	q.open = slices.Replace(q.open, from, from+len(statuses), kept...)
	return from + len(kept), nil
}

// maxRested bounds the files whose news a worker waits for. It looks for news of others
// when it looks for files.
const maxRested = 100

// passAside passes over a file that is set aside, unless there is news. It returns the number of
// files that it has passed, and adds to result what they wait for.
func (q *claimQueue) passAside(ctx context.Context, file announcement, result *claimResult) (int, error) {
	why, found := q.aside.get(q.subscriber, file)
	if !found {
		return 0, nil
	}
	if why.need > 0 {
		var err error
		result.held(lookInterval)
		result.blocked, err = q.channel.files.unclaimed(ctx, q.subscriber, file.Place, func(a openShipment) bool { return a.File == file.File })
		return 1, err
	}
	state, err := q.channel.files.upload(ctx, file.File)
	if err != nil || state.shipment != file.Shipment || state.state != FileUploading || state.raw != why.raw || state.full {
		q.aside.end(q.subscriber, file)
		return 0, err
	}
	result.held(q.lease / 2)
	if len(result.rested) < maxRested {
		result.rested = append(result.rested, rdb.Mark{Key: q.channel.keys.fileWake(file.File, file.Shipment), ID: fmt.Sprintf("%d-0", state.raw)})
	}
	return 1, nil
}

// claimFirst claims the first unclaimed one of some files, also for the other subscribers
// that can have it. It adds the outcome to result and returns the status of each file up
// to the claimed one, as the script does.
func (q *claimQueue) claimFirst(ctx context.Context, files []announced, result *claimResult) ([]int64, error) {
	k, keys, token := q.channel.keys, target{subscriber: q.subscriber}, rand.Text()
	args := []any{q.subscriber, token, q.lease.Milliseconds(), len(files)}
	for _, a := range files {
		keys.more = append(keys.more, k.file(a.File), k.subscriber(q.subscriber).staged(a.File))
		args = append(args, a.File, a.Shipment)
	}
	for _, other := range q.others.present() {
		args = append(args, other.subscriber, other.settings)
		keys.more = append(keys.more, k.subscriber(other.subscriber).claims(), k.subscriber(other.subscriber).owners())
		for _, a := range files {
			keys.more = append(keys.more, k.subscriber(other.subscriber).staged(a.File))
		}
	}
	reply, err := q.channel.call(ctx, claimScript, keys, args...)
	if err != nil {
		return nil, err
	}
	if reply.Len() == 0 {
		return nil, q.removedError()
	}
	statuses := make([]int64, reply.Len()-2)
	for i := range statuses {
		status := reply.Int(2 + i)
		statuses[i] = status
		switch {
		case status == 0:
			for _, subscriber := range append([]string{q.subscriber}, reply.List(1).Texts()...) {
				result.claims = append(result.claims, &claim{
					channel: q.channel, subscriber: subscriber, token: token,
					id: files[i].File, shipment: files[i].Shipment, place: files[i].Place,
				})
			}
		case status > 0:
			result.held(time.Duration(status-reply.Int(0)) * time.Millisecond)
		}
	}
	return statuses, nil
}

// removedError is the error for a subscriber that does not exist any more.
func (q *claimQueue) removedError() error {
	return fmt.Errorf("subscriber %q was removed from channel %q: %w", q.subscriber, q.channel.name, ErrNoSubscriber)
}

// chatError is the error for one of the channel's chat.
func (q *claimQueue) chatError(err error) error {
	if errors.Is(err, chat.ErrNotMember) {
		return q.removedError()
	}
	return chatError(err)
}

// read reads the next announcements, and reports whether there were any.
func (q *claimQueue) read(ctx context.Context) (bool, error) {
	messages, err := q.channel.chat.Pending(ctx, q.channel.chatID(), memberName(q.subscriber), q.lastRead, claimBatch)
	if err != nil || len(messages) == 0 {
		return false, q.chatError(err)
	}
	for _, m := range messages {
		a, err := announcement{}, m.Err
		if err == nil {
			a, err = parseAnnouncement(m.Body)
		}
		if err != nil {
			q.notify.send(Event{Kind: EventSkipped, Message: m.ID, Err: err})
		} else {
			q.open = append(q.open, announced{m.ID, a})
		}
		q.lastRead = m.ID
	}
	q.sort()
	return true, nil
}

// look reads files that the subscriber has not counted from the set of open files,
// at most claimBatch, and reports whether there were any.
func (q *claimQueue) look(ctx context.Context) (bool, error) {
	if time.Since(q.looked) < q.lookInterval {
		return false, nil
	}
	queued := map[string]int64{}
	for _, a := range q.open {
		queued[a.File] = a.Shipment
	}
	before := len(q.open)
	for start := int64(0); len(q.open) < before+claimBatch; start += claimBatch {
		open, err := q.channel.files.openShipments(ctx, q.subscriber, start, claimBatch)
		if err != nil {
			return false, err
		}
		for _, a := range open.uncounted {
			if queued[a.File] != a.Shipment {
				q.open = append(q.open, announced{announcement: a.announcement})
			}
		}
		if open.last {
			q.looked = time.Now()
			break
		}
	}
	q.sort()
	return len(q.open) > before, nil
}

// nextSmall claims the first unclaimed file whose upload is complete and has at most some
// bytes, or that was set aside and has news of at most as many.
func (q *claimQueue) nextSmall(ctx context.Context, maxBytes int64) (claimResult, error) {
	for start := int64(0); ; start += claimBatch {
		result := claimResult{}
		open, err := q.channel.files.openShipments(ctx, q.subscriber, start, claimBatch)
		if err != nil {
			return result, err
		}
		var small []announced
		for _, a := range open.uncounted {
			news := q.aside.news(q.subscriber, a)
			if a.complete && a.raw <= maxBytes && !q.aside.waits(q.subscriber, a) || news > 0 && news <= maxBytes {
				small = append(small, announced{announcement: a.announcement})
			}
		}
		if len(small) > 0 {
			_, err = q.claimFirst(ctx, small, &result)
		}
		if err != nil || len(result.claims) > 0 || open.last {
			return result, err
		}
	}
}

// sort puts the files into the order of their admission.
func (q *claimQueue) sort() {
	slices.SortStableFunc(q.open, func(a, b announced) int { return cmp.Compare(a.Place, b.Place) })
}

// acknowledge moves the subscriber's cursor in the chat up to the first
// announcement in q.open.
func (q *claimQueue) acknowledge(ctx context.Context) error {
	upTo := q.lastRead
	for _, a := range q.open {
		if a.message > 0 {
			upTo = min(upTo, a.message-1)
		}
	}
	if upTo <= q.acknowledged {
		return nil
	}
	_, err := q.channel.chat.Ack(ctx, q.channel.chatID(), memberName(q.subscriber), upTo)
	var invalid *chat.InvalidError
	switch {
	case err == nil:
		q.acknowledged = upTo
	case errors.As(err, &invalid):
		q.lastRead, q.acknowledged = 0, 0 // Redis went back to an earlier state: ids are given again
		return nil
	}
	return q.chatError(err)
}
