package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/distribute/chat"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// A ChannelInfo describes a channel in a list of [Channels].
type ChannelInfo struct {
	Name        string
	Created     time.Time // by the clock of Redis
	Used        time.Time // when a file was last shipped, counted or seen again; zero: never
	Files       int64     // that have a record
	Open        int64     // files in Redis
	Subscribers int64
	Bytes       int64 // of memory that the files in Redis use
	Window      int64 // bytes that they may use

	exists bool // false: only its row in the list is left
}

// Channels returns the channels in a Redis, sorted by name, without those of running
// batches. It takes one round trip for each hundred channels.
func Channels(ctx context.Context, db *skidway.DB) ([]ChannelInfo, error) {
	conn := handle.Conn(db)
	names, err := query(ctx, conn, func() ([]redis.Z, error) {
		return conn.ZRangeWithScores(ctx, channelsKey(conn.Prefix()), 0, -1).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("list the channels: %w", err)
	}
	var list []ChannelInfo
	for batch := range slices.Chunk(names, 100) {
		infos, err := query(ctx, conn, func() ([]ChannelInfo, error) { return channelInfos(ctx, conn, batch) })
		if err != nil {
			return nil, fmt.Errorf("list the channels: %w", err)
		}
		list = append(list, infos...)
	}
	list = slices.DeleteFunc(list, func(c ChannelInfo) bool {
		if c.exists {
			return false
		}
		// Its deletion was interrupted. An error is no reason to list nothing: the
		// user may have the right to read only. If the channel is created again at
		// this moment, the next Open adds it to the list.
		_ = conn.ZRem(ctx, channelsKey(conn.Prefix()), c.Name).Err()
		return true
	})
	slices.SortFunc(list, func(a, b ChannelInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// channelInfos describes channels of the list.
func channelInfos(ctx context.Context, db *rdb.DB, listed []redis.Z) ([]ChannelInfo, error) {
	type replies struct {
		channel           *redis.SliceCmd
		files, open, subs *redis.IntCmd
		newest            *redis.ZSliceCmd
	}
	pipe := db.Pipeline()
	all := make([]replies, len(listed))
	for i, z := range listed {
		k := channelKeys(db.Prefix(), fmt.Sprint(z.Member))
		all[i] = replies{
			pipe.HMGet(ctx, k.channel(), "v", "window", "used"), pipe.ZCard(ctx, k.files()), pipe.ZCard(ctx, k.open()),
			pipe.HLen(ctx, k.subscribers()), pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: k.files(), Start: 0, Stop: 0, Rev: true}),
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var infos []ChannelInfo
	for i, z := range listed {
		r := all[i]
		text := func(i int) string { v, _ := r.channel.Val()[i].(string); return v }
		info := ChannelInfo{
			exists: text(0) != "", Name: fmt.Sprint(z.Member), Created: time.UnixMilli(int64(z.Score)), Files: r.files.Val(), Open: r.open.Val(),
			Subscribers: r.subs.Val(), Window: parseInt(text(1)), Bytes: parseInt(text(2)),
		}
		for _, newest := range r.newest.Val() {
			info.Used = time.UnixMilli(int64(newest.Score))
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// enlist adds the channel to the list of all channels.
func (c *Channel) enlist(ctx context.Context) error {
	key := channelsKey(c.db.Prefix())
	return c.db.Retry(ctx, func() error {
		err := c.db.ZScore(ctx, key, c.name).Err()
		if !errors.Is(err, redis.Nil) {
			return err // it is in the list: a full Redis accepts no ZADD
		}
		now, err := c.now(ctx)
		if err != nil {
			return err
		}
		return c.db.ZAddNX(ctx, key, redis.Z{Score: float64(now.UnixMilli()), Member: c.name}).Err()
	})
}

// UsedFor is the time after its last heartbeat for which a worker is expected to come
// back: [Channel.Delete] refuses a channel that it worked on.
const UsedFor = time.Minute

// An InUseError is the error for a channel that can't be deleted, because processes
// use it.
type InUseError struct {
	Channel     string
	Shippers    []string // host:pid of those that are alive
	Subscribers []string // whose workers had a heartbeat within [UsedFor]
}

func (e *InUseError) Error() string {
	var users []string
	if len(e.Shippers) > 0 {
		users = append(users, "shippers "+strings.Join(e.Shippers, ", "))
	}
	if len(e.Subscribers) > 0 {
		users = append(users, "workers of subscribers "+strings.Join(e.Subscribers, ", "))
	}
	return fmt.Sprintf("channel %q is in use by %s: stop them, and wait %v", e.Channel, strings.Join(users, " and "), UsedFor)
}

// Delete removes the channel with its files, subscribers and counts, in bounded
// steps. It returns an [InUseError], and changes nothing, if a shipper or worker uses
// the channel, unless force is true: then those processes get errors.
func (c *Channel) Delete(ctx context.Context, force bool) error {
	if !force {
		if err := c.checkUnused(ctx); err != nil {
			return err
		}
	}
	if err := c.delete(ctx); err != nil {
		return fmt.Errorf("delete channel %q: %w", c.name, err)
	}
	return nil
}

func (c *Channel) checkUnused(ctx context.Context) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	used := &InUseError{Channel: c.name, Shippers: status.Shippers}
	for _, s := range status.Subscribers {
		if status.Now.Sub(s.Seen) < UsedFor {
			used.Subscribers = append(used.Subscribers, s.Name)
		}
	}
	if len(used.Shippers)+len(used.Subscribers) > 0 {
		return used
	}
	return nil
}

func (c *Channel) delete(ctx context.Context) error {
	// From now on no file is admitted.
	err := c.db.Retry(ctx, func() error { return c.db.HSet(ctx, c.keys.channel(), "window", 0).Err() })
	if err != nil {
		return err
	}
	subscribers, err := c.Subscribers(ctx)
	if err != nil {
		return err
	}
	for _, s := range subscribers {
		if err := c.unsubscribe(ctx, s.Name); err != nil && !errors.Is(err, ErrNoSubscriber) {
			return err
		}
	}
	if err := c.files.completeRemovals(ctx); err != nil {
		return err
	}
	err = c.files.each(ctx, func(id string) error {
		r, err := c.files.record(ctx, id)
		if err != nil {
			return err
		}
		return c.unlink(ctx, append(r.segmentKeys(c.keys), c.keys.file(id), c.keys.fileWake(id, r.shipment))...)
	})
	if err != nil {
		return err
	}
	if err := c.chat.Delete(ctx, c.chatID()); err != nil && !errors.Is(err, chat.ErrNoChat) {
		return err
	}
	k := c.keys
	err = c.unlink(ctx, k.heads(), k.files(), k.open(), k.held(), k.reserves(), k.uploads(), k.spent(), k.abandoned(), k.shippers(), k.leases(), k.line(), k.subscribers(), k.removed(), k.wake(), k.channel())
	if err != nil {
		return err
	}
	return c.db.Retry(ctx, func() error { return c.db.ZRem(ctx, channelsKey(c.db.Prefix()), c.name).Err() })
}
