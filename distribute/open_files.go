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
	full     bool  // its shipper waits for room
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
				page.uncounted = append(page.uncounted, openShipment{a, u.state == FileUploaded, u.raw, u.full})
			}
		}
		return nil
	})
	return page, err
}

// place returns the place of a file in the order of admission, 0 if it is not in Redis.
func (f fileStore) place(ctx context.Context, id string) (int64, error) {
	place, err := query(ctx, f.db, func() (float64, error) { return f.db.ZScore(ctx, f.keys.open(), id).Result() })
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return int64(place), err
}

// unclaimed reports whether one of the files that were admitted up to a place, and that are
// wanted, has no worker of a subscriber that has not counted it.
func (f fileStore) unclaimed(ctx context.Context, subscriber string, upTo int64, wanted func(openShipment) bool) (bool, error) {
	exists, err := query(ctx, f.db, func() (bool, error) { return f.db.HExists(ctx, f.keys.subscribers(), subscriber).Result() })
	if err != nil || !exists { // what a removed one left is not claimed
		return false, err
	}
	for start := int64(0); ; start += claimBatch {
		page, err := f.openShipments(ctx, subscriber, start, claimBatch)
		if err != nil {
			return false, err
		}
		var ids []string
		for _, a := range page.uncounted {
			if page.last = page.last || a.Place > upTo; a.Place <= upTo && wanted(a) {
				ids = append(ids, a.File)
			}
		}
		free, err := f.anyFree(ctx, subscriber, ids)
		if free || err != nil || page.last {
			return free, err
		}
	}
}

// anyFree reports whether one of some files has no worker of a subscriber.
func (f fileStore) anyFree(ctx context.Context, subscriber string, ids []string) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	now, err := f.now(ctx)
	if err != nil {
		return false, err
	}
	leases, err := query(ctx, f.db, func() ([]float64, error) {
		return f.db.ZMScore(ctx, f.keys.subscriber(subscriber).claims(), ids...).Result()
	})
	return slices.ContainsFunc(leases, func(end float64) bool { return end <= float64(now.UnixMilli()) }), err
}

// upload reads the state of an upload.
func (f fileStore) upload(ctx context.Context, id string) (uploadState, error) {
	fields, err := query(ctx, f.db, func() ([]any, error) { return f.db.HMGet(ctx, f.keys.file(id), uploadFields...).Result() })
	if err != nil {
		return uploadState{}, err
	}
	return parseUpload(fields), nil
}
