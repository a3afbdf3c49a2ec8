package distribute

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// sweepBatch is how many leftovers one sweep deals with.
const sweepBatch = 100

// sweep cleans up what the dead left: uploads and shippers whose lease has run
// out, and files that are spent but not freed. Anybody may sweep at any time;
// whoever waits for something does.
func (c *Channel) sweep(ctx context.Context) error {
	if err := c.sweepLeases(ctx); err != nil {
		return fmt.Errorf("sweep channel %q: %w", c.name, err)
	}
	spent, err := ask(ctx, c.db, func() ([]string, error) { return c.db.SRandMemberN(ctx, c.keys.spent(), sweepBatch).Result() })
	if err != nil {
		return fmt.Errorf("sweep channel %q: %w", c.name, err)
	}
	for _, id := range spent {
		if err := c.free(ctx, id); err != nil {
			return fmt.Errorf("sweep channel %q: %w", c.name, err)
		}
	}
	return nil
}

func (c *Channel) sweepLeases(ctx context.Context) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	expired := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now.UnixMilli(), 10), Count: sweepBatch}
	var uploads, shippers []string
	err = c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		u := pipe.ZRangeByScore(ctx, c.keys.uploads(), expired)
		s := pipe.ZRangeByScore(ctx, c.keys.leases(), expired)
		_, err := pipe.Exec(ctx)
		uploads, shippers = u.Val(), s.Val()
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range uploads {
		r, err := c.record(ctx, id)
		if err != nil {
			return err
		}
		if _, err := c.abandon(ctx, id, r.shipment, "", true); err != nil {
			return err
		}
	}
	for _, token := range shippers {
		if _, err := c.call(ctx, endScript, subject{}, token, 1); err != nil {
			return err
		}
	}
	return nil
}

// readersGrace is how long the wake-up of an abandoned upload stays for its
// readers. One that misses it looks again after its patience.
const readersGrace = time.Second

// abandon gives an upload up: by its shipper's name, or by none if its lease
// has run out. missed says that it is to be shipped again. It reports whether the
// upload is abandoned now.
func (c *Channel) abandon(ctx context.Context, id string, shipment int64, by string, missed bool) (bool, error) {
	n, err := c.call(ctx, abandonScript, subject{file: id, shipment: shipment},
		by, shipment, id, readersGrace.Milliseconds(), missed)
	return n.Int(0) == 1, err
}

// free drops the segments of a file that is done or abandoned and gives their
// space back to the window. To free it twice changes nothing.
func (c *Channel) free(ctx context.Context, id string) error {
	r, err := c.record(ctx, id)
	if err != nil {
		return err
	}
	segments := r.segmentKeys(c.keys)
	for {
		some := segments[:min(len(segments), 100)]
		segments = segments[len(some):]
		last := 0
		if len(segments) == 0 {
			last = 1
		}
		if _, err := c.call(ctx, freeScript, subject{file: id, shipment: r.shipment, more: some}, r.shipment, id, last); err != nil {
			return err
		}
		if last == 1 {
			return nil
		}
	}
}

// settleOpen frees the files that waited only for a subscriber that is gone.
func (c *Channel) settleOpen(ctx context.Context) error {
	return c.scanSet(ctx, c.keys.open(), func(id string) error {
		n, err := c.call(ctx, settleScript, subject{file: id}, id)
		if err != nil || n.Int(0) == 0 {
			return err
		}
		return c.free(ctx, id)
	})
}

// forgetOld drops the records of files that nobody has touched for long.
func (c *Channel) forgetOld(ctx context.Context) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	var old []string
	before := now.Add(-RememberFor)
	err = c.db.Retry(ctx, func() error {
		count, err := c.db.ZCard(ctx, c.keys.files()).Result()
		if err != nil {
			return err
		}
		if excess := count - RememberFiles; excess > 0 {
			old, err = c.db.ZRange(ctx, c.keys.files(), 0, min(excess, sweepBatch)-1).Result()
			before = now
			return err
		}
		old, err = c.db.ZRangeByScore(ctx, c.keys.files(), &redis.ZRangeBy{
			Min: "-inf", Max: strconv.FormatInt(before.UnixMilli(), 10), Count: sweepBatch}).Result()
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range old {
		if err := c.forgetProblems(ctx, id); err != nil {
			return err
		}
		if _, err := c.call(ctx, forgetScript, subject{file: id}, id, before.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// forgetProblems drops what subscribers have against a file that is forgotten.
func (c *Channel) forgetProblems(ctx context.Context, id string) error {
	names, err := c.subscriberNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.db.Retry(ctx, func() error { return c.db.SRem(ctx, c.keys.problems(name), id).Err() }); err != nil {
			return err
		}
	}
	return nil
}
