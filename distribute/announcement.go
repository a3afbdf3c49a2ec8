package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
