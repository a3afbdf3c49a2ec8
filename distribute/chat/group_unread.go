package chat

import (
	"context"
	"errors"

	"skidway/internal/rdb"
)

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
func (g *Group) Unread(ctx context.Context, member string) ([]Membership, error) {
	if err := checkName("member", member); err != nil {
		return nil, err
	}
	list, err := g.chats.list(ctx, member)
	if err != nil {
		return nil, err
	}
	var chats []Membership
	call := func(id string) rdb.Call { return rdb.Call{Keys: g.keys.group(id), Args: []any{member, 0}} }
	err = g.ask(ctx, list, groupCursorScript, call, func(id string, r reply) error {
		chat := Membership{Chat: id, Err: r.err}
		if r.err == nil {
			chat.Last, chat.Kind = r.number(1), Kind(r.text(3))
			chat.Unread, chat.Missed = behind(r.number(0), chat.Last, r.number(2))
		}
		chats = append(chats, chat)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return chats, nil
}

// behind counts what is unread after a cursor, and what limits have dropped
// there before it was read.
func behind(cursor, last, oldest uint64) (unread, missed uint64) {
	gone := max(oldest, 1) - 1
	return last - min(max(cursor, gone), last), max(gone, cursor) - cursor
}

// ask asks all chats of a list, see index.ask. Where there is more to delete
// than one call may, it asks until that is done. Errors that speak of one chat
// alone are handed to f, others end it.
func (g *Group) ask(ctx context.Context, list listing, s script, call func(id string) rdb.Call, f func(id string, r reply) error) error {
	return g.chats.ask(ctx, list, s, call, func(id string, r reply) error {
		switch {
		case r.err == nil && r.number(0) == 1:
			r.answer, r.err = g.run(ctx, s, id, call(id).Args...)
		case r.err == nil:
			r.answer = r.answer[1:]
		}
		switch {
		case errors.Is(r.err, ErrNoChat), errors.Is(r.err, ErrNotMember):
			return nil // since the first time
		case r.err != nil && !unreadable(r.err):
			return r.err
		}
		return f(id, r)
	})
}
