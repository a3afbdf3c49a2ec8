package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A page of open files, in the order of their admission.
type openPage struct {
	uncounted []openShipment // that the subscriber has not counted
	last      bool           // no page follows
}

// An openShipment is a shipment in Redis.
type openShipment struct {
	announcement
	complete bool  // all of it is uploaded
	raw      int64 // bytes uploaded
}

// openShipments reads n open files from index start on.
func (f fileStore) openShipments(ctx context.Context, subscriber string, start, n int64) (openPage, error) {
	open, err := query(ctx, f.db, func() ([]redis.Z, error) {
		return f.db.ZRangeWithScores(ctx, f.keys.open(), start, start+n-1).Result()
	})
	page := openPage{last: int64(len(open)) < n}
	if err != nil || len(open) == 0 {
		return page, err
	}
	err = f.db.Retry(ctx, func() error {
		pipe := f.db.Pipeline()
		records := make([]*redis.SliceCmd, len(open))
		for i, z := range open {
			records[i] = pipe.HMGet(ctx, f.keys.file(fmt.Sprint(z.Member)), append(slices.Clone(uploadFields), "ship:"+subscriber)...)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		page.uncounted = page.uncounted[:0]
		for i, z := range open {
			u := parseUpload(records[i].Val())
			if (u.state == FileUploading || u.state == FileUploaded) && fmt.Sprint(records[i].Val()[len(uploadFields)]) != strconv.FormatInt(u.shipment, 10) {
				a := announcement{formatVersion, fmt.Sprint(z.Member), u.shipment, int64(z.Score)}
				page.uncounted = append(page.uncounted, openShipment{a, u.state == FileUploaded, u.raw})
			}
		}
		return nil
	})
	return page, err
}

// unclaimedUpTo reports whether a file, or one that was admitted before it, has no worker of
// a subscriber that has not counted it.
func (f fileStore) unclaimedUpTo(ctx context.Context, subscriber, id string) (bool, error) {
	page, err := f.openShipments(ctx, subscriber, 0, claimBatch)
	if err != nil {
		return false, err
	}
	var place float64
	var exists bool
	err = f.db.Retry(ctx, func() error {
		pipe := f.db.Pipeline()
		score, subscribed := pipe.ZScore(ctx, f.keys.open(), id), pipe.HExists(ctx, f.keys.subscribers(), subscriber)
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		place, exists = score.Val(), subscribed.Val()
		return nil
	})
	if err != nil || !exists { // what a removed one left is not claimed
		return false, err
	}
	var ids []string
	for _, a := range page.uncounted {
		if a.Place <= int64(place) {
			ids = append(ids, a.File)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	now, err := f.now(ctx)
	if err != nil {
		return false, err
	}
	leases, err := query(ctx, f.db, func() ([]float64, error) { return f.db.ZMScore(ctx, f.keys.claims(subscriber), ids...).Result() })
	return slices.ContainsFunc(leases, func(end float64) bool { return end <= float64(now.UnixMilli()) }), err
}
