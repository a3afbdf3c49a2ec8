package distribute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"skidway/distribute/stream"
)

// A TooLargeError says that a file does not fit the window.
type TooLargeError struct {
	Need   int64 // bytes of memory that the file takes up in Redis
	Window int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("needs %d bytes in Redis at once, and the channel's window is %d: ship it with --window %dMiB or more, or split the file",
		e.Need, e.Window, (e.Need>>20)+1)
}

// A plan is how a file is to be shipped.
type plan struct {
	id       string
	indexKey string
	index    string // what the index held when it was looked at
	shipment int64  // the last one when it was looked at; 0: none
	base     int64  // where the upload begins
	newHead  bool   // the head is to be recorded
	replaces string // what the ids of the same content begin with, if it is forced
	done     *ShippedFile
}

// plan finds out whether the channel knows the file, and what of it is new.
func (s *Shipper) plan(ctx context.Context, src *stream.Source) (plan, error) {
	key := src.Head.IndexKey()
	index, known, err := s.channel.lookup(ctx, key, src.Head)
	if err != nil {
		return plan{}, err
	}
	p := plan{id: src.Head.ID(), indexKey: key, index: index, newHead: true}
	if known != nil && s.config.Force {
		return s.planForced(ctx, p)
	}
	if known == nil {
		return p, nil
	}
	p.id, p.shipment, p.newHead = known.id, known.shipment, len(src.Head) > known.head.Length
	if known.inRedis() {
		if known.state == uploaded && known.codec == src.Codec && known.size == src.Size {
			p.done = &ShippedFile{Outcome: AlreadyShipped, Note: "waits in Redis to be counted"}
			return p, nil
		}
		return p, errBusy
	}
	return s.planMore(ctx, src, known, p)
}

// planForced makes another file of one that is known: the same for each try of
// this shipper.
func (s *Shipper) planForced(ctx context.Context, p plan) (plan, error) {
	plainID := p.id
	p.id += "-" + strings.ToLower(s.token[:8])
	forced, err := s.channel.record(ctx, p.id)
	if err != nil {
		return p, err
	}
	if forced.inRedis() {
		return p, errBusy
	}
	p.shipment, p.replaces = forced.shipment, plainID
	return p, nil
}

// planMore compares a file with what the subscribers have counted of it.
func (s *Shipper) planMore(ctx context.Context, src *stream.Source, known *record, p plan) (plan, error) {
	subscribers, err := s.channel.subscriberNames(ctx)
	if err != nil || len(subscribers) == 0 {
		return p, err
	}
	same := known.state == done && known.codec == src.Codec && known.size == src.Size
	resume, end, note := int64(-1), int64(-1), ""
	for _, name := range subscribers {
		at := known.counted[name]
		same = same && at.shipment == known.shipment && at.end > 0
		if resume < 0 || at.resume < resume {
			resume = at.resume
		}
		if end < 0 || at.end < end {
			end = at.end
		}
		if at.note != "" {
			note = at.note
		}
	}
	length := end
	if !same {
		if length, err = src.Length(); err != nil {
			return p, err
		}
	}
	switch {
	case length < end:
		note = fmt.Sprintf("this copy is shorter: %d of %d bytes", length, end)
		fallthrough
	case length == end && end > 0:
		p.done = &ShippedFile{Outcome: AlreadyCounted, Note: note}
	case src.Codec == stream.Plain:
		p.base = resume
	}
	return p, nil
}

func (c *Channel) subscriberNames(ctx context.Context) (names []string, err error) {
	err = c.db.Retry(ctx, func() (err error) {
		names, err = c.db.HKeys(ctx, c.keys.subscribers()).Result()
		return err
	})
	return names, err
}

// lookup finds the record of the file that has this head, nil if the channel
// does not know it, and gives what the index holds for its key.
func (c *Channel) lookup(ctx context.Context, key string, h stream.Head) (string, *record, error) {
	var index []any
	err := c.db.Retry(ctx, func() (err error) {
		index, err = c.db.HMGet(ctx, c.keys.heads(), key, stream.UnfinishedLine).Result()
		return err
	})
	if err != nil {
		return "", nil, err
	}
	bucket, _ := index[0].(string)
	young, _ := index[1].(string)
	ids := strings.Fields(bucket)
	if key != stream.UnfinishedLine {
		ids = append(ids, strings.Fields(young)...)
	}
	var best *record
	for _, id := range ids {
		r, err := c.record(ctx, id)
		if err != nil {
			return "", nil, err
		}
		if r.head.Length > 0 && r.head.SameFile(h) && (best == nil || r.head.Length > best.head.Length) {
			best = &r
		}
	}
	return bucket, best, nil
}

// admit asks for the file's place in the window until it is granted.
func (s *Shipper) admit(ctx context.Context, src *stream.Source, p plan) (shipment int64, err error) {
	size := src.Size - p.base
	segment := s.channel.segmentSize()
	cost := stream.UploadCost(size, segment)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leaveLine(ctx))
		}
	}()
	newHead := ""
	if p.newHead {
		newHead = src.Head.Fingerprint().Encode()
	}
	k := s.channel.keys
	names := []string{k.channel(), k.open(), k.line(), k.leases(), k.heads(), k.files(), k.file(p.id), k.abandoned(), k.uploads()}
	for waiting := (notice{}); ; {
		since, err := s.channel.moment(ctx)
		if err != nil {
			return 0, err
		}
		answer, err := admitScript.Strings(ctx, s.channel.db, names,
			s.token, p.id, p.indexKey, p.index, p.shipment, newHead, cost, s.config.Lease.Milliseconds(),
			"name", src.Path, "codec", string(src.Codec), "size", src.Size, "base", p.base, "segment", segment, "upload", size)
		if err != nil {
			return 0, err
		}
		switch answer[0] {
		case "admitted":
			return parseInt(answer[1]), s.channel.forgive(ctx, p.replaces)
		case "changed":
			return 0, errChanged
		case "large":
			return 0, &TooLargeError{cost, parseInt(answer[1])}
		}
		if closed(s.config.Quit) {
			return 0, errQuit
		}
		if err := s.channel.sweep(ctx); err != nil {
			return 0, err
		}
		if err := s.tellWaiting(ctx, src, answer[0], &waiting); err != nil {
			return 0, err
		}
		if err := s.channel.wait(ctx, since, s.config.Lease/2, s.config.Quit); err != nil {
			return 0, err
		}
	}
}

var (
	errChanged = errors.New("the record changed since it was looked at")
	errQuit    = errors.New("told to quit")
)

// leaveLine gives up the place among those who wait for the window.
func (s *Shipper) leaveLine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return s.channel.db.Retry(ctx, func() error { return s.channel.db.ZRem(ctx, s.channel.keys.line(), s.token).Err() })
}

// A notice remembers when a person was last told what is waited for.
type notice struct{ told time.Time }

// noticeEvery is how often it is told again.
const noticeEvery = 30 * time.Second

// due reports whether it is time to tell, and then takes it as told.
func (n *notice) due() bool {
	if time.Since(n.told) < noticeEvery {
		return false
	}
	n.told = time.Now()
	return true
}

func (s *Shipper) tellWaiting(ctx context.Context, src *stream.Source, why string, last *notice) error {
	if !last.due() {
		return nil
	}
	text := "waits for its turn: other shippers asked first"
	if why == "full" {
		whom, err := s.channel.laggards(ctx)
		if err != nil {
			return err
		}
		text = "waits, the window is full: " + whom
	}
	s.config.Notify.tell(Event{File: src.Path, Text: text})
	return nil
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
