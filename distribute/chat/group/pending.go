package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// Pending returns the messages that member has not acknowledged, oldest first:
// those after its cursor and after the id after. Zero starts at the cursor; for
// the next page, after is the last id of this one. An id that the chat has never had,
// because it is of an earlier chat of this name, starts at the cursor, too. The
// messages stay pending until [Client.Ack].
//
// limit is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. A page of
// large messages is shorter: it ends soon after 1 MiB. Only an empty page means
// that there are no more.
func (g *Client) Pending(ctx context.Context, id, member string, after uint64, limit int) ([]chat.Message, error) {
	if err := g.checkNames(id, member); err != nil {
		return nil, err
	}
	var messages []chat.Message
	for from := uint64(0); ; {
		a, err := g.run(ctx, cursorScript, id, member, 1, min(after, store.LastExact))
		if err != nil {
			return nil, err
		}
		cursor := a.Uint(0)
		if messages != nil && cursor == from {
			return messages, nil
		}
		from = cursor
		if messages, err = g.read(ctx, id, from, store.PageLimit(limit)); err != nil {
			return nil, fmt.Errorf("chat %q: read messages: %w", id, err)
		}
		// A message that member sent after its cursor was read may have moved
		// the cursor: then the cursor is read again.
		if !slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Sender == member }) {
			return messages, nil
		}
	}
}

// read reads a page of the log after a message. Changes since the cursor was read
// do no harm: messages can be missing only because this member acknowledged them,
// the chat's limits dropped them, or the chat ended.
func (g *Client) read(ctx context.Context, id string, after uint64, limit int) ([]chat.Message, error) {
	entries, err := store.ReadLog(ctx, g.groups.DB, store.FirstRead, limit, store.PageBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = store.LastUnder(after)
		}
		return g.groups.XRangeN(ctx, g.groups.Log(id), "("+last, "+", n)
	})
	return store.ParseMessages(entries), err
}

// Ack acknowledges all messages up to the id upTo for a member, and returns its
// cursor, which never moves back. Messages that every member has acknowledged are
// deleted. An id that no message has yet is an *[chat.InvalidError].
func (g *Client) Ack(ctx context.Context, id, member string, upTo uint64) (cursor uint64, err error) {
	if err := g.checkNames(id, member); err != nil {
		return 0, err
	}
	return store.Ack(upTo, func(number string) (rdb.Reply, error) { return g.run(ctx, ackScript, id, member, number) })
}

// Fetch is Pending and Ack in one call: messages are lost if the process dies
// before it has handled them. If only Ack failed, the messages are returned with
// the error: they may be acknowledged or still be pending.
func (g *Client) Fetch(ctx context.Context, id, member string, limit int) ([]chat.Message, error) {
	messages, err := g.Pending(ctx, id, member, 0, limit)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	if _, err := g.Ack(ctx, id, member, messages[len(messages)-1].ID); err != nil {
		return messages, err
	}
	return messages, nil
}

// A Batch has the pending messages of one chat.
type Batch struct {
	Chat     string
	Messages []chat.Message

	// Err is why this chat, unlike the others, can't be read: a
	// *[chat.FormatError], a *[chat.CorruptError], or a key of another type.
	Err error
}

// PendingAll returns the pending messages of all chats of a member, at most limit
// of each as in [Client.Pending], ordered by the chats' ids. Chats without pending
// messages are left out.
func (g *Client) PendingAll(ctx context.Context, member string, limit int) ([]Batch, error) {
	if err := g.check("member", member); err != nil {
		return nil, err
	}
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return nil, err
	}
	var batches []Batch
	err = g.ask(ctx, list, pendingScript, g.pendingCall(member, store.PageLimit(limit), nil), func(id string, r rdb.Result) error {
		batch := Batch{Chat: id, Err: r.Err}
		switch {
		case r.Err != nil:
		case r.Len() < 2: // there are large ones
			messages, err := g.read(ctx, id, r.Uint(0), store.PageLimit(limit))
			if err != nil {
				return fmt.Errorf("chat %q: read messages: %w", id, err)
			}
			batch.Messages = messages
		default:
			batch.Messages = store.ParseMessages(store.ParseEntries(r.Values[1]))
		}
		if batch.Err != nil || len(batch.Messages) > 0 {
			batches = append(batches, batch)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return batches, nil
}

// pendingCall returns the call for the pending messages of a member, in each chat
// after the message that after has for it.
func (g *Client) pendingCall(member string, limit int, after map[string]uint64) func(id string) rdb.Call {
	return func(id string) rdb.Call {
		return rdb.Call{Keys: g.groups.All(id), Args: []any{member, limit, min(after[id], store.LastExact)}}
	}
}

// A Membership is the state of one of a member's chats.
type Membership struct {
	Chat   string
	Kind   Kind
	Last   uint64 // id of the newest message ever sent; 0: none was
	Unread uint64 // messages that the member has not acknowledged
	Missed uint64 // see [Member]

	// Err is why this chat can't be read, as in [Batch].
	Err error
}

// Unread returns the number of unread messages in each chat of a member, also if
// it is zero, ordered by the chats' ids. It takes one round trip for each hundred
// chats, and does not count as a visit of the member.
func (g *Client) Unread(ctx context.Context, member string) ([]Membership, error) {
	if err := g.check("member", member); err != nil {
		return nil, err
	}
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return nil, err
	}
	var memberships []Membership
	call := func(id string) rdb.Call { return rdb.Call{Keys: g.groups.All(id), Args: []any{member, 0}} }
	err = g.ask(ctx, list, cursorScript, call, func(id string, r rdb.Result) error {
		m := Membership{Chat: id, Err: r.Err}
		if r.Err == nil {
			m.Last, m.Kind = r.Uint(1), Kind(r.Text(3))
			m.Unread, m.Missed = behind(r.Uint(0), m.Last, r.Uint(2))
		}
		memberships = append(memberships, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return memberships, nil
}

// behind returns how many messages after a cursor are unread, and how many were
// dropped unread.
func behind(cursor, last, oldest uint64) (unread, missed uint64) {
	gone := max(oldest, 1) - 1
	return last - min(max(cursor, gone), last), max(gone, cursor) - cursor
}

// ask runs a script for all chats of a list, see store.List.Ask, and again for a
// chat with more to delete than one call may. Errors that concern one chat are
// passed to f, others end it.
func (g *Client) ask(ctx context.Context, list store.Listing, s *rdb.Script, call func(id string) rdb.Call, f func(id string, r rdb.Result) error) error {
	return g.chats.Ask(ctx, list, s, call, func(id string, r rdb.Result) error {
		switch {
		case r.Err == nil && r.Uint(0) == 1:
			r.Reply, r.Err = g.run(ctx, s, id, call(id).Args...)
		case r.Err == nil:
			r.Reply = r.From(1)
		}
		switch {
		case errors.Is(r.Err, chat.ErrNoChat), errors.Is(r.Err, chat.ErrNotMember):
			return nil // the chat or the membership ended meanwhile
		case r.Err != nil && !store.Unreadable(r.Err):
			return r.Err
		}
		return f(id, r)
	})
}
