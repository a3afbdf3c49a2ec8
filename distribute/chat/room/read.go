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

// Page is a page of a room's log, and how the room is at that moment.
type Page struct {
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
// Page.Oldest above since + 1 says that the room no longer keeps all that came
// in between.
func (r *Client) Read(ctx context.Context, credential Credential, since uint64, limit int) (Page, error) {
	return r.History(ctx, credential, &HistoryOptions{From: since, Forward: true, Limit: limit})
}

// A HistoryOptions says which page of the history to read. The zero value is the
// newest.
type HistoryOptions struct {
	From    uint64 // position at which to start, which is not part of the page
	Forward bool   // the oldest after From; else the newest before it, 0: of all
	Limit   int    // most messages and changes, as at [Client.Read]
}

// History gives any page of the history, always oldest first. It is [Client.Read]
// from either end.
func (r *Client) History(ctx context.Context, credential Credential, options *HistoryOptions) (Page, error) {
	var o HistoryOptions
	if options != nil {
		o = *options
	}
	from := strconv.FormatUint(o.From, 10)
	if o.From > store.LastExact {
		return Page{}, store.Invalid("position", from, "there is none so high")
	}
	if o.Limit < 0 {
		return Page{}, store.Invalid("limit", strconv.Itoa(o.Limit), "want a number of messages, or 0 for 100")
	}
	direction := "before"
	if o.Forward {
		direction = "after"
	}
	a, err := r.run(ctx, readScript, credential, direction, from, store.PageLimit(o.Limit))
	var ahead *store.AheadError
	if errors.As(err, &ahead) {
		return Page{}, store.Invalid("position", from, "in this room, the last is "+strconv.FormatUint(ahead.Last, 10))
	}
	if err != nil {
		return Page{}, err
	}
	return parsePage(a, o), nil
}

// parsePage reads what the script gave after the word ok.
func parsePage(a rdb.Reply, options HistoryOptions) Page {
	page := Page{Info: parseInfo(a.List(0)), Position: options.From, More: a.Uint(1) == 1, beyond: a.Text(3)}
	entries := store.ParseEntries(a.List(2).Values)
	if !options.Forward {
		slices.Reverse(entries)
	}
	for i, entry := range entries {
		m := store.ParseMessage(entry)
		if i == 0 {
			page.First = m.ID
		}
		page.Position = m.ID
		if _, notice := entry.Values["retracts"]; notice {
			var change Retraction
			if change, m.Err = parseRetraction(m.ID, entry.ID, entry.Values); m.Err == nil {
				page.Changes = append(page.Changes, change)
				continue
			}
		}
		nick, _ := entry.Values["nick"].(string)
		if nick != "" && store.CheckName("nick", nick) != nil {
			nick = "" // it is no reason to hide the message
		}
		page.Messages = append(page.Messages, Message{m, nick})
	}
	return page
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
func (r *Client) Resource(ctx context.Context, credential Credential, message uint64) (Message, error) {
	none := fmt.Errorf("room %q: message %d: %w", credential.Room, message, chat.ErrNoMessage)
	if message == 0 || message > store.LastExact {
		return Message{}, none
	}
	page, err := r.Read(ctx, credential, message-1, 1)
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) && invalid.Field == "position" {
		return Message{}, none
	}
	if err != nil {
		return Message{}, err
	}
	if len(page.Messages) == 0 || page.Messages[0].ID != message || page.Messages[0].URL == "" || page.Messages[0].Err != nil {
		return Message{}, none
	}
	return page.Messages[0], nil
}

// Wait blocks until there is something after a position, or ctx is done. Who
// waits stays in the room. It holds one connection and looks at the room at least
// every five seconds; that is how it learns within that time that the room ended.
func (r *Client) Wait(ctx context.Context, credential Credential, since uint64) error {
	for {
		page, err := r.Read(ctx, credential, since, 1)
		if err != nil || page.Position > since {
			return err
		}
		mark := rdb.Mark{Key: r.keys.log(credential.Room), ID: store.LastUnder(since)}
		if page.beyond != "" {
			mark.ID = page.beyond // or it would wake for ever
		}
		if _, err := r.db.Wait(ctx, min(store.WaitTimeout, page.Settings.Presence/3), mark); err != nil {
			return fmt.Errorf("room %q: wait for messages: %w", credential.Room, err)
		}
	}
}
