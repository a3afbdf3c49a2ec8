package distribute

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/stream"
	"skidway/internal/rdb"
)

// Defaults, and bounds of what stays in Redis.
const (
	// DefaultWindow is how many bytes of memory a channel's files may take up
	// in Redis at once.
	DefaultWindow = 1 << 30

	// DefaultLease is how long a shipper or a claim is believed to live after
	// its last sign of life.
	DefaultLease = 10 * time.Second

	// RememberFor and RememberFiles bound the records by which a file that
	// comes again is recognised: older ones, and the oldest beyond that
	// number, are forgotten.
	RememberFor   = 400 * 24 * time.Hour
	RememberFiles = 1_000_000

	// formatVersion is that of everything a channel keeps in Redis.
	formatVersion = 1
)

// A Channel distributes log files to subscribers. Its methods are safe for
// concurrent use.
type Channel struct {
	name string
	db   *rdb.DB
	keys keys
	chat *group.Client
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// InvalidNameError says that a channel or subscriber can't have this name.
type InvalidNameError struct{ What, Name string }

func (e *InvalidNameError) Error() string {
	return fmt.Sprintf("%s name %q: use 1 to 100 letters, digits, '.', '_' or '-', the first a letter or digit", e.What, e.Name)
}

// CheckName gives an [InvalidNameError] where a channel or subscriber, as what
// says, can't have this name.
func CheckName(what, name string) error {
	if !namePattern.MatchString(name) {
		return &InvalidNameError{what, name}
	}
	return nil
}

// VersionError says that a newer Skidway has written what this one can't read.
type VersionError struct {
	Channel string
	Version int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("channel %q is in format %d, which a newer Skidway wrote; this one reads up to %d: upgrade it", e.Channel, e.Version, formatVersion)
}

// ErrNoChannel says that there is no channel of that name.
var ErrNoChannel = errors.New("no such channel: nothing was shipped to it, and nobody subscribed")

// Open opens a channel and makes it if there is none of that name.
func Open(ctx context.Context, db *rdb.DB, name string) (*Channel, error) {
	return openChannel(ctx, db, name, (*Channel).create)
}

// OpenExisting opens a channel, or fails with ErrNoChannel.
func OpenExisting(ctx context.Context, db *rdb.DB, name string) (*Channel, error) {
	return openChannel(ctx, db, name, func(*Channel, context.Context) error { return nil })
}

func openChannel(ctx context.Context, db *rdb.DB, name string, prepare func(*Channel, context.Context) error) (*Channel, error) {
	if err := CheckName("channel", name); err != nil {
		return nil, err
	}
	c := &Channel{name: name, db: db, keys: channelKeys(db.Prefix(), name), chat: group.New(db)}
	err := prepare(c, ctx)
	if err == nil {
		err = c.checkVersion(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open channel %q: %w", name, err)
	}
	return c, nil
}

// create makes the channel and its chat, what there is not.
func (c *Channel) create(ctx context.Context) error {
	err := c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		pipe.HSetNX(ctx, c.keys.channel(), "v", formatVersion)
		pipe.HSetNX(ctx, c.keys.channel(), "window", DefaultWindow)
		_, err := pipe.Exec(ctx)
		return err
	})
	if err != nil {
		return err
	}
	_, err = c.chat.Create(ctx, c.chatID(), group.CreateOptions{Kind: group.Channel})
	if errors.Is(err, chat.ErrExists) {
		return nil
	}
	return err
}

func (c *Channel) checkVersion(ctx context.Context) error {
	version, err := ask(ctx, c.db, func() (int, error) { return c.db.HGet(ctx, c.keys.channel(), "v").Int() })
	switch {
	case errors.Is(err, redis.Nil):
		return ErrNoChannel
	case err != nil:
		return err
	case version > formatVersion:
		return &VersionError{c.name, version}
	}
	return nil
}

// Name is the channel's name.
func (c *Channel) Name() string { return c.name }

// chatID names the chat in which the channel's files are announced.
func (c *Channel) chatID() string { return "logs:" + c.name }

// segmentSize fits what the server does well.
func (c *Channel) segmentSize() int64 {
	if c.db.Embedded() {
		return stream.EmbeddedSegmentSize
	}
	return stream.SegmentSize
}

// Delete removes the channel with everything in it: files, subscribers, counts.
// Whoever still works on it gets errors. It works in bounded steps.
func (c *Channel) Delete(ctx context.Context) error {
	if err := c.delete(ctx); err != nil {
		return fmt.Errorf("delete channel %q: %w", c.name, err)
	}
	return nil
}

func (c *Channel) delete(ctx context.Context) error {
	subscribers, err := c.Subscribers(ctx)
	if err != nil {
		return err
	}
	for _, s := range subscribers {
		if err := c.unsubscribe(ctx, s.Name); err != nil && !errors.Is(err, ErrNoSubscriber) {
			return err
		}
	}
	err = c.eachFile(ctx, func(id string) error {
		r, err := c.record(ctx, id)
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
	return c.unlink(ctx, k.heads(), k.files(), k.open(), k.uploads(), k.spent(), k.abandoned(), k.shippers(), k.leases(), k.line(), k.subscribers(), k.wake(), k.channel())
}

// ask returns the result of a command, which is sent again as [rdb.DB.Retry] has
// it.
func ask[T any](ctx context.Context, db *rdb.DB, command func() (T, error)) (result T, err error) {
	err = db.Retry(ctx, func() (err error) {
		result, err = command()
		return err
	})
	return result, err
}

// unlink drops keys, at most 100 in one command.
func (c *Channel) unlink(ctx context.Context, names ...string) error {
	for len(names) > 0 {
		some := names[:min(len(names), 100)]
		names = names[len(some):]
		if err := c.db.Retry(ctx, func() error { return c.db.Unlink(ctx, some...).Err() }); err != nil {
			return err
		}
	}
	return nil
}

// eachFile calls f for every file that the channel remembers.
func (c *Channel) eachFile(ctx context.Context, f func(id string) error) error {
	return c.scanSet(ctx, c.keys.files(), f)
}

// scanSet calls f for the members of a sorted set, some of them perhaps twice.
func (c *Channel) scanSet(ctx context.Context, key string, f func(member string) error) error {
	for cursor := uint64(0); ; {
		var pairs []string
		err := c.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = c.db.ZScan(ctx, key, cursor, "", 200).Result()
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
