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
	if err := checkName("member", member); err != nil {
		return err
	}
	for {
		marks, found, err := g.look(ctx, member)
		if err != nil || found {
			return err
		}
		if _, err := g.db.Wait(ctx, waitTimeout, marks...); err != nil {
			return fmt.Errorf("wait for messages for %q: %w", member, err)
		}
	}
}

// look reports whether anything is pending for member. If not, the marks say
// after what to wait: taken before the look, so that nothing that came since
// is missed.
func (g *Group) look(ctx context.Context, member string) (marks []rdb.Mark, found bool, err error) {
	list, err := g.chats.list(ctx, member)
	if err != nil {
		return nil, false, err
	}
	marks = append(marks, g.chats.mark(list))
	err = g.chats.ask(ctx, list, groupPendingScript, g.pendingCall(member, 1), func(id string, r reply) error {
		if r.err != nil {
			if unreadable(r.err) {
				return nil // nothing to wait for there
			}
			return r.err
		}
		found = found || len(r.answer) < 2 || len(parseEntries(r.answer[1])) > 0
		marks = append(marks, rdb.Mark{Key: g.keys.groupLog(id), ID: lastUnder(r.number(0))})
		return nil
	})
	return marks, found, err
}
