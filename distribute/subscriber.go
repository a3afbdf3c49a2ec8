package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

// A Subscriber is how one aggregation of a channel stands.
type Subscriber struct {
	Name     string
	Settings string    // what its counts depend on; empty until its first worker fixes it
	Seen     time.Time // last sign of life of one of its workers, zero: never seen
	Tally    Tally
	Builds   []BuildShare // which country databases took part
	Busy     time.Duration
}

// A BuildShare says how many lines were counted with one state of the data
// that an aggregation uses.
type BuildShare struct {
	Build string
	Lines int64
}

// A SettingsError says that a subscriber counts in another way than the worker
// that wants to work for it.
type SettingsError struct{ Subscriber, Have, Want string }

func (e *SettingsError) Error() string {
	return fmt.Sprintf("subscriber %q was created with %s and can't be counted on with %s: use its settings, or another --subscriber",
		e.Subscriber, e.Have, e.Want)
}

// ErrNoSubscriber says that a channel has no such subscriber.
var ErrNoSubscriber = errors.New("no such subscriber")

// Subscribe makes a subscriber that gets every file from the oldest that is
// still in Redis on. settings are fixed when it is created; empty settings are
// fixed by its first worker. To subscribe again changes nothing.
func (c *Channel) Subscribe(ctx context.Context, name, settings string) error {
	if err := CheckName("subscriber", name); err != nil {
		return err
	}
	// First the chat, which keeps announcements for its members, then the
	// list that keeps files: so no file waits for a subscriber that misses
	// its announcement.
	if err := c.chat.Join(ctx, c.chatID(), name, group.FromOldest); err != nil {
		return fmt.Errorf("subscribe %q to channel %q: %w", name, c.name, err)
	}
	answer, err := c.call(ctx, subscribeScript, subject{subscriber: name}, name, settings)
	if err != nil {
		return fmt.Errorf("subscribe %q to channel %q: %w", name, c.name, err)
	}
	if have := answer.Text(0); settings != "" && have != settings {
		return &SettingsError{name, have, settings}
	}
	return nil
}

// Unsubscribe removes a subscriber with its counts. Files that waited only for
// it are freed.
func (c *Channel) Unsubscribe(ctx context.Context, name string) error {
	if err := c.unsubscribe(ctx, name); err != nil {
		return fmt.Errorf("remove subscriber %q of channel %q: %w", name, c.name, err)
	}
	return nil
}

func (c *Channel) unsubscribe(ctx context.Context, name string) error {
	_, unknown := c.hasSubscriber(ctx, name)
	if unknown != nil && !errors.Is(unknown, ErrNoSubscriber) {
		return unknown
	}
	// What an earlier removal left, if it was interrupted, is removed all the same.
	if _, err := c.call(ctx, unsubscribeScript, subject{subscriber: name}, name); err != nil {
		return err
	}
	if err := c.chat.Leave(ctx, c.chatID(), name); err != nil && !errors.Is(err, chat.ErrNotMember) && !errors.Is(err, chat.ErrNoChat) {
		return err
	}
	if err := c.dropCounts(ctx, name); err != nil {
		return err
	}
	if err := c.settleOpen(ctx); err != nil {
		return err
	}
	return unknown
}

