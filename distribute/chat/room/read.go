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

// A Page has messages of a room's log, and the state of the room at that time.
type Page struct {
	Messages []Message    // oldest first
	Changes  []Retraction // oldest first

	// First and Position are the positions of the first and last of these. For
	// an empty page, Position is the one that was requested, and First is 0. The
	// next page is after Position, the page before it is before First.
	First, Position uint64
	More            bool // there are more in the requested direction

	Info

	beyond string // id of a foreign entry that has no position, or ""
}

// A Message is a message to a room. Its ID is its position in the room's log.
type Message struct {
	chat.Message
	Nick string // of the sender when it was sent, or ""
}

// A Retraction is the removal of a message by its sender, the owner or an operator.
type Retraction struct {
	Position uint64    // in the room's log
	Message  uint64    // id of the retracted message
	By       string    // the sender or the owner; empty: an operator
	Time     time.Time // in whole milliseconds
}

// Read returns the messages and retractions after a position, oldest first. Begin
// with 0; for the next page, since is the Position of this one. limit is at most
// [chat.MaxMessages]; 0 means [chat.DefaultMessages]; a page also ends soon after 64
// KiB. Read is one round trip, and starts the presence time of the reader again.
//
// If Page.Oldest is above since + 1, the room no longer has some of the messages
// in between.
func (r *Client) Read(ctx context.Context, credential Credential, since uint64, limit int) (Page, error) {
	return r.History(ctx, credential, &HistoryOptions{From: since, Forward: true, Limit: limit})
}

// HistoryOptions select a page of the history. The zero value selects the newest.
type HistoryOptions struct {
	From    uint64 // position where the page starts; the page does not include it
	Forward bool   // the oldest entries after From; else the newest before it, 0: of all
	Limit   int    // maximum of messages and retractions, as for [Client.Read]
}

// History returns a page of the history, oldest first. Unlike [Client.Read] it can
// begin at either end. Nil options select the newest page.
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

// parsePage parses the reply of the script.
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
			nick = "" // foreign data; the message is valid
		}
		page.Messages = append(page.Messages, Message{m, nick})
	}
	return page
}

// parseRetraction parses the fields of an entry that retracts a message.
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

// Wait blocks until there is a message or retraction after a position, or ctx is
// done. The presence of a waiting person does not end. Wait uses one connection and
// reads the room at least every five seconds, so it returns at most that long after
// the room ended.
func (r *Client) Wait(ctx context.Context, credential Credential, since uint64) error {
	for {
		page, err := r.Read(ctx, credential, since, 1)
		if err != nil || page.Position > since {
			return err
		}
		mark := rdb.Mark{Key: r.rooms.Log(credential.Room), ID: store.LastUnder(since)}
		if page.beyond != "" {
			mark.ID = page.beyond // else that entry would end the wait again and again
		}
		if _, err := r.rooms.Wait(ctx, min(store.WaitTimeout, page.Settings.Presence/3), mark); err != nil {
			return fmt.Errorf("room %q: wait for messages: %w", credential.Room, err)
		}
	}
}
