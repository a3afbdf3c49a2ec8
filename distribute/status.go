package distribute

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
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

	ShippersWaiting int // for room in the window, of those that are alive

	segment int64 // bytes of the window that a segment can take
	reserve int64 // bytes of the window that are left free for the oldest file
}

// Full reports whether the window has no room for another segment, other than one of the oldest file.
// There may be no shipper that waits for room: ShippersWaiting has their number.
func (s Status) Full() bool { return s.Window > 0 && s.Used+s.reserve+s.segment > s.Window }

// An OpenFile is a file that is in Redis.
type OpenFile struct {
	Name     string
	State    FileState // FileDone or FileAbandoned until it is freed
	Uploaded int64     // bytes
	Size     int64     // bytes to upload in total; zero: not known
	Held     int64     // bytes of the window that it uses
	Since    time.Time
	Waiting  []string // subscribers that have not counted it
}

// A SubscriberStatus is a subscriber with the work that is left for it.
type SubscriberStatus struct {
	Subscriber
	Pending  int64 // announced files that are not counted, or not acknowledged yet
	Counting int   // files that its workers are counting
}

// A Laggard is a subscriber that has not counted all files in Redis.
type Laggard struct {
	Subscriber string
	Seen       time.Time     // last heartbeat of one of its workers; zero: none yet
	Idle       time.Duration // since then, or since the subscriber was created; 0 if Lost
	Lost       bool          // its record is missing, so neither time is known
	Files      int           // that it has not counted, of the first 1,000
	Bytes      int64         // of the window that those use
}

// Gone reports whether the subscriber seems to have no worker.
func (l Laggard) Gone() bool { return l.Lost || l.Idle > 2*DefaultLease }

// String returns what is known of the subscriber: whether it has workers, and what it holds up.
func (l Laggard) String() string {
	text := fmt.Sprintf("subscriber %q: ", l.Subscriber)
	switch {
	case l.Lost:
		text += "its record is missing"
	case l.Seen.IsZero():
		text += "no worker was ever seen"
	case l.Gone():
		text += fmt.Sprintf("no worker seen for %s", l.Idle.Round(time.Second))
	default:
		text += "its workers are counting"
	}
	if l.Files > 0 {
		text += fmt.Sprintf("; files that wait for it: %d, %.1f MiB", l.Files, float64(l.Bytes)/(1<<20))
	}
	return text
}

// Laggards returns the subscribers that have not counted all files in Redis, by name.
func (s Status) Laggards() []Laggard {
	laggards := make([]Laggard, 0, len(s.Subscribers))
	for _, subscriber := range s.Subscribers {
		l := subscriber.laggard(s.Now)
		for _, file := range s.Open {
			if slices.Contains(file.Waiting, l.Subscriber) {
				l.Files, l.Bytes = l.Files+1, l.Bytes+file.Held
			}
		}
		if l.Files > 0 {
			laggards = append(laggards, l)
		}
	}
	return laggards
}

func (s SubscriberStatus) laggard(now time.Time) Laggard {
	last := s.Seen
	if last.IsZero() {
		last = s.Created
	}
	if last.IsZero() {
		return Laggard{Subscriber: s.Name, Lost: true}
	}
	return Laggard{Subscriber: s.Name, Seen: s.Seen, Idle: max(0, now.Sub(last))}
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
	var open, line, tokens []string
	var held, reserves map[string]string
	err = c.db.Retry(ctx, func() error {
		pipe := c.db.Pipeline()
		window := pipe.HMGet(ctx, c.keys.channel(), "window", "used")
		known := pipe.ZCard(ctx, c.keys.files())
		oldest := pipe.ZRange(ctx, c.keys.open(), 0, openListed-1)
		holds, keeps := pipe.HGetAll(ctx, c.keys.held()), pipe.HGetAll(ctx, c.keys.reserves())
		queued := pipe.ZRange(ctx, c.keys.line(), 0, -1)
		shippers := pipe.HGetAll(ctx, c.keys.shippers())
		alive := pipe.ZRangeByScore(ctx, c.keys.leases(), &redis.ZRangeBy{Min: after(s.Now), Max: "+inf"})
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		text := func(i int) string { v, _ := window.Val()[i].(string); return v }
		s.Window, s.Used, s.Known = parseInt(text(0)), parseInt(text(1)), known.Val()
		open, held, reserves, line, tokens, s.Shippers = oldest.Val(), holds.Val(), keeps.Val(), queued.Val(), alive.Val(), nil
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
	size := stream.SegmentFor(s.Window, c.segmentSize())
	s.segment = stream.UploadCost(size, size)
	if s.Subscribers, err = c.subscriberStatus(ctx, s.Now); err != nil {
		return s, err
	}
	if s.Abandoned, err = c.files.abandonedNames(ctx); err != nil {
		return s, err
	}
	files := make([]record, len(open))
	for i, id := range open {
		if files[i], err = c.files.record(ctx, id); err != nil {
			return s, err
		}
		s.Open = append(s.Open, s.openFile(files[i], parseInt(held[id])))
	}
	if i := slices.IndexFunc(files, func(r record) bool { return r.state != FileDone && r.state != FileAbandoned }); i >= 0 {
		s.reserve = max(0, parseInt(reserves[open[i]])-parseInt(held[open[i]]))
	}
	s.ShippersWaiting = waitingShippers(tokens, line, files)
	return s, nil
}

// waitingShippers returns the number of shippers that wait for room: of those that are alive the ones in the
// line, and those with an upload for whose next segment there was none.
func waitingShippers(alive, line []string, open []record) (n int) {
	for _, r := range open {
		if r.full && r.state == FileUploading {
			line = append(line, r.by)
		}
	}
	for _, token := range alive {
		if slices.Contains(line, token) {
			n++
		}
	}
	return n
}

func (s *Status) openFile(r record, held int64) OpenFile {
	file := OpenFile{Name: r.name, State: r.state, Uploaded: r.raw, Size: r.upload, Held: held, Since: r.admitted}
	for _, subscriber := range s.Subscribers {
		if r.counted[subscriber.Name].shipment != r.shipment && r.state != FileAbandoned {
			file.Waiting = append(file.Waiting, subscriber.Name)
		}
	}
	return file
}

// laggards returns the subscribers that a shipper waits for. It returns all if every one
// has counted all files meanwhile.
func (c *Channel) laggards(ctx context.Context) ([]Laggard, error) {
	s, err := c.status(ctx)
	if err != nil {
		return nil, err
	}
	laggards := s.Laggards()
	if len(laggards) == 0 {
		for _, subscriber := range s.Subscribers {
			laggards = append(laggards, subscriber.laggard(s.Now))
		}
	}
	return laggards, nil
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
			return c.db.ZCount(ctx, c.keys.subscriber(subscriber.Name).claims(), after(now), "+inf").Result()
		})
		if err != nil {
			return nil, err
		}
		s.Counting = int(counting)
		list = append(list, s)
	}
	return list, nil
}
