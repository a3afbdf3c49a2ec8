package distribute

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Status is the state of a channel.
type Status struct {
	Now         time.Time // of the Redis server
	Window      int64     // bytes that files may use in Redis
	Used        int64     // bytes that they use
	Known       int64     // files that have a record
	Open        []OpenFile
	Shippers    []string // host:pid of the shippers that are alive
	Subscribers []SubscriberStatus
	Abandoned   []string // files whose upload was abandoned and that were not shipped again
}

// An OpenFile is a file that is in Redis.
type OpenFile struct {
	Name     string
	State    FileState // FileDone or FileAbandoned until it is freed
	Uploaded int64     // bytes
	Size     int64     // bytes to upload in total
	Since    time.Time
	Waiting  []string // subscribers that have not counted it
}

// A SubscriberStatus is a subscriber with the work that is left for it.
type SubscriberStatus struct {
	Subscriber
	Pending  int64 // announced files that are not counted, or not acknowledged yet
	Counting int   // files that its workers are counting
}

// openListed is the number of open files that a status lists, the oldest first.
const openListed = 1000

// Status reads the state of the channel, with several commands: its parts can be
// of slightly different times.
func (c *Channel) Status(ctx context.Context) (Status, error) {
	s, err := c.status(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status of channel %q: %w", c.name, err)
	}
	return s, nil
}

func (c *Channel) status(ctx context.Context) (s Status, err error) {
	if s.Now, err = c.now(ctx); err != nil {
		return s, err
	}
	var open []string
	err = c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		window := pipe.HMGet(ctx, c.keys.channel(), "window", "used")
		known := pipe.ZCard(ctx, c.keys.files())
		oldest := pipe.ZRange(ctx, c.keys.open(), 0, openListed-1)
		shippers := pipe.HGetAll(ctx, c.keys.shippers())
		alive := pipe.ZRangeByScore(ctx, c.keys.leases(), &redis.ZRangeBy{Min: after(s.Now), Max: "+inf"})
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		text := func(i int) string { v, _ := window.Val()[i].(string); return v }
		s.Window, s.Used, s.Known = parseInt(text(0)), parseInt(text(1)), known.Val()
		open, s.Shippers = oldest.Val(), nil
		for _, token := range alive.Val() {
			_, name, _ := strings.Cut(shippers.Val()[token], " ")
			s.Shippers = append(s.Shippers, name)
		}
		slices.Sort(s.Shippers)
		return nil
	})
	if err != nil {
		return s, err
	}
	if s.Subscribers, err = c.subscriberStatus(ctx, s.Now); err != nil {
		return s, err
	}
	if s.Abandoned, err = c.files.abandonedNames(ctx); err != nil {
		return s, err
	}
	for _, id := range open {
		r, err := c.files.record(ctx, id)
		if err != nil {
			return s, err
		}
		s.Open = append(s.Open, s.openFile(r))
	}
	return s, nil
}

func (s *Status) openFile(r record) OpenFile {
	file := OpenFile{Name: r.name, State: r.state, Uploaded: r.raw, Size: r.upload, Since: r.admitted}
	for _, subscriber := range s.Subscribers {
		if r.counted[subscriber.Name].shipment != r.shipment {
			file.Waiting = append(file.Waiting, subscriber.Name)
		}
	}
	return file
}

// after returns the lower bound for the scores of leases that have not expired.
func after(now time.Time) string { return "(" + strconv.FormatInt(now.UnixMilli(), 10) }

func (c *Channel) subscriberStatus(ctx context.Context, now time.Time) ([]SubscriberStatus, error) {
	subscribers, err := c.Subscribers(ctx)
	if err != nil {
		return nil, err
	}
	members, err := c.chat.Members(ctx, c.chatID())
	if err != nil {
		return nil, err
	}
	list := make([]SubscriberStatus, 0, len(subscribers))
	for _, subscriber := range subscribers {
		s := SubscriberStatus{Subscriber: subscriber}
		for _, member := range members {
			if member.Name == memberName(subscriber.Name) {
				s.Pending = int64(member.Unread)
			}
		}
		counting, err := query(ctx, c.db, func() (int64, error) {
			return c.db.ZCount(ctx, c.keys.claims(subscriber.Name), after(now), "+inf").Result()
		})
		if err != nil {
			return nil, err
		}
		s.Counting = int(counting)
		list = append(list, s)
	}
	return list, nil
}
