package distribute

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat/group"
	"skidway/internal/rdb"
)

// A store is one channel's part of Redis: its database, keys, scripts and chat.
type store struct {
	name string // of the channel
	db   *rdb.DB
	keys keys
	chat *group.Client // for the chat in which files are announced
}

// chatID returns the id of the chat in which the channel's files are announced.
func (s *store) chatID() string { return group.ReservedPrefix + s.name }

// query returns the result of a command that may be repeated, by the retry rule
// of [rdb.DB.Retry].
func query[T any](ctx context.Context, db *rdb.DB, command func() (T, error)) (result T, err error) {
	err = db.Retry(ctx, func() (err error) {
		result, err = command()
		return err
	})
	return result, err
}

// call runs a script of the channel on the keys that the target selects.
func (s *store) call(ctx context.Context, script script, t target, args ...any) (rdb.Reply, error) {
	return script.Run(ctx, s.db, s.keysOf(script, t), args...)
}

// keysOf returns the keys of a script that the target selects.
func (s *store) keysOf(script script, t target) []string {
	keys := make([]string, 0, len(script.keys)+len(t.more))
	for _, name := range script.keys {
		keys = append(keys, s.keys.named(name, t))
	}
	return append(keys, t.more...)
}

// unlink deletes keys, at most 100 with one command.
func (s *store) unlink(ctx context.Context, names ...string) error {
	for len(names) > 0 {
		batch := names[:min(len(names), 100)]
		names = names[len(batch):]
		if err := s.db.Retry(ctx, func() error { return s.db.Unlink(ctx, batch...).Err() }); err != nil {
			return err
		}
	}
	return nil
}

// scanSet calls f for each member of a sorted set, for some perhaps twice.
func (s *store) scanSet(ctx context.Context, key string, f func(member string) error) error {
	for cursor := uint64(0); ; {
		var pairs []string
		err := s.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = s.db.ZScan(ctx, key, cursor, "", 200).Result()
			return err
		})
		if err != nil {
			return err
		}
		for i := 0; i < len(pairs); i += 2 {
			if err := f(pairs[i]); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// now returns the time of the Redis server that holds the channel.
func (s *store) now(ctx context.Context) (time.Time, error) {
	return serverTime(ctx, s.db, s.keys.channel())
}

func serverTime(ctx context.Context, db *rdb.DB, key string) (time.Time, error) {
	reply, err := nowScript.Run(ctx, db, []string{key})
	return reply.Time(0), err
}

// parseMillis parses a time as the scripts write it, in ms. It returns the zero
// time if text is malformed.
func parseMillis(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// A wakeCursor is a position in the channel's wake stream. wait returns once an
// entry follows it. Take the cursor before reading the state, so that no change is
// missed.
type wakeCursor struct{ marks []rdb.Mark }

// latestWake returns the position of the last entry in the wake stream.
func (s *store) latestWake(ctx context.Context) (wakeCursor, error) {
	last, err := query(ctx, s.db, func() ([]redis.XMessage, error) { return s.db.XRevRangeN(ctx, s.keys.wake(), "+", "-", 1).Result() })
	if err != nil {
		return wakeCursor{}, fmt.Errorf("read the wake stream of channel %q: %w", s.name, err)
	}
	mark := rdb.Mark{Key: s.keys.wake(), ID: "0"}
	if len(last) > 0 {
		mark.ID = last[0].ID
	}
	return wakeCursor{[]rdb.Mark{mark}}, nil
}

// wait blocks until the channel has changed since the cursor was taken, the
// timeout has passed, or stop or other, unless it is nil, is closed. wait may return early
// without a change.
func (s *store) wait(ctx context.Context, since wakeCursor, timeout time.Duration, stop, other <-chan struct{}) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-other:
			cancel()
		case <-waiting.Done():
		}
	}()
	_, err := s.db.Wait(waiting, timeout, since.marks...)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil // stopped
	}
	return err
}

// wakeAll wakes every process that waits for a change of the channel.
func (s *store) wakeAll(ctx context.Context) error {
	return s.db.Retry(ctx, func() error {
		return s.db.XAdd(ctx, &redis.XAddArgs{Stream: s.keys.wake(), MaxLen: 1, Values: []any{"look", "again"}}).Err()
	})
}
