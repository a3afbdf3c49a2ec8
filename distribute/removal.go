package distribute

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
)

// A removal is the removal of a subscriber, or of the counts of one that is reset. It begins with one
// script, after which the subscriber does not exist, or has no sums, and then deletes what is left, in
// steps that any process can repeat. Until it is complete, no subscriber of the name can be made, and
// after a reset no file is admitted and no report begins.
type removal struct {
	subscriber string
	number     string // distinguishes it from other removals of the name
}

// resetPrefix begins the number of a reset, which is that of the epoch.
const resetPrefix = "reset "

func (r removal) isReset() bool { return strings.HasPrefix(r.number, resetPrefix) }

// errRemovalComplete is the error of a step of a removal that another process has
// completed.
var errRemovalComplete = errors.New("the removal is complete")

// beginRemoval removes a subscriber. The number of the removal is empty if there is
// neither the subscriber nor a removal of it.
func (f fileStore) beginRemoval(ctx context.Context, subscriber string) (removal, error) {
	reply, err := f.call(ctx, unsubscribeScript, target{subscriber: subscriber}, subscriber)
	return removal{subscriber, reply.Text(0)}, err
}

// completeRemovals completes the removals that other processes have begun: they may be
// dead.
func (f fileStore) completeRemovals(ctx context.Context) error {
	begun, err := query(ctx, f.db, func() (map[string]string, error) { return f.db.HGetAll(ctx, f.keys.removed()).Result() })
	if err != nil {
		return err
	}
	for subscriber, number := range begun {
		if err := f.completeRemoval(ctx, removal{subscriber, number}); err != nil {
			return fmt.Errorf("complete the removal of subscriber %q: %w", subscriber, err)
		}
	}
	return nil
}

// completeRemoval deletes what a removed subscriber left: its membership in the chat,
// its counts, its fields of the file records. It frees the files that only it had not
// counted. Of one that was reset it deletes the counts and the fields.
func (f fileStore) completeRemoval(ctx context.Context, r removal) error {
	number, err := query(ctx, f.db, func() (string, error) { return f.db.HGet(ctx, f.keys.removed(), r.subscriber).Result() })
	switch {
	case errors.Is(err, redis.Nil), err == nil && number != r.number:
		return nil // another process has completed it: the member may be a new subscriber
	case err != nil:
		return err
	}
	if !r.isReset() {
		err = f.chat.Leave(ctx, f.chatID(), memberName(r.subscriber))
		if err != nil && !errors.Is(err, chat.ErrNotMember) && !errors.Is(err, chat.ErrNoChat) {
			return err
		}
	}
	err = f.discardCounts(ctx, r)
	if err == nil && !r.isReset() {
		err = f.freeCounted(ctx)
	}
	if err == nil {
		_, err = f.call(ctx, removedScript, target{}, r.subscriber, r.number)
	}
	if errors.Is(err, errRemovalComplete) {
		return nil
	}
	return err
}

