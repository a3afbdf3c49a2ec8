package chat

import (
	"context"
	"fmt"
	"time"

	"skidway/internal/rdb"
)

// waitTimeout bounds one blocked read. It needs no wake-up to be lost to be
// useful: it frees the connections of waits that were given up.
const waitTimeout = 5 * time.Second

// Wait blocks until something is pending in any of member's chats, or ctx is
// done. It returns at once if something is pending already, and it notices
// chats that member joins or is put into meanwhile. While it blocks it costs
// Redis nothing but a look every few seconds. It holds one connection; on a
// Redis Cluster, one for each chat.
func (g *Group) Wait(ctx context.Context, member string) error {
	return g.WaitAfter(ctx, member, nil)
}

// WaitAfter is [Group.Wait] for a member that has seen messages which stay
// pending: it goes by those after the ids that are given for chats.
func (g *Group) WaitAfter(ctx context.Context, member string, after map[string]uint64) error {
	if err := checkName("member", member); err != nil {
		return err
	}
	return g.wait(ctx, member, func() ([]rdb.Mark, bool, error) { return g.look(ctx, member, after) })
}

// WaitIn is [Group.Wait] for one chat, and for its messages after an id; zero
// means all that are pending. It ends with [ErrNoChat] or [ErrNotMember] when
// the chat or the membership does.
func (g *Group) WaitIn(ctx context.Context, id, member string, after uint64) error {
	if err := checkNames(id, member); err != nil {
		return err
	}
	call := g.pendingCall(member, 1, map[string]uint64{id: after})(id)
	return g.wait(ctx, member, func() ([]rdb.Mark, bool, error) {
		a, err := g.run(ctx, groupPendingScript, id, call.Args...)
		if err != nil {
			return nil, false, err
		}
		found, err := g.anyPending(ctx, id, a)
		return []rdb.Mark{g.mark(id, a)}, found, err
	})
}

// wait looks and blocks in turn until the look finds something.
func (g *Group) wait(ctx context.Context, member string, look func() ([]rdb.Mark, bool, error)) error {
	for {
		marks, found, err := look()
		if err != nil || found {
			return err
		}
		if _, err := g.db.Wait(ctx, waitTimeout, waitable(g.db, marks)...); err != nil {
			return fmt.Errorf("wait for messages for %q: %w", member, err)
		}
	}
}

// look reports whether anything is pending for member. If not, the marks say
// after what to wait: taken before the look, so that nothing that came since
// is missed.
func (g *Group) look(ctx context.Context, member string, after map[string]uint64) (marks []rdb.Mark, found bool, err error) {
	list, err := g.chats.list(ctx, member)
	if err != nil {
		return nil, false, err
	}
	marks = append(marks, g.chats.mark(list))
	err = g.ask(ctx, list, groupPendingScript, g.pendingCall(member, 1, after), func(id string, r reply) error {
		if r.err != nil {
			return nil // nothing to wait for there
		}
		marks = append(marks, g.mark(id, r.answer))
		if found {
			return nil
		}
		found, err = g.anyPending(ctx, id, r.answer)
		return err
	})
	return marks, found, err
}

// anyPending reads an answer of groupPendingScript. A big message, which that has
// not read, is looked for: somebody may have deleted it by hand.
func (g *Group) anyPending(ctx context.Context, id string, a answer) (bool, error) {
	if len(a) > 1 {
		return len(parseEntries(a[1])) > 0, nil
	}
	messages, err := g.read(ctx, id, a.number(0), 1)
	if err != nil {
		return false, fmt.Errorf("chat %q: read messages: %w", id, err)
	}
	return len(messages) > 0, nil
}

// mark is where a wait for more starts than such an answer has.
func (g *Group) mark(id string, a answer) rdb.Mark {
	return rdb.Mark{Key: g.keys.groupLog(id), ID: lastUnder(a.number(0))}
}
