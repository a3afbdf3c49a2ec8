package group

import (
	"context"
	"fmt"

	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// Wait blocks until any of member's chats has pending messages, or ctx is done. It
// includes chats that member joins or is added to meanwhile. While it blocks it
// costs Redis one read every few seconds. It uses one connection; on a Redis
// Cluster, one for each chat.
func (g *Client) Wait(ctx context.Context, member string) error {
	return g.WaitAfter(ctx, member, nil)
}

// WaitAfter is [Client.Wait] for messages after the ids that after has for chats:
// earlier pending messages do not end it.
func (g *Client) WaitAfter(ctx context.Context, member string, after map[string]uint64) error {
	if err := g.check("member", member); err != nil {
		return err
	}
	return store.Wait(ctx, g.groups.DB, member, func() ([]rdb.Mark, bool, error) { return g.look(ctx, member, after) })
}

// WaitIn is [Client.Wait] for one chat, and for its messages after an id; zero
// means any pending one. When the chat or the membership ends it returns
// [chat.ErrNoChat] or [chat.ErrNotMember].
func (g *Client) WaitIn(ctx context.Context, id, member string, after uint64) error {
	if err := g.checkNames(id, member); err != nil {
		return err
	}
	call := g.pendingCall(member, 1, map[string]uint64{id: after})(id)
	return store.Wait(ctx, g.groups.DB, member, func() ([]rdb.Mark, bool, error) {
		a, err := g.run(ctx, pendingScript, id, call.Args...)
		if err != nil {
			return nil, false, err
		}
		found, err := g.anyPending(ctx, id, a)
		return []rdb.Mark{markAfter(g.groups.Log(id), a)}, found, err
	})
}

// look reports whether any chat of member has pending messages. If not, the marks
// are where to wait: they are taken before the chats are read, so that no later
// message is missed.
func (g *Client) look(ctx context.Context, member string, after map[string]uint64) (marks []rdb.Mark, found bool, err error) {
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return nil, false, err
	}
	marks = append(marks, g.chats.Mark(list))
	err = g.ask(ctx, list, pendingScript, g.pendingCall(member, 1, after), func(id string, r rdb.Result) error {
		if r.Err != nil {
			return nil // it can't be waited for
		}
		marks = append(marks, markAfter(g.groups.Log(id), r.Reply))
		if found {
			return nil
		}
		found, err = g.anyPending(ctx, id, r.Reply)
		return err
	})
	return marks, found, err
}

// anyPending reports whether a reply of pendingScript means that there are pending
// messages. Large messages, which the script does not read, are read here: they
// may have been deleted by hand.
func (g *Client) anyPending(ctx context.Context, id string, a rdb.Reply) (bool, error) {
	if a.Len() > 1 {
		return len(store.ParseEntries(a.Values[1])) > 0, nil
	}
	messages, err := g.read(ctx, id, a.Uint(0), 1)
	if err != nil {
		return false, fmt.Errorf("chat %q: read messages: %w", id, err)
	}
	return len(messages) > 0, nil
}

// markAfter returns where to wait for messages after such a reply for a chat with a log.
func markAfter(log string, a rdb.Reply) rdb.Mark {
	return rdb.Mark{Key: log, ID: store.LastUnder(a.Uint(0))}
}
