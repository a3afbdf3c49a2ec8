package distribute

import (
	"context"
	"errors"
	"math"
	"slices"
)

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
