package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat/group"
	"skidway/distribute/cuts"
)

// A Subscriber is one aggregation of a channel, with the sums of its counts.
type Subscriber struct {
	Name     string
	Settings string    // what its counts depend on; empty until its first worker sets it
	Created  time.Time // by the clock of Redis
	Seen     time.Time // last heartbeat of one of its workers; zero: none yet
	Tally    Tally
	Builds   []BuildShare // the country databases that were used
	Busy     time.Duration

	// What was imported, which is not in Tally.
	Sources       int64
	ImportedLines int64
}

// A BuildShare is the number of lines that were counted with one build of the
// aggregation's data.
type BuildShare struct {
	Build string
	Lines int64
}

// Above so many percent of at least so many addresses, those without a country are odd.
const maxUnknown, minAddresses = 25, 1000

// UnknownWarning returns a warning if many addresses have no country, else "".
func (s *Subscriber) UnknownWarning() string {
	addresses := s.Tally.Counted + s.Tally.Unknown
	if addresses < minAddresses || 100*s.Tally.Unknown <= maxUnknown*addresses {
		return ""
	}
	return fmt.Sprintf("%d %% of the addresses have no country: if they are private, they may be those of a proxy and not of clients (--trusted-proxies), else the database may be incomplete",
		100*s.Tally.Unknown/addresses)
}

// A SettingsError is the error for a worker whose aggregation has other settings
// than its subscriber.
type SettingsError struct{ Subscriber, Have, Want string }

func (e *SettingsError) Error() string {
	return fmt.Sprintf("subscriber %q was created with %s and can't be counted on with %s",
		e.Subscriber, e.Have, e.Want)
}

// ErrNoSubscriber is the error for a name that no subscriber of the channel has.
var ErrNoSubscriber = errors.New("no such subscriber")

// Subscribe creates a subscriber that receives every file from the oldest one in
// Redis on. The settings are fixed when it is created; empty settings are set by
// its first worker. Repeating it changes nothing. If the removal of an earlier
// subscriber of this name was interrupted, Subscribe completes it first.
func (c *Channel) Subscribe(ctx context.Context, name, settings string) error {
	if err := CheckName("subscriber", name); err != nil {
		return err
	}
	have, err := c.subscribe(ctx, name, settings)
	if err != nil {
		return fmt.Errorf("subscribe %q to channel %q: %w", name, c.name, err)
	}
	if settings != "" && have != settings {
		return &SettingsError{name, have, settings}
	}
	return nil
}

// subscribe creates a subscriber that does not exist, and returns its settings.
func (c *Channel) subscribe(ctx context.Context, name, settings string) (string, error) {
	for {
		// The chat keeps announcements for its members, the list of subscribers
		// keeps files. The chat comes first, so that no file is kept for a
		// subscriber that misses its announcement.
		if err := c.chat.Join(ctx, c.chatID(), memberName(name), group.FromOldest); err != nil {
			return "", err
		}
		args := []any{name, settings}
		if parsed, _ := cuts.ParseSettings(settings); parsed.Visitors != nil {
			args = append(args, newVisitorKey())
		}
		reply, err := c.call(ctx, subscribeScript, target{subscriber: name}, args...)
		if err == nil && reply.Len() > 0 {
			// A removal that was completed in between has left the chat.
			err = c.chat.Join(ctx, c.chatID(), memberName(name), group.FromOldest)
		}
		if err != nil || reply.Len() > 0 {
			return reply.Text(0), err
		}
		if err := c.files.completeRemovals(ctx); err != nil {
			return "", err
		}
	}
}

// Unsubscribe removes a subscriber with its counts. Files that only it had not
// counted are freed.
func (c *Channel) Unsubscribe(ctx context.Context, name string) error {
	if err := c.unsubscribe(ctx, name); err != nil {
		return fmt.Errorf("remove subscriber %q of channel %q: %w", name, c.name, err)
	}
	return nil
}

func (c *Channel) unsubscribe(ctx context.Context, name string) error {
	_, unknown := c.settings(ctx, name)
	if unknown != nil && !errors.Is(unknown, ErrNoSubscriber) {
		return unknown
	}
	r, err := c.files.beginRemoval(ctx, name)
	if err != nil {
		return err
	}
	if r.number == "" {
		return unknown // nil: this call has removed it, its reply was lost, and another process has completed it
	}
	return c.files.completeRemoval(ctx, r)
}

// Subscribers returns the channel's subscribers, sorted by name.
func (c *Channel) Subscribers(ctx context.Context) ([]Subscriber, error) {
	settings, err := query(ctx, c.db, func() (map[string]string, error) { return c.db.HGetAll(ctx, c.keys.subscribers()).Result() })
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
	if err := c.sourceCounts(ctx, list); err != nil {
		return nil, fmt.Errorf("list the sources of channel %q: %w", c.name, err)
	}
	return list, nil
}

func (s *store) subscriberNames(ctx context.Context) ([]string, error) {
	return query(ctx, s.db, func() ([]string, error) { return s.db.HKeys(ctx, s.keys.subscribers()).Result() })
}

func (s *store) subscriberFields(ctx context.Context, name string) (map[string]string, error) {
	fields, err := query(ctx, s.db, func() (map[string]string, error) { return s.db.HGetAll(ctx, s.keys.subscriber(name).record()).Result() })
	if err != nil {
		return nil, fmt.Errorf("read subscriber %q: %w", name, err)
	}
	return fields, nil
}

// settings returns the settings of a subscriber, or ErrNoSubscriber.
func (s *store) settings(ctx context.Context, name string) (string, error) {
	settings, err := query(ctx, s.db, func() (string, error) { return s.db.HGet(ctx, s.keys.subscribers(), name).Result() })
	if errors.Is(err, redis.Nil) {
		return "", ErrNoSubscriber
	}
	return settings, err
}

// epoch returns the epoch of a subscriber, which each reset begins anew; empty: the first one.
func (s *store) epoch(ctx context.Context, name string) (string, error) {
	epoch, err := query(ctx, s.db, func() (string, error) { return s.db.HGet(ctx, s.keys.subscriber(name).record(), "epoch").Result() })
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return epoch, err
}

// buildField is the prefix of a subscriber's fields that count the lines of a
// build.
const buildField = "build:"

func parseSubscriber(name, settings string, fields map[string]string) Subscriber {
	number := func(field string) int64 { return parseInt(fields[field]) }
	s := Subscriber{
		Name: name, Settings: settings, Created: parseMillis(fields["since"]), Seen: parseMillis(fields["seen"]),
		Busy: time.Duration(number("busy")) * time.Millisecond,
		Tally: Tally{
			Lines: number("lines"), Counted: number("counted"), Unknown: number("unknown"),
			Filtered: number("filtered"), Expired: number("expired"), Private: number("private"), Crawlers: number("crawlers"), Unparsable: number("unparsable"), Bytes: number("bytes"),
			Files: number("files"), Partial: number("partial"), Failed: number("failed"),
		},
	}
	for field := range fields {
		if build, ok := strings.CutPrefix(field, buildField); ok && build != "" {
			s.Builds = append(s.Builds, BuildShare{build, number(field)})
		}
	}
	slices.SortFunc(s.Builds, func(a, b BuildShare) int { return strings.Compare(a.Build, b.Build) })
	return s
}
