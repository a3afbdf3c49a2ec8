package distribute

import (
	"context"
	"fmt"
	"strings"

	"skidway/distribute/stream"
)

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

// lookup finds the record of the file that has this head, nil if the channel
// does not know it, and gives what the index holds for its key.
func (c *Channel) lookup(ctx context.Context, key string, h stream.Head) (string, *record, error) {
	index, err := ask(ctx, c.db, func() ([]any, error) { return c.db.HMGet(ctx, c.keys.heads(), key, stream.UnfinishedLine).Result() })
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
