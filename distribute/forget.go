package distribute

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

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
