package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// Pending gives the messages that member has not dealt with, oldest first:
// those after its cursor and after the id after, whichever is later. Zero
// starts at the cursor; the last id of one page gives the next. It changes
// nothing: call [Client.Ack] when they are dealt with.
//
// limit is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. A page of big
// messages is shorter (it ends soon after 1 MiB), and only an empty one says
// that there is nothing more.
func (g *Client) Pending(ctx context.Context, id, member string, after uint64, limit int) ([]chat.Message, error) {
	if err := store.CheckNames(id, member); err != nil {
		return nil, err
	}
	var messages []chat.Message
	for from := uint64(0); ; {
		a, err := g.run(ctx, cursorScript, id, member, 1)
		if err != nil {
			return nil, err
		}
		cursor := max(after, a.Uint(0))
		if messages != nil && cursor == from {
			return messages, nil
		}
		from = cursor
		if messages, err = g.read(ctx, id, from, store.PageLimit(limit)); err != nil {
			return nil, fmt.Errorf("chat %q: read messages: %w", id, err)
		}
		// A message that member sent since the look at its cursor may be read by
		// that: then it looks again.
		if !slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Sender == member }) {
			return messages, nil
		}
	}
}

// read reads a page of the log after a message. What happens between the look
// at the cursor and this does no harm: messages can be missing only because this
// very member dealt with them meanwhile, the chat's limits dropped them, or the
// chat ended.
func (g *Client) read(ctx context.Context, id string, after uint64, limit int) ([]chat.Message, error) {
	entries, err := store.ReadLog(ctx, g.db, store.ReadFirst, limit, store.PageBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = store.LastUnder(after)
		}
		return g.db.XRangeN(ctx, g.keys.log(id), "("+last, "+", n)
	})
	return store.ParseMessages(entries), err
}

// Ack says that member has dealt with all messages up to the id upTo, and
// gives the cursor, which never moves back. What every member has dealt with
// is deleted. An id that was not given to a message yet is an
// *[chat.InvalidError], and changes nothing.
func (g *Client) Ack(ctx context.Context, id, member string, upTo uint64) (cursor uint64, err error) {
	if err := store.CheckNames(id, member); err != nil {
		return 0, err
	}
	number := strconv.FormatUint(upTo, 10)
	if upTo > store.LastExact {
		return 0, store.Invalid("upTo", number, "no message has so high an id")
	}
	a, err := g.run(ctx, ackScript, id, member, number)
	var ahead *store.AheadError
	switch {
	case errors.As(err, &ahead):
		return 0, store.Invalid("upTo", number, ahead.Error())
	case err != nil:
		return 0, err
	}
	return a.Uint(0), nil
}

// Fetch is Pending and Ack in one call, for whoever can bear that messages
// are gone when the process dies after Fetch and before they are dealt with.
// When only the acknowledging failed, they come with the error: they may be
// acknowledged or still be pending.
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

// A Batch is what is pending in one of a member's chats.
type Batch struct {
	Chat     string
	Messages []chat.Message

	// Err says why this chat can't be read, while the others can: a
	// *[chat.FormatError] or a *[chat.CorruptError], or that the key holds something
	// else.
	Err error
}

// PendingAll gives what member has not dealt with in all of its chats, at most
// limit messages of each (as in [Client.Pending]), ordered by the chats' ids.
// Chats with nothing pending are left out.
func (g *Client) PendingAll(ctx context.Context, member string, limit int) ([]Batch, error) {
	if err := store.CheckName("member", member); err != nil {
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
		case r.Len() < 2: // big ones are read by themselves
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

// pendingCall asks a chat what is pending for a member, after the message that
// is given for that chat.
func (g *Client) pendingCall(member string, limit int, after map[string]uint64) func(id string) rdb.Call {
	return func(id string) rdb.Call {
		return rdb.Call{Keys: g.keys.all(id), Args: []any{member, limit, min(after[id], store.LastExact)}}
	}
}

// A Membership is how one of a member's chats stands.
type Membership struct {
	Chat   string
	Kind   Kind
	Last   uint64 // id of the newest message ever sent; 0: none was
	Unread uint64 // messages that the member has not dealt with
	Missed uint64 // see [Member]

	// Err says why this chat can't be read, as in [Batch].
	Err error
}

// Unread counts what member has not dealt with in each of its chats, those
// without anything unread too, ordered by the chats' ids. It takes one round
// trip for each hundred chats, and does not count as being here.
func (g *Client) Unread(ctx context.Context, member string) ([]Membership, error) {
	if err := store.CheckName("member", member); err != nil {
		return nil, err
	}
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return nil, err
	}
	var memberships []Membership
	call := func(id string) rdb.Call { return rdb.Call{Keys: g.keys.all(id), Args: []any{member, 0}} }
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

// behind counts what is unread after a cursor, and what limits have dropped
// there before it was read.
func behind(cursor, last, oldest uint64) (unread, missed uint64) {
	gone := max(oldest, 1) - 1
	return last - min(max(cursor, gone), last), max(gone, cursor) - cursor
}

// ask asks all chats of a list, see store.List.Ask. Where there is more to delete
// than one call may, it asks until that is done. Errors that speak of one chat
// alone are handed to f, others end it.
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
			return nil // since the first time
		case r.Err != nil && !store.Unreadable(r.Err):
			return r.Err
		}
		return f(id, r)
	})
}
