package distribute

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// Defaults, and bounds of what stays in Redis.
const (
	// DefaultWindow is the number of bytes of memory that a channel's files may
	// use in Redis at once.
	DefaultWindow = 1 << 30

	// DefaultLease is the time that a shipper or a claim counts as alive after its
	// last heartbeat.
	DefaultLease = 10 * time.Second

	// RememberFor and RememberFiles bound the records by which a file is
	// recognised when it is shipped again: older records, and the oldest
	// beyond that number, are deleted.
	RememberFor   = 400 * 24 * time.Hour
	RememberFiles = 1_000_000

	// formatVersion is the version of everything that a channel stores in Redis.
	formatVersion = 5

	// minWindow has room for a file of at least one block.
	minWindow = 1 << 20
)

// A Channel distributes log files to subscribers. Its methods are safe for
// concurrent use.
type Channel struct {
	*store
	files fileStore
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// InvalidNameError is the error for a bad name of a channel or a subscriber.
type InvalidNameError struct{ What, Name string }

func (e *InvalidNameError) Error() string {
	return fmt.Sprintf("%s name %q: use 1 to 100 letters, digits, '.', '_' or '-', the first a letter or digit", e.What, e.Name)
}

// CheckName returns an [InvalidNameError] if name is not a valid name. what is
// "channel" or "subscriber", for the error's text.
func CheckName(what, name string) error {
	if !namePattern.MatchString(name) {
		return &InvalidNameError{what, name}
	}
	return nil
}

// VersionError is the error for a channel that a newer or an older Skidway wrote.
type VersionError struct {
	Channel string
	Version int
}

func (e *VersionError) Error() string {
	if e.Version < formatVersion {
		return fmt.Sprintf("channel %q is in format %d, which an older Skidway wrote; this one reads %d only: use another channel, or delete this one", e.Channel, e.Version, formatVersion)
	}
	return fmt.Sprintf("channel %q is in format %d, which a newer Skidway wrote; this one reads %d only: upgrade it", e.Channel, e.Version, formatVersion)
}

// ErrNoChannel is the error of [OpenExisting] if no channel has the name, and that of a shipper or worker whose
// channel Redis has lost.
var ErrNoChannel = errors.New("no such channel: nothing was shipped to it, and it has no subscriber")

// errGone is ErrNoChannel for a shipper or worker that had opened the channel.
var errGone error = goneError{}

type goneError struct{}

func (goneError) Error() string {
	return "the channel is gone: it was deleted, or Redis was emptied or came back older; the next start creates it"
}

func (goneError) Is(target error) bool { return target == ErrNoChannel }

// chatError returns errGone if a channel's chat does not exist, and other errors as they are.
func chatError(err error) error {
	if errors.Is(err, chat.ErrNoChat) {
		return errGone
	}
	return err
}

// InvalidWindowError is the error for a window that is below the minimum.
type InvalidWindowError struct{ Bytes int64 }

func (e *InvalidWindowError) Error() string {
	return fmt.Sprintf("a window of %d bytes is too small: 1 MiB is the least", e.Bytes)
}

// A ConfigError is the error for a negative field of a [ShipperConfig], a
// [WorkerConfig] or a [BatchConfig].
type ConfigError struct {
	Field string
	Value any
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s is %v: it must not be negative", e.Field, e.Value)
}

func checkNotNegative[N int | int64 | time.Duration](field string, n N) error {
	if n < 0 {
		return &ConfigError{field, n}
	}
	return nil
}

// Open opens a channel, and creates it if it does not exist.
func Open(ctx context.Context, db *skidway.DB, name string) (*Channel, error) {
	return openChannel(ctx, handle.Conn(db), name, func(c *Channel, ctx context.Context) error {
		if err := c.create(ctx); err != nil {
			return err
		}
		return c.enlist(ctx)
	})
}

// OpenExisting opens a channel, or fails with ErrNoChannel.
func OpenExisting(ctx context.Context, db *skidway.DB, name string) (*Channel, error) {
	return openChannel(ctx, handle.Conn(db), name, func(*Channel, context.Context) error { return nil })
}

// OpenToDelete opens a channel, also one that an older Skidway wrote, or fails with
// ErrNoChannel. No method but Name, Status and Delete may be called.
func OpenToDelete(ctx context.Context, db *skidway.DB, name string) (*Channel, error) {
	channel, err := OpenExisting(ctx, db, name)
	var other *VersionError
	if errors.As(err, &other) && other.Version < formatVersion {
		return newChannel(handle.Conn(db), name), nil
	}
	return channel, err
}

func newChannel(db *rdb.DB, name string) *Channel {
	s := &store{name: name, db: db, keys: channelKeys(db.Prefix(), name), chat: group.NewClient(handle.New(db)).Reserved()}
	return &Channel{store: s, files: fileStore{s}}
}

func openChannel(ctx context.Context, db *rdb.DB, name string, prepare func(*Channel, context.Context) error) (*Channel, error) {
	if err := CheckName("channel", name); err != nil {
		return nil, err
	}
	c := newChannel(db, name)
	err := prepare(c, ctx)
	if err == nil {
		err = c.checkVersion(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open channel %q: %w", name, err)
	}
	return c, nil
}

// create creates the channel and its chat, as far as they do not exist. It writes
// nothing if they do: workers can then start while Redis is full.
func (c *Channel) create(ctx context.Context) error {
	err := c.db.Retry(ctx, func() error {
		fields, err := c.db.HMGet(ctx, c.keys.channel(), "v", "window").Result()
		if err != nil || fields[0] != nil && fields[1] != nil {
			return err
		}
		pipe := c.db.Pipeline()
		pipe.HSetNX(ctx, c.keys.channel(), "v", formatVersion)
		pipe.HSetNX(ctx, c.keys.channel(), "window", DefaultWindow)
		_, err = pipe.Exec(ctx)
		return err
	})
	if err != nil {
		return err
	}
	_, err = c.chat.Create(ctx, c.chatID(), &group.CreateOptions{Kind: group.Channel})
	if errors.Is(err, chat.ErrExists) {
		return nil
	}
	return err
}

func (c *Channel) checkVersion(ctx context.Context) error {
	version, err := query(ctx, c.db, func() (int, error) { return c.db.HGet(ctx, c.keys.channel(), "v").Int() })
	switch {
	case errors.Is(err, redis.Nil):
		return ErrNoChannel
	case err != nil:
		return err
	case version != formatVersion:
		return &VersionError{c.name, version}
	}
	return nil
}

// Name returns the channel's name.
func (c *Channel) Name() string { return c.name }

// memberName returns the name of a subscriber as a member of that chat. No person can
// have it, so no person reads or acknowledges the subscriber's announcements.
func memberName(subscriber string) string { return group.ReservedPrefix + subscriber }

// segmentSize returns the size of segments that suits the server.
func (c *Channel) segmentSize() int64 {
	if c.db.Embedded() {
		return stream.EmbeddedSegmentSize
	}
	return stream.SegmentSize
}

// SetWindow sets how many bytes of memory the channel's files may use in Redis
// at once, for all its shippers. Files that are already in Redis stay.
func (c *Channel) SetWindow(ctx context.Context, bytes int64) error {
	if bytes < minWindow {
		return &InvalidWindowError{bytes}
	}
	err := c.db.Retry(ctx, func() error { return c.db.HSet(ctx, c.keys.channel(), "window", bytes).Err() })
	if err != nil {
		return fmt.Errorf("set the window of channel %q: %w", c.name, err)
	}
	return nil
}

// shippers returns whether a shipper was ever registered at the channel, and how
// many of those registered now will end by themselves.
func (c *Channel) shippers(ctx context.Context) (started bool, ending int, err error) {
	err = c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		ever := pipe.HExists(ctx, c.keys.channel(), "shipments")
		all := pipe.HVals(ctx, c.keys.shippers())
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		started, ending = ever.Val(), 0
		for _, shipper := range all.Val() {
			if mode, _, _ := strings.Cut(shipper, " "); mode != modeFollow {
				ending++
			}
		}
		return nil
	})
	return started, ending, err
}
