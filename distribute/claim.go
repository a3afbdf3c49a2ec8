package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
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
		if lost, ok := errors.AsType[*rdb.OutcomeUnknownError](err); ok {
			return lost.Err
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("announce the file: %w", chatError(err))
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

// A claim is a worker's right to count one shipment of a file for its
// subscriber. The worker's heartbeat renews it. Its token is random and never
// used again. Every script that writes under a claim checks the token, and rejects
// the write if the claim has ended or been replaced.
type claim struct {
	channel    *Channel
	subscriber string
	epoch      string // of the subscriber
	id         string
	shipment   int64
	place      int64 // of the file, in the order of admission
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

// release releases claims.
func release(ctx context.Context, claims []*claim) error {
	var errs []error
	for _, c := range claims {
		errs = append(errs, c.release(ctx))
	}
	return errors.Join(errs...)
}

// claims is the set of claims that a worker holds for a subscriber.
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

// claimQueues are the queues of the subscribers of one worker.
type claimQueues []*claimQueue

// add adds the queue of one more subscriber.
func (qs *claimQueues) add(added *claimQueue) {
	for _, q := range *qs {
		q.others, added.others = append(q.others, added), append(added.others, q)
	}
	*qs = append(*qs, added)
}

// next claims the oldest unclaimed file of all queues, for each subscriber that can have
// it. A subscriber that was removed is served no more; ErrNoSubscriber is returned if no
// other one is left.
func (qs claimQueues) next(ctx context.Context) (claimResult, error) {
	result, before := claimResult{}, int64(math.MaxInt64)
	for _, q := range qs.present() {
		found, err := q.next(ctx, before)
		if errors.Is(err, ErrNoSubscriber) {
			q.removed.Store(true)
			if len(qs.present()) > 0 {
				q.notify.send(Event{Kind: EventUnsubscribed, Subscriber: q.subscriber})
				if err := release(ctx, found.claims); err != nil {
					return claimResult{}, errors.Join(err, release(ctx, result.claims))
				}
				continue
			}
		}
		if err != nil {
			return claimResult{}, errors.Join(err, release(ctx, result.claims), release(ctx, found.claims))
		}
		if len(found.claims) > 0 {
			if err := release(ctx, result.claims); err != nil { // of a newer file
				return claimResult{}, errors.Join(err, release(ctx, found.claims))
			}
			result.claims, before = found.claims, found.claims[0].place
		}
		if found.pending {
			result.held(found.retryIn)
		}
		result.blocked, result.rested = result.blocked || found.blocked, append(result.rested, found.rested...)
	}
	return result, nil
}

// nextSmall claims an unclaimed file whose upload is complete, or has news, of at most some
// bytes, for each subscriber that can have it.
func (qs claimQueues) nextSmall(ctx context.Context, maxBytes int64) ([]*claim, error) {
	for _, q := range qs.present() {
		found, err := q.nextSmall(ctx, maxBytes)
		if errors.Is(err, ErrNoSubscriber) {
			continue // next reports it
		}
		if err != nil || len(found.claims) > 0 {
			return found.claims, err
		}
	}
	return nil, nil
}

// present returns the queues of the subscribers that were not removed.
func (qs claimQueues) present() claimQueues {
	return slices.DeleteFunc(slices.Clone(qs), func(q *claimQueue) bool { return q.removed.Load() })
}

// subscribers returns the names of the subscribers that were not removed.
func (qs claimQueues) subscribers() []string {
	var names []string
	for _, q := range qs.present() {
		names = append(names, q.subscriber)
	}
	return names
}
