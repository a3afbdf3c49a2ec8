package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// An announcement is a message of the channel's chat: a file has a shipment to
// count.
type announcement struct {
	Version  int    `json:"v"`
	File     string `json:"file"`
	Shipment int64  `json:"shipment"`
	Place    int64  `json:"place"` // in the order of admission
}

// announce sends the announcement of a shipment to the subscribers. If the reply
// is lost, announce sends the announcement again. A duplicate is harmless: the
// shipment is then already claimed or counted.
func (c *Channel) announce(ctx context.Context, shipper string, a announcement) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	err = c.db.Retry(ctx, func() error {
		_, err := c.chat.Send(ctx, c.chatID(), shipper, chat.Content{Body: body})
		var lost *rdb.OutcomeUnknownError
		if errors.As(err, &lost) {
			return lost.Err
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("announce the file: %w", err)
	}
	return c.wakeAll(ctx)
}

func parseAnnouncement(body []byte) (announcement, error) {
	var a announcement
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("malformed announcement: %w", err)
	}
	if a.Version > formatVersion {
		return a, fmt.Errorf("announcement of format %d, which a newer Skidway wrote", a.Version)
	}
	if a.File == "" || a.Shipment <= 0 {
		return a, errors.New("malformed announcement: it names no shipment")
	}
	return a, nil
}

// claimBatch is the number of announcements that one read or one claim takes.
const claimBatch = 50

// A claimQueue claims files for a subscriber, in the order of their admission.
// What there is to claim is the set of open files: announcements are the fast way to
// a file, and may be lost (a foreign reader of the chat, a Redis that went back to an
// earlier state). A claimQueue is used by one goroutine at a time.
type claimQueue struct {
	channel    *Channel
	subscriber string
	lease      time.Duration
	notify     Notify

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
	claim   *claim
	pending bool          // other claims hold all files that are left
	retryIn time.Duration // until the first of those claims expires
}

// next claims the first unclaimed file, and acknowledges the announcements before
// the first one that is not finished.
func (q *claimQueue) next(ctx context.Context) (claimResult, error) {
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
		for from < len(q.open) && result.claim == nil {
			next, err := q.tryClaim(ctx, from, &result)
			if err != nil {
				return result, err
			}
			from = next
		}
		if result.claim != nil {
			break
		}
		more, err := q.read(ctx)
		if err == nil && !more {
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

// tryClaim tries to claim one file of q.open[from:], at most claimBatch of them,
// and removes finished files. It stores the outcome in result and returns the
// index of the first file not examined.
func (q *claimQueue) tryClaim(ctx context.Context, from int, result *claimResult) (int, error) {
	keys, token := target{subscriber: q.subscriber}, rand.Text()
	files := q.open[from:min(len(q.open), from+claimBatch)]
	args := []any{q.subscriber, token, q.lease.Milliseconds()}
	for _, a := range files {
		keys.more = append(keys.more, q.channel.keys.file(a.File), q.channel.keys.staged(q.subscriber, a.File))
		args = append(args, a.File, a.Shipment)
	}
	reply, err := q.channel.call(ctx, claimScript, keys, args...)
	if err != nil {
		return from, err
	}
	if reply.Len() == 0 {
		return from, fmt.Errorf("subscriber %q was removed from channel %q: %w", q.subscriber, q.channel.name, ErrNoSubscriber)
	}
	now, statuses := reply.Int(0), reply.From(1)
	var kept []announced
	for i := range statuses.Len() {
		status := statuses.Int(i)
		if status >= 0 {
			kept = append(kept, files[i])
		}
		switch {
		case status == 0:
			result.claim = &claim{channel: q.channel, subscriber: q.subscriber, id: files[i].File, shipment: files[i].Shipment, token: token}
		case status > 0:
			left := time.Duration(status-now) * time.Millisecond
			if !result.pending || left < result.retryIn {
				result.pending, result.retryIn = true, left
			}
		}
	}
	q.open = slices.Replace(q.open, from, from+statuses.Len(), kept...)
	return from + len(kept), nil
}

// read reads the next announcements, and reports whether there were any.
func (q *claimQueue) read(ctx context.Context) (bool, error) {
	messages, err := q.channel.chat.Pending(ctx, q.channel.chatID(), memberName(q.subscriber), q.lastRead, claimBatch)
	if err != nil || len(messages) == 0 {
		return false, err
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
				q.open = append(q.open, announced{announcement: a})
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
	if err == nil {
		q.acknowledged = upTo
	}
	return err
}

// A claim is a worker's right to count one shipment of a file for its
// subscriber. The worker's heartbeat renews it. Its token is random and never
// used again. Every script that writes under a claim checks the token, and rejects
// the write if the claim has ended or been replaced.
type claim struct {
	channel    *Channel
	subscriber string
	id         string
	shipment   int64
	token      string
	commits    int64                   // number of the shipment's last commit
	segment    int64                   // bytes per segment of the upload
	trimmed    int64                   // number of its first segments that this claim has freed
	since      time.Time               // of the last commit, or when the work began
	cancel     context.CancelCauseFunc // ends the work on the file
	lines      atomic.Int64            // counted and not committed yet
}

// errClaimLost ends the work on a file whose claim has ended or been replaced.
var errClaimLost = errors.New("claim lost: the file was claimed again or the claim was removed")

// release ends a claim before its lease expires, even when ctx is done.
func (c *claim) release(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	_, err := c.channel.call(ctx, releaseScript, target{subscriber: c.subscriber, file: c.id}, c.id, c.token)
	return err
}

// claims is the set of claims held by a worker.
type claims struct {
	mu   sync.Mutex
	held map[string]*claim // by file
}

// hold adds a claim and returns the context for the work on it. When the claim
// is lost the context is cancelled, with errClaimLost as its cause.
func (cs *claims) hold(ctx context.Context, c *claim) context.Context {
	ctx, c.cancel = context.WithCancelCause(ctx)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.held == nil {
		cs.held = map[string]*claim{}
	}
	if old := cs.held[c.id]; old != nil {
		old.cancel(errClaimLost) // c was granted, so old has ended or expired
	}
	cs.held[c.id] = c
	return ctx
}

// drop removes a claim from the set, unless a later claim on its file has replaced
// it, and cancels its context.
func (cs *claims) drop(c *claim) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.held[c.id] == c {
		delete(cs.held, c.id)
	}
	c.cancel(nil)
}

// list returns the claims in the set, in no order.
func (cs *claims) list() []*claim {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Values(cs.held))
}