// dropCounts deletes a subscriber's sealed counts, totals and staged counts, and its
// marks in the records of files.
func (c *Channel) dropCounts(ctx context.Context, name string) error {
	// Sealed counts first: what nobody can seal any more nobody can fold.
	shipments, err := c.sealed(ctx, name)
	if err != nil {
		return err
	}
	for _, shipment := range shipments {
		if err := c.unlink(ctx, c.keys.sealedCells(name, shipment)); err != nil {
			return err
		}
	}
	err = c.scanSet(ctx, c.keys.groups(name), func(group string) error {
		return c.unlink(ctx, c.keys.totals(name, group))
	})
	if err != nil {
		return err
	}
	err = c.eachFile(ctx, func(id string) error {
		fields := make([]string, 0, 9)
		for _, field := range []string{"ship", "seal", fieldResume, fieldEnd, fieldTail, fieldState, fieldNote, fieldMissing, fieldLines} {
			fields = append(fields, field+":"+name)
		}
		return c.db.Retry(ctx, func() error {
			pipe := c.db.Pipeline()
			pipe.HDel(ctx, c.keys.file(id), fields...)
			pipe.Unlink(ctx, c.keys.staged(name, id))
			_, err := pipe.Exec(ctx)
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.unlink(ctx, c.keys.groups(name), c.keys.sealed(name), c.keys.problems(name))
}

// Subscribers lists the channel's subscribers by name.
func (c *Channel) Subscribers(ctx context.Context) ([]Subscriber, error) {
	settings, err := ask(ctx, c.db, func() (map[string]string, error) { return c.db.HGetAll(ctx, c.keys.subscribers()).Result() })
	if err != nil {
		return nil, fmt.Errorf("list the subscribers of channel %q: %w", c.name, err)
	}
	list := make([]Subscriber, 0, len(settings))
	for name := range settings {
		fields, err := c.subscriberFields(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, parseSubscriber(name, settings[name], fields))
	}
	slices.SortFunc(list, func(a, b Subscriber) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (c *Channel) subscriberFields(ctx context.Context, name string) (map[string]string, error) {
	fields, err := ask(ctx, c.db, func() (map[string]string, error) { return c.db.HGetAll(ctx, c.keys.subscriber(name)).Result() })
	if err != nil {
		return nil, fmt.Errorf("read subscriber %q: %w", name, err)
	}
	return fields, nil
}

// hasSubscriber tells whether there is such a subscriber, with its settings.
func (c *Channel) hasSubscriber(ctx context.Context, name string) (settings string, err error) {
	settings, err = ask(ctx, c.db, func() (string, error) { return c.db.HGet(ctx, c.keys.subscribers(), name).Result() })
	if errors.Is(err, redis.Nil) {
		return "", ErrNoSubscriber
	}
	return settings, err
}

// buildField is the field of a subscriber that counts the lines of a build.
const buildField = "build:"

func parseSubscriber(name, settings string, fields map[string]string) Subscriber {
	number := func(field string) int64 { return parseInt(fields[field]) }
	s := Subscriber{
		Name: name, Settings: settings, Seen: milliseconds(fields["seen"]),
		Busy: time.Duration(number("busy")) * time.Millisecond,
		Tally: Tally{
			Lines: number("lines"), Counted: number("counted"), Unknown: number("unknown"),
			Unparsable: number("unparsable"), Bytes: number("bytes"),
			Files: number("files"), Partial: number("partial"), Failed: number("failed"),
		},
	}
	for field := range fields {
		if build, ok := strings.CutPrefix(field, buildField); ok {
			s.Builds = append(s.Builds, BuildShare{build, number(field)})
		}
	}
	slices.SortFunc(s.Builds, func(a, b BuildShare) int { return strings.Compare(a.Build, b.Build) })
	return s
}

func (c *Channel) subscriberNames(ctx context.Context) ([]string, error) {
	return ask(ctx, c.db, func() ([]string, error) {
		return c.db.HKeys(ctx, c.keys.subscribers()).Result()
	})
}

// laggards says for people whom a full window waits for.
func (c *Channel) laggards(ctx context.Context) (string, error) {
	subscribers, err := c.Subscribers(ctx)
	if err != nil {
		return "", err
	}
	now, err := c.now(ctx)
	if err != nil {
		return "", err
	}
	if len(subscribers) == 0 {
		return noSubscriberText(c.name), nil
	}
	texts := make([]string, 0, len(subscribers))
	for _, s := range subscribers {
		texts = append(texts, fmt.Sprintf("subscriber %q: %s", s.Name, s.lastSeen(now)))
	}
	return strings.Join(texts, ", "), nil
}

func noSubscriberText(channel string) string {
	return fmt.Sprintf("channel %q has no subscriber, so nothing is counted or freed: start `skidway logs work --channel %s --subscriber NAME`", channel, channel)
}

// lastSeen says for people how a subscriber's workers do.
func (s Subscriber) lastSeen(now time.Time) string {
	if s.Seen.IsZero() {
		return "no worker was ever seen"
	}
	if quiet := now.Sub(s.Seen); quiet > 2*DefaultLease {
		return fmt.Sprintf("no worker seen for %s", quiet.Round(time.Second))
	}
	return "its workers are counting"
}