// completeResets completes the resets that are not complete, and returns the number of resets before.
// What is read of records afterwards is of no earlier epoch, unless the number has changed.
func (f fileStore) completeResets(ctx context.Context) (int64, error) {
	for {
		var resets int64
		var begun map[string]string
		err := f.db.Retry(ctx, func() error {
			pipe := f.db.Pipeline()
			number, removed := pipe.HGet(ctx, f.keys.channel(), "resets"), pipe.HGetAll(ctx, f.keys.removed())
			_, err := pipe.Exec(ctx)
			resets, begun = parseInt(number.Val()), removed.Val()
			if errors.Is(err, redis.Nil) { // there was none
				err = removed.Err()
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		done := true
		for subscriber, number := range begun {
			if r := (removal{subscriber, number}); r.isReset() {
				done = false
				if err := f.completeRemoval(ctx, r); err != nil {
					return 0, fmt.Errorf("complete the reset of subscriber %q: %w", subscriber, err)
				}
			}
		}
		if done {
			return resets, nil
		}
	}
}

// discardCounts deletes the counts of a removed subscriber and its fields of the file
// records.
func (f fileStore) discardCounts(ctx context.Context, r removal) error {
	if err := errors.Join(f.discardTotals(ctx, r), f.discardImports(ctx, r)); err != nil {
		return err
	}
	err := f.each(ctx, func(id string) error {
		fields := make([]any, 0, len(subscriberFields))
		for _, field := range subscriberFields {
			fields = append(fields, field+":"+r.subscriber)
		}
		return f.discard(ctx, r, target{file: id, more: []string{f.keys.subscriber(r.subscriber).staged(id), f.keys.subscriber(r.subscriber).checkpoint(id)}}, fields...)
	})
	if err != nil {
		return err
	}
	k, name := f.keys, r.subscriber
	return f.discard(ctx, r, target{more: []string{k.subscriber(name).groups(), k.subscriber(name).sealed(), k.subscriber(name).readers(), k.subscriber(name).problems(), k.subscriber(name).crowded(), k.subscriber(name).days(), k.subscriber(name).visitors(), k.subscriber(name).sources(), k.subscriber(name).imports()}})
}

// discardTotals deletes sealed cells and totals. Sealed cells go first: a fold that runs
// at the same time can then add nothing to deleted totals.
func (f fileStore) discardTotals(ctx context.Context, r removal) error {
	commits, err := f.totals(r.subscriber).sealed(ctx)
	if err != nil {
		return err
	}
	for _, commit := range commits {
		if err := f.discard(ctx, r, target{more: []string{f.keys.subscriber(r.subscriber).sealedCells(commit)}}); err != nil {
			return err
		}
	}
	err = f.scanSet(ctx, f.keys.subscriber(r.subscriber).visitors(), func(sketch string) error {
		return f.discard(ctx, r, target{more: []string{f.keys.subscriber(r.subscriber).visitorsOf(sketch)}})
	})
	if err != nil {
		return err
	}
	return f.scanSet(ctx, f.keys.subscriber(r.subscriber).groups(), func(group string) error {
		return f.discard(ctx, r, target{more: []string{f.keys.subscriber(r.subscriber).totals(group)}})
	})
}

// discard deletes keys, and fields of a file's record, or returns errRemovalComplete.
func (f fileStore) discard(ctx context.Context, r removal, t target, fields ...any) error {
	reply, err := f.call(ctx, discardScript, t, append([]any{r.subscriber, r.number}, fields...)...)
	if err == nil && reply.Int(0) == 0 {
		err = errRemovalComplete
	}
	return err
}

// freeCounted frees the files that all remaining subscribers have counted.
func (f fileStore) freeCounted(ctx context.Context) error {
	return f.scanSet(ctx, f.keys.open(), func(id string) error {
		reply, err := f.call(ctx, markDoneScript, target{file: id}, id)
		if err != nil || reply.Int(0) == 0 {
			return err
		}
		return f.freeSegments(ctx, id)
	})
}

// ErrFilesInRedis is the error for a reset while files are in Redis: workers may count them.
var ErrFilesInRedis = errors.New("files that are not counted are in Redis")

// errReset is the error for a report of a subscriber whose reset is not complete.
var errReset = errors.New("the reset is not complete")

// Reset deletes the counts of a subscriber, the numbers of its lines, its visitors, its imported
// sources and the list of the files that it has counted, and begins its next epoch. Its settings, the
// oldest day that it keeps and its identity as a source of others stay. Files that are shipped again
// are counted again. No part of a file of an earlier epoch is counted in this one.
//
// It returns [ErrFilesInRedis], and changes nothing, while a file is in Redis that a subscriber has
// not counted. A report that begins afterwards has nothing of what was deleted. If Reset is
// interrupted, the next shipper, worker or report completes it.
func (c *Channel) Reset(ctx context.Context, name string) error {
	if err := c.reset(ctx, name); err != nil {
		return fmt.Errorf("reset subscriber %q of channel %q: %w", name, c.name, err)
	}
	return nil
}

func (c *Channel) reset(ctx context.Context, name string) error {
	for {
		if err := c.files.sweep(ctx); err != nil { // completes others, and frees files that are counted
			return err
		}
		epoch, err := c.epoch(ctx, name)
		if err != nil {
			return err
		}
		next := strconv.FormatInt(parseInt(epoch)+1, 10)
		reply, err := c.call(ctx, resetScript, target{subscriber: name}, name, epoch, next)
		if err != nil {
			return err
		}
		switch reply.Int(0) {
		case 1:
			return c.files.completeRemoval(ctx, removal{name, resetPrefix + next})
		case 0:
			spent, err := query(ctx, c.db, func() (int64, error) { return c.db.SCard(ctx, c.keys.spent()).Result() })
			if err != nil || spent == 0 {
				return errors.Join(err, ErrFilesInRedis)
			}
		case -1:
			return ErrNoSubscriber
		}
	}
}

// forgetOld deletes records: the oldest beyond a number of records, and those older than
// an age.
func (f fileStore) forgetOld(ctx context.Context, maxFiles int64, maxAge time.Duration) error {
	for {
		old, before, err := f.old(ctx, maxFiles, maxAge)
		if err != nil || len(old) == 0 {
			return err
		}
		forgotten := 0
		for _, id := range old {
			n, err := f.forget(ctx, id, before)
			if err != nil {
				return err
			}
			forgotten += n
		}
		if forgotten == 0 { // the others are in Redis
			return nil
		}
	}
}

// old returns up to sweepBatch files whose records are to be deleted, and the time of the
// last change before which they may be.
func (f fileStore) old(ctx context.Context, maxFiles int64, maxAge time.Duration) (ids []string, before time.Time, err error) {
	now, err := f.now(ctx)
	if err != nil {
		return nil, now, err
	}
	err = f.db.Retry(ctx, func() error {
		count, err := f.db.ZCard(ctx, f.keys.files()).Result()
		if err != nil {
			return err
		}
		if excess := count - maxFiles; excess > 0 {
			before = now
			ids, err = f.db.ZRange(ctx, f.keys.files(), 0, min(excess, sweepBatch)-1).Result()
			return err
		}
		before = now.Add(-maxAge)
		ids, err = f.db.ZRangeByScore(ctx, f.keys.files(), &redis.ZRangeBy{
			Min: "-inf", Max: strconv.FormatInt(before.UnixMilli(), 10), Count: sweepBatch}).Result()
		return err
	})
	return ids, before, err
}

// forget deletes the record of a file that has not changed since a time and is not in
// Redis, and returns the number of deleted records.
func (f fileStore) forget(ctx context.Context, id string, before time.Time) (int, error) {
	reply, err := f.call(ctx, forgetScript, target{file: id}, id, before.UnixMilli())
	if err != nil || reply.Int(0) == 0 {
		return 0, err
	}
	names, err := f.subscriberNames(ctx)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := f.db.Retry(ctx, func() error { return f.db.SRem(ctx, f.keys.subscriber(name).problems(), id).Err() }); err != nil {
			return 0, err
		}
	}
	return 1, nil
}
