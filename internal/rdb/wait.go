package rdb

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Mark is a place in a stream: the id of the last entry that was seen.
type Mark struct {
	Key string
	ID  string // as Redis writes it, "5-0"; "0" is before the first
}

// Wait blocks until one of the streams has an entry after its mark, timeout
// has passed (rounded up to a millisecond) or ctx is done, whichever comes
// first, and reports whether there is an entry. While it blocks it costs
// Redis nothing. A connection that breaks ends the wait early with false and
// no error: the caller looks again, and that call finds out. All keys must
// lie on one slot.
func (db *DB) Wait(ctx context.Context, timeout time.Duration, marks ...Mark) (bool, error) {
	streams := make([]string, 0, 2*len(marks))
	for _, mark := range marks {
		streams = append(streams, mark.Key)
	}
	for _, mark := range marks {
		streams = append(streams, mark.ID)
	}
	block := max((timeout + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond)
	args := &redis.XReadArgs{Streams: streams, Count: 1, Block: block}

	// The client does not interrupt a blocked read when ctx ends. So the
	// read gets a goroutine: it ends with the timeout or with Close, which
	// waits for it.
	done := make(chan error, 1)
	db.waits.Go(func() { done <- db.XRead(context.WithoutCancel(ctx), args).Err() })
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case err := <-done:
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, redis.Nil):
			return false, nil
		case transient(err):
			return false, sleep(ctx, min(timeout, firstPause))
		}
		return false, err
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
