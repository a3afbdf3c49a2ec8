package distribute

import (
	"context"
	"errors"
	"fmt"
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
	// reshipLeases is how long a worker that works until all is done waits
	// for an abandoned upload to be shipped again, in leases.
	reshipLeases = 2

	// abandonedFor is how long an abandoned upload is complained of.
	abandonedFor = 24 * time.Hour
)

// reshipPause says how long to wait, when all is counted, for uploads that were
// abandoned a short while ago to come again: their shipper may be starting anew.
// Zero means that there is nothing to wait for; an AbandonedError, that it was
// waited for in vain.
func (w *Worker) reshipPause(ctx context.Context) (time.Duration, error) {
	ids, newest, err := w.channel.abandonedFiles(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	now, err := w.channel.now(ctx)
	if err != nil {
		return 0, err
	}
	if left := w.reshipGrace - now.Sub(newest); left > 0 {
		return left, nil
	}
	names, err := w.channel.abandonedNames(ctx)
	if err != nil {
		return 0, err
	}
	return 0, &AbandonedError{names}
}

// forgive ends the complaint about abandoned uploads of a file that is shipped
// under another id: those that begin with the one given.
func (c *Channel) forgive(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	ids, _, err := c.abandonedFiles(ctx)
	for _, other := range ids {
		if err == nil && strings.HasPrefix(other, id) {
			err = c.db.Retry(ctx, func() error { return c.db.ZRem(ctx, c.keys.abandoned(), other).Err() })
		}
	}
	return err
}

// abandonedFiles lists uploads that were abandoned and not shipped again, and
// when that happened last.
func (c *Channel) abandonedFiles(ctx context.Context) (ids []string, newest time.Time, err error) {
	now, err := c.now(ctx)
	if err != nil {
		return nil, newest, err
	}
	entries, err := ask(ctx, c.db, func() ([]redis.Z, error) {
		return c.db.ZRangeByScoreWithScores(ctx, c.keys.abandoned(), &redis.ZRangeBy{
			Min: strconv.FormatInt(now.Add(-abandonedFor).UnixMilli(), 10), Max: "+inf", Count: 1000}).Result()
	})
	for _, entry := range entries {
		id, _ := entry.Member.(string)
		ids, newest = append(ids, id), time.UnixMilli(int64(entry.Score))
	}
	return ids, newest, err
}

func (c *Channel) abandonedNames(ctx context.Context) ([]string, error) {
	ids, _, err := c.abandonedFiles(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		r, err := c.record(ctx, id)
		if err != nil {
			return nil, err
		}
		names = append(names, r.name)
	}
	return names, nil
}

// An AbandonedError names uploads that were begun, abandoned, and not shipped
// again: nothing of them is counted.
type AbandonedError struct{ Files []string }

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("not counted, because their shipper gave up or died: %s: ship them again", strings.Join(e.Files, ", "))
}

// errAbandoned ends the reading of an upload that will never be complete.
var errAbandoned = errors.New("the upload was abandoned: its shipper gave up or died")
