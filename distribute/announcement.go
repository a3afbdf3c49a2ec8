package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// An announcement is a message of the channel's chat: this file has a shipment
// to be counted.
type announcement struct {
	Version  int    `json:"v"`
	File     string `json:"file"`
	Shipment int64  `json:"shipment"`
}

// announce tells the subscribers of a shipment. If the answer is lost it is
// announced again: the second time, subscribers find it counted or claimed.
func (c *Channel) announce(ctx context.Context, by, id string, shipment int64) error {
	body, err := json.Marshal(announcement{formatVersion, id, shipment})
	if err != nil {
		return err
	}
	err = c.db.Retry(ctx, func() error {
		_, err := c.chat.Send(ctx, c.chatID(), by, chat.Content{Body: body})
		var lost *rdb.OutcomeUnknownError
		if errors.As(err, &lost) {
			return lost.Err
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("announce the file: %w", err)
	}
	return c.poke(ctx)
}

func parseAnnouncement(body []byte) (announcement, error) {
	var a announcement
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("malformed announcement: %w", err)
	}
	if a.Version > formatVersion {
		return a, fmt.Errorf("announcement of format %d, which a newer Skidway wrote", a.Version)
	}
	if a.File == "" || a.Shipment <= 0 {
		return a, errors.New("malformed announcement: it names no shipment")
	}
	return a, nil
}

// claimBatch is how many announcements one look takes.
const claimBatch = 50

// A search is the outcome of looking for a file to claim.
type search struct {
	claim   *claim
	pending bool          // there are files, all held by others
	retryIn time.Duration // when the first lease of those ends, if nobody renews it
}

// A backlog is what a worker has read of the announcements and not seen dealt
// with: so that behind one file that takes long it does not read all that follow
// again and again.
type backlog struct {
	read         uint64 // the last message that was read
	open         []announced
	acknowledged uint64
}

type announced struct {
	message uint64
	announcement
}

// find claims the first file that is free, and acknowledges what is dealt with.
func (w *Worker) find(ctx context.Context) (search, error) {
	found := search{}
	for looked := 0; ; {
		for looked < len(w.backlog.open) && found.claim == nil {
			n, err := w.tryClaim(ctx, looked, &found)
			if err != nil {
				return found, err
			}
			looked = n
		}
		if found.claim != nil {
			break
		}
		more, err := w.readOn(ctx)
		if err != nil {
			return found, err
		}
		if !more {
			break
		}
	}
	return found, w.acknowledge(ctx)
}

// readOn reads the next announcements into the backlog; false: there are none.
func (w *Worker) readOn(ctx context.Context) (bool, error) {
	c := w.channel
	messages, err := c.chat.Pending(ctx, c.chatID(), w.subscriber, w.backlog.read, claimBatch)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	for _, m := range messages {
		a, err := announcement{}, m.Err
		if err == nil {
			a, err = parseAnnouncement(m.Body)
		}
		if err != nil {
			w.config.Notify.tell(Event{Text: fmt.Sprintf("skipped message %d of the channel", m.ID), Err: err})
		} else {
			w.backlog.open = append(w.backlog.open, announced{m.ID, a})
		}
		w.backlog.read = m.ID
	}
	return true, nil
}

// acknowledge moves the subscriber's cursor up to the first file that is not
// dealt with.
func (w *Worker) acknowledge(ctx context.Context) error {
	upTo := w.backlog.read
	if len(w.backlog.open) > 0 {
		upTo = w.backlog.open[0].message - 1
	}
	if upTo <= w.backlog.acknowledged {
		return nil
	}
	_, err := w.channel.chat.Ack(ctx, w.channel.chatID(), w.subscriber, upTo)
	if err == nil {
		w.backlog.acknowledged = upTo
	}
	return err
}
