package room

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// News is a page of a room's log, and how the room is at that moment.
type News struct {
	Messages []Message    // oldest first
	Changes  []Retraction // oldest first

	// First and Position are the positions of the first and last of these; for
	// an empty page, Position is where it was asked for, and First is 0.
	// Reading goes on after Position, paging back before First.
	First, Position uint64
	More            bool // there are more in the direction that was asked for

	Info

	beyond string // a foreign entry that no position leads to, or ""
}

// A Message is a message to a room. Its ID is its position in the room's log.
type Message struct {
	chat.Message
	Nick string // of the sender when it was sent, or ""
}

// A Retraction says that a message was taken back.
type Retraction struct {
	Position uint64    // in the room's log
	Message  uint64    // id of what was taken back
	By       string    // the sender or the owner; empty: an operator
	Time     time.Time // when Redis was told, to the millisecond
}

// Read gives what came after a position, oldest first: 0 at first, then the
// Position of the last page. limit is at most [chat.MaxMessages]; 0 means
// [chat.DefaultMessages]; a page also ends soon after 64 KiB. It is one round trip,
// changes nothing for others, and starts the reader's presence anew.
//
// News.Oldest above since + 1 says that the room no longer keeps all that came
// in between.
func (r *Client) Read(ctx context.Context, pass Pass, since uint64, limit int) (News, error) {
	return r.History(ctx, pass, Page{From: since, Forward: true, Limit: limit})
}

// A Page says which page of the history to read. The zero value is the
// newest.
type Page struct {
	From    uint64 // position at which to start, which is not part of the page
	Forward bool   // the oldest after From; else the newest before it, 0: of all
	Limit   int    // most messages and changes, as at [Client.Read]
}

// History gives any page of the history, always oldest first. It is [Client.Read]
// from either end.
func (r *Client) History(ctx context.Context, pass Pass, page Page) (News, error) {
	from := strconv.FormatUint(page.From, 10)
	if page.From > store.LastExact {
		return News{}, store.Invalid("position", from, "there is none so high")
	}
	if page.Limit < 0 {
		return News{}, store.Invalid("limit", strconv.Itoa(page.Limit), "want a number of messages, or 0 for 100")
	}
	direction := "before"
	if page.Forward {
		direction = "after"
	}
	a, err := r.run(ctx, readScript, pass, direction, from, store.PageLimit(page.Limit))
	var ahead *store.AheadError
	if errors.As(err, &ahead) {
		return News{}, store.Invalid("position", from, "in this room, the last is "+strconv.FormatUint(ahead.Last, 10))
	}
	if err != nil {
		return News{}, err
	}
	return parseNews(a, page), nil
}

// parseNews reads what the script gave after the word ok.
func parseNews(a rdb.Reply, page Page) News {
	news := News{Info: parseInfo(a.List(0)), Position: page.From, More: a.Uint(1) == 1, beyond: a.Text(3)}
	entries := store.ParseEntries(a.List(2).Values)
	if !page.Forward {
		slices.Reverse(entries)
	}
	for i, entry := range entries {
		m := store.ParseMessage(entry)
		if i == 0 {
			news.First = m.ID
		}
		news.Position = m.ID
		if _, notice := entry.Values["retracts"]; notice {
			var change Retraction
			if change, m.Err = parseRetraction(m.ID, entry.ID, entry.Values); m.Err == nil {
				news.Changes = append(news.Changes, change)
				continue
			}
		}
		nick, _ := entry.Values["nick"].(string)
		if nick != "" && store.CheckName("nick", nick) != nil {
			nick = "" // it is no reason to hide the message
		}
		news.Messages = append(news.Messages, Message{m, nick})
	}
	return news
}

// parseRetraction reads the fields of a notice that has this position.
func parseRetraction(position uint64, id string, fields map[string]any) (Retraction, error) {
	number := func(name string) (uint64, bool) {
		text, _ := fields[name].(string)
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil && n <= store.LastExact
	}
	message, is := number("retracts")
	ms, timed := number("time")
	by, _ := fields["by"].(string)
	if !is || !timed || by != "" && store.CheckName("by", by) != nil {
		return Retraction{}, store.Corrupt(id, "it is no notice of a message that was taken back")
	}
	return Retraction{position, message, by, time.UnixMilli(int64(ms))}, nil
}

// Resource gives a message that has a URL, to somebody in the room: the check
// for those who hand out what is behind it. Other messages, and those that are
// gone, are [chat.ErrNoMessage].
func (r *Client) Resource(ctx context.Context, pass Pass, message uint64) (Message, error) {
	none := fmt.Errorf("room %q: message %d: %w", pass.Room, message, chat.ErrNoMessage)
	if message == 0 || message > store.LastExact {
		return Message{}, none
	}
	news, err := r.Read(ctx, pass, message-1, 1)
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) && invalid.Field == "position" {
		return Message{}, none
	}
	if err != nil {
		return Message{}, err
	}
	if len(news.Messages) == 0 || news.Messages[0].ID != message || news.Messages[0].URL == "" || news.Messages[0].Err != nil {
		return Message{}, none
	}
	return news.Messages[0], nil
}

// Wait blocks until there is something after a position, or ctx is done. Who
// waits stays in the room. It holds one connection and looks at the room at least
// every five seconds; that is how it learns within that time that the room ended.
func (r *Client) Wait(ctx context.Context, pass Pass, since uint64) error {
	for {
		news, err := r.Read(ctx, pass, since, 1)
		if err != nil || news.Position > since {
			return err
		}
		mark := rdb.Mark{Key: r.keys.log(pass.Room), ID: store.LastUnder(since)}
		if news.beyond != "" {
			mark.ID = news.beyond // or it would wake for ever
		}
		if _, err := r.db.Wait(ctx, min(store.WaitTimeout, news.Settings.Presence/3), mark); err != nil {
			return fmt.Errorf("room %q: wait for messages: %w", pass.Room, err)
		}
	}
}
