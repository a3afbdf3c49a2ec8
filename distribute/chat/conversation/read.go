package conversation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// A Page has some messages of a conversation, and its counts. The zero value is
// that of two people who never wrote to each other.
type Page struct {
	Messages []chat.Message // oldest first
	Unread   uint64         // messages that were unread before this call
	Total    uint64         // messages ever sent by both
}

// Read returns the messages of peer that are unread for me, oldest first, and
// acknowledges them in the same step: if the reader crashes after that, they count
// as read. To prevent that, use [Client.Peek] and [Client.Ack]. If the reply was
// lost, the repeated call returns the same messages, unless other processes made 32
// reads for me meanwhile.
//
// limit is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. A page of
// large messages is shorter: it ends soon after 64 KiB. Only an empty page means
// that there are no more.
func (c *Client) Read(ctx context.Context, me, peer string, limit int) (Page, error) {
	return c.unread(me, peer, func(uint64) (rdb.Reply, error) {
		return c.run(ctx, readScript, me, peer, me, store.PageLimit(limit), rand.Text())
	})
}

// Peek is [Client.Read] without the acknowledgement. It starts after the id after,
// unless that is read already; for the next page, after is the last id of this
// one. Zero starts with the first unread message; so does an id that no message
// has yet, which is from a conversation that was deleted since.
func (c *Client) Peek(ctx context.Context, me, peer string, after uint64, limit int) (Page, error) {
	return c.unread(me, peer, func(to uint64) (rdb.Reply, error) {
		return c.run(ctx, peekScript, me, peer, me, store.PageLimit(limit), idText(cmp.Or(to, after)))
	})
}

// unread reads a page. If a step finds only messages of me, it continues after the
// last of them.
func (c *Client) unread(me, peer string, step func(to uint64) (rdb.Reply, error)) (Page, error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return Page{}, err
	}
	for to := uint64(0); ; {
		a, err := step(to)
		if err != nil {
			return Page{}, orEmpty(err)
		}
		page := parsePage(me, peer, a, 4)
		if more := a.Uint(2) == 1; len(page.Messages) > 0 || !more {
			return page, nil
		}
		to = a.Uint(3)
	}
}

// parsePage parses a reply with the counts first and the entries at i.
func parsePage(me, peer string, a rdb.Reply, i int) Page {
	page := Page{Total: a.Uint(0), Unread: a.Uint(1)}
	if i < a.Len() {
		page.Messages = store.ParseMessages(store.ParseEntries(a.Values[i]))
	}
	for i := range page.Messages {
		if m := &page.Messages[i]; m.Err == nil && m.Sender != me && m.Sender != peer {
			m.Err = &chat.CorruptError{Where: idText(m.ID) + "-0", Reason: "its sender is neither of the two people"}
		}
	}
	return page
}

// orEmpty returns nil for two people who never wrote to each other.
func orEmpty(err error) error {
	if errors.Is(err, chat.ErrNoChat) {
		return nil
	}
	return err
}

// Ack acknowledges all messages up to the id upTo for me, and returns the cursor,
// which never moves back. An id that no message has yet is an *[chat.InvalidError].
func (c *Client) Ack(ctx context.Context, me, peer string, upTo uint64) (cursor uint64, err error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return 0, err
	}
	cursor, err = store.Ack(upTo, func(number string) (rdb.Reply, error) { return c.run(ctx, ackScript, me, peer, number) })
	if errors.Is(err, chat.ErrNoChat) && upTo > 0 {
		return 0, store.Invalid("upTo", strconv.FormatUint(upTo, 10), "the last message is 0")
	}
	return cursor, orEmpty(err)
}

// HistoryOptions select messages of a history. The zero value selects the newest.
type HistoryOptions struct {
	Before uint64 // only messages before this id; zero: no such bound
	After  uint64 // only messages after this id, beginning with the oldest of them
	Oldest bool   // begin with the oldest message that is kept, if After is zero
	Limit  int    // at most [chat.MaxMessages]; zero means [chat.DefaultMessages]
}

// History returns a page of the messages of both, read or not, oldest first. It
// changes nothing. The first id of a page is Before for the page before it, the
// last one After for the next. A page of large messages is shorter: it ends soon
// after 64 KiB. Only an empty page means that there are no more. Nil options
// select the newest messages.
func (c *Client) History(ctx context.Context, me, peer string, options *HistoryOptions) (Page, error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return Page{}, err
	}
	if options == nil {
		options = &HistoryOptions{}
	}
	end, before := "newest", uint64(store.LastExact)
	if options.Oldest || options.After > 0 {
		end = "oldest"
	}
	if options.Before > 0 {
		before = options.Before
	}
	a, err := c.run(ctx, historyScript, me, peer, end, idText(options.After), idText(before), store.PageLimit(options.Limit))
	if err != nil {
		return Page{}, orEmpty(err)
	}
	page := parsePage(me, peer, a, 2)
	if end == "newest" {
		slices.Reverse(page.Messages)
	}
	return page, nil
}

// Present sets me present in its conversation with peer for the duration d, by the
// clock of Redis; zero or less ends the presence. To stay present, call it again in
// time. Presence affects [Sent].Notify and nothing else. It ends with the
// conversation.
func (c *Client) Present(ctx context.Context, me, peer string, d time.Duration) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	ms := max(d, 0).Milliseconds()
	if d > 0 && d%time.Millisecond > 0 {
		ms++
	}
	_, err := c.run(ctx, presentScript, me, peer, ms)
	return err
}
