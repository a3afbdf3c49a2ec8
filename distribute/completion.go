package distribute

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// shippers tells who is shipping to a channel.
type shippers struct {
	started bool // something was shipped, now or before
	batch   int  // that will say done some time
	follow  int  // that never will
}

// shipping must be asked before looking for files: what a shipper that is gone
// has announced is then seen.
func (c *Channel) shipping(ctx context.Context) (shippers, error) {
	var s shippers
	err := c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		started := pipe.HExists(ctx, c.keys.channel(), "shipments")
		all := pipe.HVals(ctx, c.keys.shippers())
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		s = shippers{started: started.Val()}
		for _, shipper := range all.Val() {
			if mode, _, _ := strings.Cut(shipper, " "); mode == modeFollow {
				s.follow++
			} else {
				s.batch++
			}
		}
		return nil
	})
	return s, err
}

// Bounds on what an abandoned upload holds up.
const (
	// reshipGrace is how long a worker that works until all is done waits for
	// an abandoned upload to be shipped again, in leases.
	reshipGrace = 2

	// abandonedFor is how long an abandoned upload is complained of.
	abandonedFor = 24 * time.Hour
)

// finish ends the work when all is counted. Uploads that were abandoned a short
// while ago may come again: their shipper may be starting anew.
func (w *Worker) finish(ctx context.Context) error {
	c := w.channel
	if err := c.idle(ctx, w.subscriber); err != nil {
		return err
	}
	for !closed(w.config.Quit) {
		since, err := c.moment(ctx)
		if err != nil {
			return err
		}
		ids, newest, err := c.abandonedFiles(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		now, err := c.now(ctx)
		if err != nil {
			return err
		}
		left := reshipGrace*w.config.Lease - now.Sub(newest)
		if left <= 0 {
			names, err := c.abandonedNames(ctx)
			if err != nil {
				return err
			}
			return &AbandonedError{names}
		}
		if err := c.wait(ctx, since, left, w.config.Quit); err != nil {
			return err
		}
		shippers, err := c.shipping(ctx)
		if err != nil {
			return err
		}
		if shippers.batch > 0 {
			return w.workSlot(ctx) // somebody ships again
		}
	}
	return nil
}

// abandonedFiles lists uploads that were abandoned and not shipped again, and
// when that happened last.
func (c *Channel) abandonedFiles(ctx context.Context) (ids []string, newest time.Time, err error) {
	now, err := c.now(ctx)
	if err != nil {
		return nil, newest, err
	}
	var entries []redis.Z
	err = c.db.Retry(ctx, func() (err error) {
		entries, err = c.db.ZRangeByScoreWithScores(ctx, c.keys.abandoned(), &redis.ZRangeBy{
			Min: strconv.FormatInt(now.Add(-abandonedFor).UnixMilli(), 10), Max: "+inf", Count: 1000}).Result()
		return err
	})
	for _, entry := range entries {
		id, _ := entry.Member.(string)
		ids, newest = append(ids, id), time.UnixMilli(int64(entry.Score))
	}
	return ids, newest, err
}
